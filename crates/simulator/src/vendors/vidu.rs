//! Vidu: a path for each mode, one list of images, and words for each kind of invalid body.
//!
//! Not confirmed: the state of a cancelled task, and the body of callbacks (here that of a query).

use super::body_rules::{BodyFaultKind, BodyField, ValueRule, optional, required};
use super::descriptor::{
    BodyConflict, CancelAfterEnd, CancelRule, StatusWords, TaskView, VendorAnswer, VendorApi,
    VendorCallback, VendorCreate, VendorCredential, VendorOperation, VendorTaskId, account_by_key,
    no_result,
};
use super::minimax::callback_url;
use crate::api_error::ApiError;
use crate::clock;
use crate::task_directives::TaskEnd;
use serde_json::{Value, json};

const MODES: [&str; 4] = [
    "text2video",
    "img2video",
    "start-end2video",
    "reference2video",
];

const RATIO: ValueRule = ValueRule::Words(&["16:9", "9:16", "1:1", "3:4", "4:3", "auto"]);
const SUBJECT: ValueRule = ValueRule::Object(&[
    required("id", ValueRule::Text),
    required("images", ValueRule::List(1, 3, &ValueRule::UrlOrData)),
    optional("voice_id", ValueRule::Text),
]);

/// The members that all modes have, and those of `$own`.
macro_rules! with_shared {
    ($($own:expr),* $(,)?) => {
        &[
            required("model", ValueRule::Text),
            optional("duration", ValueRule::Integer(1, 16)),
            optional("seed", ValueRule::Integer(0, i64::MAX)),
            optional("resolution", ValueRule::Words(&["540p", "720p", "1080p"])),
            optional("movement_amplitude", ValueRule::Words(&["auto", "small", "medium", "large"])),
            optional("bgm", ValueRule::Flag),
            optional("audio", ValueRule::Flag),
            optional("audio_type", ValueRule::Text),
            optional("voice_id", ValueRule::Text),
            optional("off_peak", ValueRule::Flag),
            optional("watermark", ValueRule::Flag),
            optional("payload", ValueRule::Text),
            optional("callback_url", ValueRule::Url),
            $($own),*
        ]
    };
}

const TEXT: &[BodyField] = with_shared![
    required("prompt", ValueRule::TextMax(5000)),
    optional("style", ValueRule::Words(&["general", "anime"])),
    optional("aspect_ratio", RATIO),
];
const IMAGE: &[BodyField] = with_shared![
    required("images", ValueRule::List(1, 1, &ValueRule::UrlOrData)),
    optional("prompt", ValueRule::TextMax(5000)),
];
const START_END: &[BodyField] = with_shared![
    required("images", ValueRule::List(2, 2, &ValueRule::UrlOrData)),
    optional("prompt", ValueRule::TextMax(5000)),
];
const REFERENCE: &[BodyField] = with_shared![
    optional("images", ValueRule::List(1, 7, &ValueRule::UrlOrData)),
    optional("subjects", ValueRule::List(1, 7, &SUBJECT)),
    required("prompt", ValueRule::TextMax(5000)),
    optional("aspect_ratio", RATIO),
];

pub static API: VendorApi = VendorApi {
    name: "vidu",
    credential: VendorCredential {
        header: "authorization",
        scheme: Some("Token"),
        parameter: None,
        account: account_by_key,
    },
    required_header: None,
    route,
    model: |_, body| body["model"].as_str().unwrap_or_default().to_owned(),
    fields: |create| match create.path.rsplit('/').next() {
        Some("text2video") => TEXT,
        Some("img2video") => IMAGE,
        Some("start-end2video") => START_END,
        _ => REFERENCE,
    },
    fault_code: |kind| {
        Some(match kind {
            BodyFaultKind::Missing => "FieldLacking",
            BodyFaultKind::Unknown => "FieldUnwanted",
            BodyFaultKind::Invalid => "FieldInvalid",
        })
    },
    check,
    upload: None,
    task_id: |ids, _| format!("{}0004", ids.number()),
    words: StatusWords {
        queued: "queueing",
        running: "processing",
        succeeded: "success",
        failed: "failed",
        filtered: "failed",
        cancelled: "failed",
        expired: "failed",
    },
    failed: ("SystemError", ""),
    filtered: ("CreationPolicyViolation", ""),
    created: |view| (200, created(view)),
    id_members: &["/task_id"],
    status: |view| (200, status(view)),
    result: no_result,
    cancel: Some(CancelRule {
        stops_running: false,
        after_end: CancelAfterEnd::Refused,
        id_in_body: Some("id"),
        answer: |_| (200, json!({})),
        refused: "task state is scheduled, can not cancel",
    }),
    refusal,
    callback: Some(VendorCallback {
        url: callback_url,
        is_sent_in: |_, _| true,
        body: status,
        has_challenge: false,
        headers: |_, _, _| Vec::new(),
        keys: || Value::Null,
    }),
};

fn route<'p>(method: &str, path: &[&'p str], _: &'p str) -> Option<VendorOperation<'p>> {
    let ["ent", "v2", rest @ ..] = path else {
        return None;
    };
    match (method, rest) {
        ("POST", [mode]) if MODES.contains(mode) => Some(VendorOperation::Create),
        ("GET", ["tasks", id, "creations"]) => Some(VendorOperation::Query(VendorTaskId::Path(id))),
        ("POST", ["tasks", id, "cancel"]) => Some(VendorOperation::Cancel(VendorTaskId::Path(id))),
        _ => None,
    }
}

fn check(create: &VendorCreate) -> Result<(), BodyConflict> {
    let model = create.model;
    let (shortest, longest) = match model {
        model if model.starts_with("viduq3") => (1.0, 16.0),
        model if model.starts_with("viduq2") => (1.0, 10.0),
        model if model.starts_with("viduq1") => (5.0, 5.0),
        _ => (1.0, 16.0),
    };
    let duration = create.number("/duration").unwrap_or(shortest);
    let has_length = (shortest..=longest).contains(&duration);
    create.require(has_length, "duration", "is out of the model's range")?;
    let is_new = model.starts_with("viduq2") || model.starts_with("viduq3");
    for name in ["movement_amplitude", "style"] {
        let is_left_out = !is_new || create.body.get(name).is_none();
        create.require(is_left_out, name, "is not supported by the model")?;
    }
    if create.path.ends_with("reference2video") {
        let has_images = create.has("/images") != create.has("/subjects");
        create.require(has_images, "images", "or `subjects` is required")?;
    }
    Ok(())
}

fn created(view: &TaskView) -> Value {
    json!({
        "task_id": view.id(), "state": "created", "model": view.model(), "prompt": view.member("/prompt"),
        "images": view.member("/images"), "duration": view.member("/duration"),
        "seed": view.member("/seed"), "resolution": view.member("/resolution"),
        "bgm": view.member("/bgm"), "payload": view.member("/payload"),
        "off_peak": view.member("/off_peak"), "created_at": clock::utc_time(view.task.made_ms()),
    })
}

fn status(view: &TaskView) -> Value {
    let cancelled = (view.end() == Some(TaskEnd::Cancelled)).then_some("UserCancelled");
    let code = view.failure().map(|(code, _)| code).or(cancelled);
    let creation = |url: String| json!({"id": format!("{}1", view.id()), "url": url, "cover_url": url.replace(".mp4", ".png")});
    let creations: Vec<_> = view.video_url().into_iter().map(creation).collect();
    let credits = if view.has_succeeded() && view.task.plan.has_usage {
        20
    } else {
        0
    };
    json!({
        "id": view.id(), "state": view.word(), "err_code": code.unwrap_or_default(),
        "credits": credits, "payload": view.member("/payload"), "bgm": view.member("/bgm"),
        "off_peak": view.member("/off_peak"), "creations": creations,
    })
}

fn refusal(error: &ApiError) -> VendorAnswer {
    let status = error.status.as_u16();
    let reason = match status {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "TaskNotFound",
        409 => "Conflict",
        429 => "TooManyRequests",
        500.. => "InternalServiceFailure",
        _ => "BadRequest",
    };
    let reason = error.code.as_deref().unwrap_or(reason);
    let metadata = json!({"trace_id": "simulated"});
    let body =
        json!({"code": status, "reason": reason, "message": error.message, "metadata": metadata});
    (status, body)
}
