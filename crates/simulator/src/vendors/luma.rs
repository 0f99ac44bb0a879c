//! Luma Dream Machine: every answer is the generation object.
//!
//! Not confirmed: whether a delete stops a running generation (here it does), and signatures of callbacks (here none).

use super::body_rules::{BodyField, ValueRule, optional, required};
use super::descriptor::{
    StatusWords, TaskView, VendorAnswer, VendorApi, VendorCallback, VendorOperation, VendorTaskId,
    no_fault_code, no_result,
};
use super::minimax::{BEARER, callback_url};
use crate::api_error::ApiError;
use crate::clock;
use crate::video_task::VideoTaskState;
use serde_json::{Value, json};

const IMAGE: ValueRule = ValueRule::Object(&[
    required("type", ValueRule::Words(&["image"])),
    required("url", ValueRule::Url),
]);
const GENERATION: ValueRule = ValueRule::Object(&[
    required("type", ValueRule::Words(&["generation"])),
    required("id", ValueRule::Text),
]);
const KEYFRAME: ValueRule = ValueRule::Either(&[IMAGE, GENERATION]);
const CONCEPT: ValueRule = ValueRule::Object(&[required("key", ValueRule::Text)]);

const FIELDS: &[BodyField] = &[
    required("model", ValueRule::Text),
    optional("prompt", ValueRule::TextMax(5000)),
    optional(
        "aspect_ratio",
        ValueRule::Words(&["1:1", "16:9", "9:16", "4:3", "3:4", "21:9", "9:21"]),
    ),
    optional("duration", ValueRule::Words(&["5s", "9s"])),
    optional(
        "resolution",
        ValueRule::Words(&["540p", "720p", "1080p", "4k"]),
    ),
    optional("loop", ValueRule::Flag),
    optional(
        "keyframes",
        ValueRule::Object(&[optional("frame0", KEYFRAME), optional("frame1", KEYFRAME)]),
    ),
    optional("concepts", ValueRule::List(1, 8, &CONCEPT)),
    optional("generation_type", ValueRule::Words(&["video"])),
    optional("callback_url", ValueRule::Url),
];

pub static API: VendorApi = VendorApi {
    name: "luma",
    credential: BEARER,
    required_header: None,
    route,
    model: |_, body| body["model"].as_str().unwrap_or_default().to_owned(),
    fields: |_| FIELDS,
    fault_code: no_fault_code,
    check: |_| Ok(()),
    upload: None,
    task_id: |ids, _| ids.uuid(),
    words: StatusWords {
        queued: "queued",
        running: "dreaming",
        succeeded: "completed",
        failed: "failed",
        filtered: "failed",
        cancelled: "failed",
        expired: "failed",
    },
    failed: ("", "The generation failed."),
    filtered: ("", "Input failed moderation."),
    created: |view| (201, generation(view)),
    id_members: &["/id"],
    status: |view| (200, generation(view)),
    result: no_result,
    cancel: None,
    refusal,
    callback: Some(VendorCallback {
        url: callback_url,
        is_sent_in: |state, _| state != VideoTaskState::Queued,
        body: generation,
        has_challenge: false,
        headers: |_, _, _| Vec::new(),
        keys: || Value::Null,
    }),
};

fn route<'p>(method: &str, path: &[&'p str], _: &'p str) -> Option<VendorOperation<'p>> {
    let ["dream-machine", "v1", "generations", rest @ ..] = path else {
        return None;
    };
    match (method, rest) {
        ("POST", [] | ["video"]) => Some(VendorOperation::Create),
        ("GET", [id]) => Some(VendorOperation::Query(VendorTaskId::Path(id))),
        ("DELETE", [id]) => Some(VendorOperation::Delete(VendorTaskId::Path(id))),
        _ => None,
    }
}

fn generation(view: &TaskView) -> Value {
    let video = view.video_url();
    let failure = view.failure().map(|(_, message)| message);
    json!({
        "id": view.id(), "generation_type": "video", "state": view.word(), "failure_reason": failure,
        "created_at": clock::utc_time(view.task.made_ms()), "model": view.model(),
        "assets": video.map(|url| json!({"video": url, "image": null, "progress_video": null})),
        "request": view.body(),
    })
}

fn refusal(error: &ApiError) -> VendorAnswer {
    let detail = match &error.code {
        Some(code) => format!("{code}: {}", error.message),
        None => error.message.clone(),
    };
    (error.status.as_u16(), json!({"detail": detail}))
}
