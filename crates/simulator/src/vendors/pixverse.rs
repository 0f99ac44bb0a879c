//! PixVerse: ids and statuses are numbers, errors come inside a `200`, each request needs a fresh id.
//!
//! Not confirmed: the codes of errors (here the HTTP status that the error stands for), and where a failed task has a
//! reason (here nowhere). Images are uploaded before the create; that a URL is taken in place of a file, and the path of
//! uploads, are not confirmed either. Fusion, extensions and effects are not simulated.

use super::body_rules::{BodyField, ValueRule, optional, required};
use super::descriptor::{
    BodyConflict, StatusWords, TaskView, UploadRule, VendorAnswer, VendorApi, VendorCreate,
    VendorCredential, VendorOperation, VendorTaskId, account_by_key, no_fault_code, no_result,
};
use super::minimax::number;
use crate::api_error::ApiError;
use crate::clock;
use serde_json::{Value, json};

const RATIO: ValueRule = ValueRule::Words(&["16:9", "4:3", "1:1", "3:4", "9:16"]);
const QUALITY: ValueRule = ValueRule::Words(&["360p", "540p", "720p", "1080p"]);
const FILE_ID: ValueRule = ValueRule::Integer(1, i64::MAX);

macro_rules! fields {
    ($($own:expr),+) => {
        &[
            $($own,)+
            required("prompt", ValueRule::TextMax(2048)),
            required("duration", ValueRule::Integer(1, 15)),
            required("model", ValueRule::Text),
            required("quality", QUALITY),
            optional("motion_mode", ValueRule::Words(&["normal", "fast"])),
            optional("negative_prompt", ValueRule::TextMax(2048)),
            optional("seed", ValueRule::Integer(0, i32::MAX as i64)),
            optional("style", ValueRule::Text),
            optional("template_id", ValueRule::Integer(0, i64::MAX)),
            optional("camera_movement", ValueRule::Text),
            optional("water_mark", ValueRule::Flag),
            // V6; seen at a reseller only.
            optional("generate_audio_switch", ValueRule::Flag),
        ]
    };
}

const TEXT_FIELDS: &[BodyField] = fields!(required("aspect_ratio", RATIO));
const IMAGE_FIELDS: &[BodyField] = fields!(required("img_id", FILE_ID));
const TRANSITION_FIELDS: &[BodyField] = fields!(
    required("first_frame_img", FILE_ID),
    required("last_frame_img", FILE_ID)
);

static IMAGE_UPLOAD: UploadRule = UploadRule {
    kind: "pixverse.image",
    file: "image",
    url: "image_url",
    places: &["img_id", "first_frame_img", "last_frame_img"],
    answer: |id| {
        let url = format!("https://media.pixverse.example/{id}.png");
        (200, envelope(json!({"img_id": id, "img_url": url})))
    },
};

pub static API: VendorApi = VendorApi {
    name: "pixverse",
    credential: VendorCredential {
        header: "api-key",
        scheme: None,
        parameter: None,
        account: account_by_key,
    },
    required_header: Some(("ai-trace-id", is_uuid)),
    route,
    model: |_, body| body["model"].as_str().unwrap_or_default().to_owned(),
    fields: |create| match create.path {
        "openapi/v2/video/img/generate" => IMAGE_FIELDS,
        "openapi/v2/video/transition/generate" => TRANSITION_FIELDS,
        _ => TEXT_FIELDS,
    },
    fault_code: no_fault_code,
    check,
    upload: Some(&IMAGE_UPLOAD),
    task_id: |ids, _| ids.number().to_string(),
    words: StatusWords {
        queued: "5",
        running: "5",
        succeeded: "1",
        failed: "8",
        filtered: "7",
        cancelled: "6",
        expired: "6",
    },
    failed: ("", ""),
    filtered: ("", ""),
    created: |view| (200, envelope(json!({"video_id": number(view.id())}))),
    id_members: &["/Resp/video_id"],
    status: |view| (200, envelope(video(view))),
    result: no_result,
    cancel: None,
    refusal,
    callback: None,
};

fn route<'p>(method: &str, path: &[&'p str], _: &'p str) -> Option<VendorOperation<'p>> {
    let ["openapi", "v2", rest @ ..] = path else {
        return None;
    };
    match (method, rest) {
        ("POST", ["image", "upload"]) => Some(VendorOperation::Upload),
        ("POST", ["video", "text" | "img" | "transition", "generate"]) => {
            Some(VendorOperation::Create)
        }
        ("GET", ["video", "result", id]) => Some(VendorOperation::Query(VendorTaskId::Path(id))),
        _ => None,
    }
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let is_hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(is_hex)
}

/// Models before V6 have two lengths; which V6 has is not known.
fn check(create: &VendorCreate) -> Result<(), BodyConflict> {
    let is_old = create.model.starts_with("v3")
        || create.model.starts_with("v4")
        || create.model.starts_with("v5");
    let is_one_of_two = matches!(create.number("/duration"), Some(5.0 | 8.0));
    create.require(!is_old || is_one_of_two, "duration", "must be 5 or 8")
}

fn envelope(resp: Value) -> Value {
    json!({"ErrCode": 0, "ErrMsg": "success", "Resp": resp})
}

fn video(view: &TaskView) -> Value {
    let mut json = json!({
        "id": number(view.id()), "status": number(view.word()), "prompt": view.member("/prompt"),
        "create_time": clock::utc_time(view.task.made_ms()),
        "modify_time": clock::utc_time(view.task.changed_ms()),
    });
    if view.has_succeeded() {
        for (name, value) in [
            ("outputWidth", 1280),
            ("outputHeight", 720),
            ("size", 16_384),
            ("seed", 7),
        ] {
            json[name] = value.into();
        }
    }
    if let Some(url) = view.video_url() {
        json["url"] = url.into();
    }
    json
}

fn refusal(error: &ApiError) -> VendorAnswer {
    let status = error.status.as_u16();
    let code = number(error.code.as_deref().unwrap_or(error.status.as_str()));
    let body = json!({"ErrCode": code, "ErrMsg": error.message, "Resp": null});
    (if status < 500 { 200 } else { status }, body)
}
