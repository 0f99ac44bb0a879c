//! MiniMax v1: Hailuo and the models before it. Errors come inside a `200`; the result is a second request.
//!
//! Not confirmed: the codes besides 1026 and 1027, and that a receiver which returns no challenge gets no callbacks.

use super::body_rules::{BodyField, ValueRule, is_url, optional, required};
use super::descriptor::{
    BodyConflict, StatusWords, TaskView, VendorAnswer, VendorApi, VendorCallback, VendorCreate,
    VendorCredential, VendorOperation, VendorTaskId, account_by_key, no_fault_code,
};
use crate::api_error::ApiError;
use crate::task_directives::TaskEnd;
use crate::video_task::VideoTaskState;
use serde_json::{Value, json};

/// The id of a task's file is that of the task after these digits.
const FILE_PREFIX: &str = "90";

const SUBJECT: ValueRule = ValueRule::Object(&[
    required("type", ValueRule::Words(&["character"])),
    required("image", ValueRule::List(1, 1, &ValueRule::UrlOrData)),
]);

const FIELDS: &[BodyField] = &[
    required("model", ValueRule::Text),
    optional("prompt", ValueRule::TextMax(2000)),
    optional("prompt_optimizer", ValueRule::Flag),
    optional("fast_pretreatment", ValueRule::Flag),
    optional("duration", ValueRule::Integers(&[6, 10])),
    optional(
        "resolution",
        ValueRule::Words(&["512P", "720P", "768P", "1080P"]),
    ),
    optional("first_frame_image", ValueRule::UrlOrData),
    optional("last_frame_image", ValueRule::UrlOrData),
    optional("subject_reference", ValueRule::List(1, 1, &SUBJECT)),
    optional("callback_url", ValueRule::Url),
    optional("aigc_watermark", ValueRule::Flag),
];

pub static API: VendorApi = VendorApi {
    name: "minimax",
    credential: BEARER,
    required_header: None,
    route,
    model: |_, body| body["model"].as_str().unwrap_or_default().to_owned(),
    fields: |_| FIELDS,
    fault_code: no_fault_code,
    check,
    upload: None,
    task_id: |ids, _| format!("{}0001", ids.number()),
    words: StatusWords {
        queued: "Queueing",
        running: "Processing",
        succeeded: "Success",
        failed: "Fail",
        filtered: "Fail",
        cancelled: "Fail",
        expired: "Fail",
    },
    failed: ("1000", "unknown error"),
    filtered: ("1027", "output new_sensitive"),
    created: |view| (200, json!({"task_id": view.id(), "base_resp": success()})),
    id_members: &["/task_id"],
    status: |view| (200, status(view, view.word())),
    result: file,
    cancel: None,
    refusal,
    callback: Some(VendorCallback {
        url: callback_url,
        is_sent_in: |state, _| state != VideoTaskState::Queued,
        body: |view| {
            let word = match view.end() {
                None => "processing",
                Some(TaskEnd::Succeeded) => "success",
                Some(_) => "failed",
            };
            status(view, word)
        },
        has_challenge: true,
        headers: |_, _, _| Vec::new(),
        keys: || Value::Null,
    }),
};

/// `Authorization: Bearer <key>`.
pub const BEARER: VendorCredential = VendorCredential {
    header: "authorization",
    scheme: Some("Bearer"),
    parameter: None,
    account: account_by_key,
};

/// The member `callback_url` of a create.
pub fn callback_url(create: &VendorCreate) -> Option<String> {
    let url = create.text("/callback_url");
    is_url(url).then(|| url.to_owned())
}

fn route<'p>(method: &str, path: &[&'p str], _: &'p str) -> Option<VendorOperation<'p>> {
    let parameter = |name, prefix| VendorTaskId::Parameter { name, prefix };
    Some(match (method, path) {
        ("POST", ["v1", "video_generation"]) => VendorOperation::Create,
        ("GET", ["v1", "query", "video_generation"]) => {
            VendorOperation::Query(parameter("task_id", ""))
        }
        ("GET", ["v1", "files", "retrieve"]) => {
            VendorOperation::Result(parameter("file_id", FILE_PREFIX))
        }
        _ => return None,
    })
}

fn check(create: &VendorCreate) -> Result<(), BodyConflict> {
    let has_media = create.has("/first_frame_image") || create.has("/subject_reference");
    let has_prompt = !create.text("/prompt").is_empty();
    create.require(
        has_prompt || has_media,
        "prompt",
        "is required without an image",
    )?;
    let resolution = create.text("/resolution");
    let duration = create.number("/duration");
    let (resolutions, seconds): (&[&str], &[f64]) = match create.model {
        model if model.contains("Hailuo-2.3") => (&["768P", "1080P"], &[6.0, 10.0]),
        model if model.contains("Hailuo-02") => (&["512P", "768P", "1080P"], &[6.0, 10.0]),
        model if model.contains("01") => (&["720P"], &[6.0]),
        _ => return Ok(()),
    };
    let has_resolution = resolution.is_empty() || resolutions.contains(&resolution);
    create.require(has_resolution, "resolution", "is not one of the model's")?;
    let has_duration = duration.is_none_or(|duration| seconds.contains(&duration));
    create.require(has_duration, "duration", "is not one of the model's")
}

fn success() -> Value {
    json!({"status_code": 0, "status_msg": "success"})
}

fn status(view: &TaskView, word: &str) -> Value {
    let mut json = json!({"task_id": view.id(), "status": word, "base_resp": success()});
    if let Some((code, message)) = view.failure() {
        json["base_resp"] = json!({"status_code": number(code), "status_msg": message});
    }
    if view.has_succeeded() {
        json["video_width"] = 1366.into();
        json["video_height"] = 768.into();
        if view.task.plan.has_url {
            json["file_id"] = format!("{FILE_PREFIX}{}", view.id()).into();
        }
    }
    json
}

fn file(view: &TaskView) -> VendorAnswer {
    let Some(url) = view.video_url() else {
        return refusal(&ApiError::not_found("file not found"));
    };
    let bytes = view.task.plan.video_bytes.unwrap_or(16 << 10);
    let file = json!({
        "file_id": format!("{FILE_PREFIX}{}", view.id()), "bytes": bytes, "filename": "output.mp4",
        "created_at": view.task.made_ms() / 1000, "purpose": "video_generation", "download_url": url,
    });
    (200, json!({"file": file, "base_resp": success()}))
}

/// Errors that the vendor states inside a `200`; others keep their status.
fn refusal(error: &ApiError) -> VendorAnswer {
    let (status, code) = match error.status.as_u16() {
        401 => (200, "1004"),
        402 => (200, "1008"),
        429 => (200, "1002"),
        200 | 400 | 404 | 422 => (200, "2013"),
        other => (other, "1000"),
    };
    let code = number(error.code.as_deref().unwrap_or(code));
    (
        status,
        json!({"base_resp": {"status_code": code, "status_msg": error.message}}),
    )
}

/// A code as a number, if it is one.
pub fn number(code: &str) -> Value {
    code.parse::<i64>()
        .map_or_else(|_| code.into(), Value::from)
}
