//! MiniMax v2 (H3): a list of content, like family A, with a task object of its own.
//!
//! Not confirmed: the status of an unknown id, and what a cancel does to a running task.

use super::body_rules::{BodyField, ValueRule, optional, required};
use super::descriptor::{
    BodyConflict, CancelAfterEnd, CancelRule, StatusWords, TaskView, VendorAnswer, VendorApi,
    VendorCallback, VendorCreate, VendorOperation, VendorTaskId, no_fault_code, no_result,
};
use super::minimax::{BEARER, callback_url, number};
use crate::api_error::ApiError;
use crate::video_task::VideoTaskState;
use serde_json::{Value, json};

/// A URL, a data URI, or a file of the vendor.
const MEDIUM: ValueRule = ValueRule::Object(&[required(
    "url",
    ValueRule::Either(&[
        ValueRule::UrlOrData,
        ValueRule::Form(
            |text| text.starts_with("mm_file://"),
            "an http(s) URL, a data URI or mm_file://",
        ),
    ]),
)]);

const ROLES: &[&str] = &[
    "first_frame",
    "last_frame",
    "reference_image",
    "reference_video",
    "reference_audio",
    "base_video",
];

const ELEMENT: ValueRule = ValueRule::Object(&[
    required(
        "type",
        ValueRule::Words(&["text", "image_url", "video_url", "audio_url"]),
    ),
    optional("text", ValueRule::Text),
    optional("image_url", MEDIUM),
    optional("video_url", MEDIUM),
    optional("audio_url", MEDIUM),
    optional("role", ValueRule::Words(ROLES)),
]);

const FIELDS: &[BodyField] = &[
    required("model", ValueRule::Text),
    required("content", ValueRule::List(1, 16, &ELEMENT)),
    required("resolution", ValueRule::Words(&["768P", "2K"])),
    required("duration", ValueRule::Integer(4, 15)),
    optional(
        "ratio",
        ValueRule::Words(&["adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"]),
    ),
    optional("callback_url", ValueRule::Url),
    optional("aigc_watermark", ValueRule::Flag),
    optional("extra", ValueRule::Any),
];

pub static API: VendorApi = VendorApi {
    name: "minimax-v2",
    credential: BEARER,
    required_header: None,
    route,
    model: |_, body| body["model"].as_str().unwrap_or_default().to_owned(),
    fields: |_| FIELDS,
    fault_code: no_fault_code,
    check,
    upload: None,
    task_id: |ids, _| format!("{}0002", ids.number()),
    words: StatusWords {
        queued: "queued",
        running: "running",
        succeeded: "succeeded",
        failed: "failed",
        filtered: "failed",
        cancelled: "cancelled",
        expired: "expired",
    },
    failed: ("1000", "unknown error"),
    filtered: ("1027", "output new_sensitive"),
    created: |view| (200, json!({"task_id": view.id()})),
    id_members: &["/task_id"],
    status: |view| (200, status(view)),
    result: no_result,
    cancel: Some(CancelRule {
        stops_running: false,
        after_end: CancelAfterEnd::Deletes,
        id_in_body: None,
        answer: |view| (200, json!({"task_id": view.id(), "status": view.word()})),
        refused: "task is running and cannot be cancelled",
    }),
    refusal,
    callback: Some(VendorCallback {
        url: callback_url,
        is_sent_in: |state, _| state != VideoTaskState::Queued,
        body: status,
        has_challenge: true,
        headers: |_, _, _| Vec::new(),
        keys: || Value::Null,
    }),
};

fn route<'p>(method: &str, path: &[&'p str], _: &'p str) -> Option<VendorOperation<'p>> {
    Some(match (method, path) {
        ("POST", ["v2", "video_generation"]) => VendorOperation::Create,
        ("GET", ["v2", "query", "video_generation", id]) => {
            VendorOperation::Query(VendorTaskId::Path(id))
        }
        ("DELETE", ["v2", "video_generation", id]) => {
            VendorOperation::Cancel(VendorTaskId::Path(id))
        }
        _ => return None,
    })
}

fn check(create: &VendorCreate) -> Result<(), BodyConflict> {
    let content = create.list("/content");
    let count = |member: &str, value: &str| {
        let elements = content.iter();
        elements.filter(|element| element[member] == value).count()
    };
    for element in content {
        let kind = element["type"].as_str().unwrap_or_default();
        let members = element.as_object().into_iter().flatten();
        let mut payloads = members
            .map(|(name, _)| name)
            .filter(|name| !matches!(&***name, "type" | "role"));
        let has_its_own =
            payloads.next().is_some_and(|name| name == kind) && payloads.next().is_none();
        create.require(
            has_its_own,
            "content",
            "needs in each element the member of its type",
        )?;
        let has_role = element.get("role").is_some();
        create.require(
            has_role == (kind != "text"),
            "content",
            "needs a role for each medium, and none for a text",
        )?;
    }
    let texts = content
        .iter()
        .filter_map(|element| element["text"].as_str());
    let has_text = texts.filter(|text| !text.is_empty()).count() == 1;
    create.require(
        has_text,
        "content",
        "needs exactly one text that is not empty",
    )?;
    let (images, videos, audios) = (
        count("type", "image_url"),
        count("type", "video_url"),
        count("type", "audio_url"),
    );
    let is_within = images <= 9 && videos <= 3 && audios <= 3;
    create.require(
        is_within,
        "content",
        "takes 9 images, 3 videos and 3 audios",
    )?;
    let has_picture = audios == 0 || images + videos > 0;
    create.require(
        has_picture,
        "content",
        "needs an image or a video beside an audio",
    )?;
    let (first, last) = (count("role", "first_frame"), count("role", "last_frame"));
    create.require(
        last <= first && first <= 1,
        "content",
        "needs one first frame before a last one",
    )?;
    let references = count("role", "reference_image") + count("role", "reference_video");
    create.require(
        first == 0 || references == 0,
        "content",
        "takes frames or references",
    )?;
    let has_ratio = !matches!(create.text("/ratio"), "" | "adaptive");
    let is_text_only = images + videos + audios == 0;
    create.require(
        has_ratio || !is_text_only,
        "ratio",
        "is required for a text, and not adaptive",
    )
}

fn status(view: &TaskView) -> Value {
    let mut task = json!({
        "id": view.id(), "status": view.word(), "model": view.model(), "modality": "video",
        "task_type": "generation", "resolution": view.member("/resolution"),
        "duration": view.member("/duration"), "ratio": view.member("/ratio"),
        "created_at": view.task.made_ms() / 1000, "updated_at": view.task.changed_ms() / 1000,
    });
    if let Some(url) = view.video_url() {
        task["content"] = json!({"url": url, "prompt": view.member("/content/0/text")});
    }
    if view.has_succeeded() && view.task.plan.has_usage {
        let seconds = view.member("/duration");
        task["usage"] = json!({
            "total_seconds": seconds, "input_seconds": 0, "output_seconds": seconds,
            "input_image_count": 0, "input_audio_seconds": 0,
        });
    }
    if let Some((code, message)) = view.failure() {
        task["error"] = json!({"code": number(code), "message": message});
    }
    json!({"task": task})
}

fn refusal(error: &ApiError) -> VendorAnswer {
    let (status, kind) = match error.status.as_u16() {
        401 => (401, "authentication_error"),
        // The vendor has no status of its own for an unknown id.
        404 => (400, "invalid_request_error"),
        429 => (429, "rate_limit_error"),
        status @ 500.. => (status, "api_error"),
        status => (status, "invalid_request_error"),
    };
    let message = match error.status.as_u16() {
        404 => format!("record not found: {}", error.message),
        _ => error.message.clone(),
    };
    let kind = error.code.as_deref().unwrap_or(kind);
    let body = json!({"type": kind, "message": message, "http_code": status.to_string()});
    (
        status,
        json!({"type": "error", "error": body, "request_id": "simulated"}),
    )
}
