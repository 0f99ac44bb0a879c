//! Kling: a path for each mode, which the query repeats, and an envelope with a code. Plain keys and tokens (HS256).
//!
//! The secret key of the access key `ak` is `ak-secret`. Not confirmed: the results' lifetime, and the HTTP status beside
//! each code.

use super::body_rules::{BodyField, ValueRule, optional, required};
use super::callback_keys::hmac_sha256;
use super::descriptor::{
    BodyConflict, StatusWords, TaskView, VendorAnswer, VendorApi, VendorCallback, VendorCreate,
    VendorCredential, VendorOperation, VendorTaskId, account_by_key, no_fault_code, no_result,
};
use super::minimax::{callback_url, number};
use crate::api_error::ApiError;
use crate::clock;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// The modes, which are the last segments of their paths.
const MODES: [&str; 5] = [
    "text2video",
    "image2video",
    "multi-image2video",
    "omni-video",
    "motion-control",
];

const SECONDS: ValueRule = ValueRule::Words(&[
    "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
]);
const ON_OFF: ValueRule = ValueRule::Words(&["on", "off"]);
const YES_NO: ValueRule = ValueRule::Words(&["yes", "no"]);
const MODE: ValueRule = ValueRule::Words(&["std", "pro", "4k"]);
const RATIO: ValueRule = ValueRule::Words(&["16:9", "9:16", "1:1"]);
const WATERMARK: ValueRule = ValueRule::Object(&[required("enabled", ValueRule::Flag)]);
const VOICE: ValueRule = ValueRule::Object(&[required("voice_id", ValueRule::Text)]);
const ELEMENT: ValueRule = ValueRule::Object(&[required("element_id", ValueRule::Any)]);
const SHOT: ValueRule = ValueRule::Object(&[
    required("index", ValueRule::Integer(1, 6)),
    required("prompt", ValueRule::TextMax(512)),
    required("duration", ValueRule::Text),
]);
const CAMERA: ValueRule = ValueRule::Object(&[
    required("type", ValueRule::Text),
    optional("config", CAMERA_CONFIG),
]);
const CAMERA_CONFIG: ValueRule = ValueRule::Object(&[
    optional("horizontal", ValueRule::Number(-10.0, 10.0)),
    optional("vertical", ValueRule::Number(-10.0, 10.0)),
    optional("pan", ValueRule::Number(-10.0, 10.0)),
    optional("tilt", ValueRule::Number(-10.0, 10.0)),
    optional("roll", ValueRule::Number(-10.0, 10.0)),
    optional("zoom", ValueRule::Number(-10.0, 10.0)),
]);
const MASK: ValueRule = ValueRule::Object(&[
    required("mask", ValueRule::UrlOrBase64),
    required("trajectories", ValueRule::List(2, 77, &ValueRule::Any)),
]);
const LISTED_IMAGE: ValueRule = ValueRule::Object(&[required("image", ValueRule::UrlOrBase64)]);
const OMNI_IMAGE: ValueRule = ValueRule::Object(&[
    required("image_url", ValueRule::UrlOrBase64),
    optional("type", ValueRule::Words(&["first_frame", "end_frame"])),
]);
const OMNI_VIDEO: ValueRule = ValueRule::Object(&[
    required("video_url", ValueRule::Url),
    optional("refer_type", ValueRule::Words(&["feature", "base"])),
    optional("keep_original_sound", YES_NO),
]);

/// The members of each mode, in the order of [`MODES`]: those of `$own`, and those that all have.
macro_rules! with_shared {
    ($($own:expr),* $(,)?) => {
        &[
            optional("model_name", ValueRule::Text),
            optional("mode", MODE),
            optional("duration", SECONDS),
            optional("negative_prompt", ValueRule::TextMax(2500)),
            optional("watermark_info", WATERMARK),
            optional("callback_url", ValueRule::Url),
            optional("external_task_id", ValueRule::Text),
            $($own),*
        ]
    };
}

const TEXT2VIDEO: &[BodyField] = with_shared![
    required("prompt", ValueRule::TextMax(2500)),
    optional("sound", ON_OFF),
    optional("cfg_scale", ValueRule::Number(0.0, 1.0)),
    optional("camera_control", CAMERA),
    optional("aspect_ratio", RATIO),
    optional("multi_shot", ValueRule::Flag),
    optional(
        "shot_type",
        ValueRule::Words(&["customize", "intelligence"])
    ),
    optional("multi_prompt", ValueRule::List(1, 6, &SHOT)),
    optional("voice_list", ValueRule::List(1, 2, &VOICE)),
];
const IMAGE2VIDEO: &[BodyField] = with_shared![
    required("image", ValueRule::UrlOrBase64),
    optional("image_tail", ValueRule::UrlOrBase64),
    optional("prompt", ValueRule::TextMax(2500)),
    optional("sound", ON_OFF),
    optional("cfg_scale", ValueRule::Number(0.0, 1.0)),
    optional("static_mask", ValueRule::UrlOrBase64),
    optional("dynamic_masks", ValueRule::List(1, 6, &MASK)),
    optional("camera_control", CAMERA),
    optional("element_list", ValueRule::List(1, 7, &ELEMENT)),
    optional("multi_shot", ValueRule::Flag),
    optional(
        "shot_type",
        ValueRule::Words(&["customize", "intelligence"])
    ),
    optional("multi_prompt", ValueRule::List(1, 6, &SHOT)),
    optional("voice_list", ValueRule::List(1, 2, &VOICE)),
];
const MULTI_IMAGE: &[BodyField] = with_shared![
    required("image_list", ValueRule::List(1, 4, &LISTED_IMAGE)),
    required("prompt", ValueRule::TextMax(2500)),
    optional("aspect_ratio", RATIO),
];
const OMNI: &[BodyField] = with_shared![
    optional("prompt", ValueRule::TextMax(2500)),
    optional("sound", ON_OFF),
    optional("aspect_ratio", RATIO),
    optional("image_list", ValueRule::List(1, 7, &OMNI_IMAGE)),
    optional("video_list", ValueRule::List(1, 1, &OMNI_VIDEO)),
    optional("element_list", ValueRule::List(1, 7, &ELEMENT)),
    optional("multi_shot", ValueRule::Flag),
    optional(
        "shot_type",
        ValueRule::Words(&["customize", "intelligence"])
    ),
    optional("multi_prompt", ValueRule::List(1, 6, &SHOT)),
];
const MOTION: &[BodyField] = with_shared![
    required("video_url", ValueRule::Url),
    optional("image_url", ValueRule::UrlOrBase64),
    optional("prompt", ValueRule::TextMax(2500)),
    required(
        "character_orientation",
        ValueRule::Words(&["image", "video"])
    ),
    optional("keep_original_sound", YES_NO),
];

pub static API: VendorApi = VendorApi {
    name: "kling",
    credential: VendorCredential {
        header: "authorization",
        scheme: Some("Bearer"),
        parameter: None,
        account,
    },
    required_header: None,
    route,
    model: |_, body| body["model_name"].as_str().unwrap_or_default().to_owned(),
    fields: |create| match create.path.rsplit('/').next() {
        Some("text2video") => TEXT2VIDEO,
        Some("image2video") => IMAGE2VIDEO,
        Some("multi-image2video") => MULTI_IMAGE,
        Some("omni-video") => OMNI,
        _ => MOTION,
    },
    fault_code: no_fault_code,
    check,
    upload: None,
    task_id: |ids, _| format!("{}0003", ids.number()),
    words: StatusWords {
        queued: "submitted",
        running: "processing",
        succeeded: "succeed",
        failed: "failed",
        filtered: "failed",
        cancelled: "failed",
        expired: "failed",
    },
    failed: ("", "Internal server error, please try again."),
    filtered: ("", "Failure to pass the risk control system"),
    created: |view| {
        let task = json!({
            "task_id": view.id(), "task_status": "submitted", "task_info": task_info(view),
            "created_at": view.task.made_ms(), "updated_at": view.task.made_ms(),
        });
        (200, envelope(task))
    },
    id_members: &["/data/task_id"],
    status: |view| {
        let mut data = task(view);
        data["task_info"] = task_info(view);
        (200, envelope(data))
    },
    result: no_result,
    cancel: None,
    refusal,
    callback: Some(VendorCallback {
        url: callback_url,
        is_sent_in: |_, _| true,
        body: task,
        has_challenge: false,
        headers: |_, _, _| Vec::new(),
        keys: || Value::Null,
    }),
};

fn route<'p>(method: &str, path: &[&'p str], own: &'p str) -> Option<VendorOperation<'p>> {
    match (method, path) {
        ("POST", ["v1", "videos", mode]) if MODES.contains(mode) => Some(VendorOperation::Create),
        ("GET", ["v1", "videos", mode, id]) if MODES.contains(mode) => {
            let create = own.strip_suffix(id)?.trim_end_matches('/');
            Some(VendorOperation::Query(VendorTaskId::Below { create, id }))
        }
        _ => None,
    }
}

fn check(create: &VendorCreate) -> Result<(), BodyConflict> {
    let model = create.model;
    let is_new = model.starts_with("kling-v3") || model.contains("omni");
    let has_sound = is_new || model.starts_with("kling-v2-6");
    let scale = !model.starts_with("kling-v2") || !create.has("/cfg_scale");
    create.require(scale, "cfg_scale", "is not supported by the model")?;
    create.require(
        has_sound || !create.has("/sound"),
        "sound",
        "is not supported by the model",
    )?;
    let has_size = is_new || create.text("/mode") != "4k";
    create.require(has_size, "mode", "is not supported by the model")?;
    let duration = create.text("/duration");
    let has_length = is_new || matches!(duration, "" | "5" | "10");
    create.require(has_length, "duration", "is not supported by the model")
}

/// The account of a plain key, or the access key of a token that its secret key signed and that is valid now.
fn account(key: &str) -> Option<String> {
    let [header, claims, signature] = key.split('.').collect::<Vec<_>>()[..] else {
        return account_by_key(key);
    };
    let json = |part: &str| -> Option<Value> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
    };
    let (kind, claims_json) = (json(header)?, json(claims)?);
    let access_key = claims_json["iss"].as_str()?;
    let secret = format!("{access_key}-secret");
    let signed = hmac_sha256(secret.as_bytes(), format!("{header}.{claims}").as_bytes());
    let now = clock::unix_seconds();
    let is_valid = kind["alg"] == "HS256"
        && URL_SAFE_NO_PAD.decode(signature).ok()? == signed
        && claims_json["exp"].as_u64()? > now
        && claims_json["nbf"].as_u64()? <= now;
    is_valid.then(|| access_key.to_owned())
}

fn envelope(data: Value) -> Value {
    json!({"code": 0, "message": "SUCCEED", "request_id": "simulated", "data": data})
}

fn task_info(view: &TaskView) -> Value {
    match view.body().get("external_task_id") {
        Some(id) => json!({"external_task_id": id}),
        None => json!({}),
    }
}

fn task(view: &TaskView) -> Value {
    let mut task = json!({
        "task_id": view.id(), "task_status": view.word(), "task_status_msg": "",
        "created_at": view.task.made_ms(), "updated_at": view.task.changed_ms(),
    });
    if let Some((_, message)) = view.failure() {
        task["task_status_msg"] = message.into();
    }
    if view.has_succeeded() {
        let duration = view.body().get("duration").cloned();
        let video = |url: String| json!({"id": format!("v{}", view.id()), "url": url, "duration": duration.clone().unwrap_or("5".into())});
        let videos: Vec<_> = view.video_url().into_iter().map(video).collect();
        task["task_result"] = json!({"videos": videos});
        if view.task.plan.has_usage {
            task["final_unit_deduction"] = "2.5".into();
        }
    }
    task
}

fn refusal(error: &ApiError) -> VendorAnswer {
    let status = error.status.as_u16();
    let code = match status {
        401 => "1000",
        402 => "1102",
        403 => "1103",
        404 => "1203",
        429 => "1302",
        503 => "5001",
        500.. => "5000",
        _ => "1201",
    };
    let code = number(error.code.as_deref().unwrap_or(code));
    (
        status,
        json!({"code": code, "message": error.message, "request_id": "simulated"}),
    )
}
