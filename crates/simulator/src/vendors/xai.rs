//! xAI Grok Imagine: a task that is not done answers `202`, while it waits without a body.
//!
//! Not confirmed: which of the two forms of HTTP errors comes when; it is the one with a text.

use super::body_rules::{BodyField, ValueRule, optional, required};
use super::descriptor::{
    BodyConflict, StatusWords, TaskView, VendorAnswer, VendorApi, VendorCreate, VendorOperation,
    VendorTaskId, no_fault_code, no_result,
};
use super::minimax::BEARER;
use crate::api_error::ApiError;
use crate::task_directives::TaskEnd;
use serde_json::{Value, json};

const FILE: ValueRule = ValueRule::Object(&[required("url", ValueRule::UrlOrData)]);
const VOICE: ValueRule = ValueRule::Object(&[required("voice_id", ValueRule::Text)]);
const RATIO: ValueRule = ValueRule::Words(&["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"]);

const GENERATION: &[BodyField] = &[
    required("model", ValueRule::Text),
    required("prompt", ValueRule::Text),
    optional("duration", ValueRule::Integer(1, 15)),
    optional("aspect_ratio", RATIO),
    optional("resolution", ValueRule::Words(&["480p", "720p", "1080p"])),
    optional("image", FILE),
    optional("reference_images", ValueRule::List(1, 7, &FILE)),
    optional("reference_audios", ValueRule::List(1, 7, &VOICE)),
    optional("generate_audio", ValueRule::Flag),
    optional("user", ValueRule::Text),
];
const EDIT: &[BodyField] = &[
    required("model", ValueRule::Text),
    required("prompt", ValueRule::Text),
    required("video", FILE),
    optional("user", ValueRule::Text),
];
const EXTENSION: &[BodyField] = &[
    required("model", ValueRule::Text),
    required("prompt", ValueRule::Text),
    required("video", FILE),
    optional("duration", ValueRule::Integer(1, 15)),
    optional("user", ValueRule::Text),
];

pub static API: VendorApi = VendorApi {
    name: "xai",
    credential: BEARER,
    required_header: None,
    route,
    model: |_, body| body["model"].as_str().unwrap_or_default().to_owned(),
    fields: |create| match create.path.rsplit('/').next() {
        Some("edits") => EDIT,
        Some("extensions") => EXTENSION,
        _ => GENERATION,
    },
    fault_code: no_fault_code,
    check,
    upload: None,
    task_id: |ids, _| ids.uuid(),
    words: StatusWords {
        queued: "pending",
        running: "pending",
        succeeded: "done",
        failed: "failed",
        filtered: "done",
        cancelled: "failed",
        expired: "expired",
    },
    failed: ("internal_error", "The video could not be generated."),
    filtered: ("", ""),
    created: |view| (200, json!({"request_id": view.id()})),
    id_members: &["/request_id"],
    status,
    result: no_result,
    cancel: None,
    refusal,
    callback: None,
};

fn route<'p>(method: &str, path: &[&'p str], _: &'p str) -> Option<VendorOperation<'p>> {
    Some(match (method, path) {
        ("POST", ["v1", "videos", "generations" | "edits" | "extensions"]) => {
            VendorOperation::Create
        }
        ("GET", ["v1", "videos", id]) => VendorOperation::Query(VendorTaskId::Path(id)),
        _ => return None,
    })
}

fn check(create: &VendorCreate) -> Result<(), BodyConflict> {
    let is_large = create.text("/resolution") == "1080p";
    let can_be_large = create.model.contains("-1.5") && !create.has("/reference_images");
    create.require(
        !is_large || can_be_large,
        "resolution",
        "is not supported by the model",
    )?;
    let is_mixed = create.has("/image") && create.has("/reference_images");
    create.require(!is_mixed, "reference_images", "cannot be used with `image`")
}

fn status(view: &TaskView) -> VendorAnswer {
    let mut json = json!({"status": view.word(), "model": view.model()});
    let Some(end) = view.end() else {
        if view.is_queued() {
            return (202, Value::Null);
        }
        json["progress"] = 50.into();
        let is_known = view.task.plan.unknown_status.is_none();
        return (if is_known { 202 } else { 200 }, json);
    };
    let duration = view.body().get("duration").cloned().unwrap_or(5.into());
    match end {
        TaskEnd::Succeeded => {
            json["video"] = json!({"duration": duration, "respect_moderation": true});
            if let Some(url) = view.video_url() {
                json["video"]["url"] = url.into();
            }
            json["progress"] = 100.into();
            if view.task.plan.has_usage {
                json["usage"] = json!({"cost_in_usd_ticks": 5_000_000_000_u64});
            }
        }
        TaskEnd::Filtered => {
            json["video"] = json!({"url": "", "duration": duration, "respect_moderation": false});
        }
        TaskEnd::Failed => {
            let (code, message) = view.failure().expect("a failed task has a failure");
            json["error"] = json!({"code": code, "message": message});
        }
        TaskEnd::Cancelled | TaskEnd::Expired | TaskEnd::Unknown => {}
    }
    (200, json)
}

fn refusal(error: &ApiError) -> VendorAnswer {
    let status = error.status.as_u16();
    let code = match status {
        401 => "Unauthenticated",
        404 => "The requested resource was not found",
        429 => "Some resource has been exhausted",
        500.. => "The service is currently unavailable",
        _ => "Client specified an invalid argument",
    };
    let code = error.code.as_deref().unwrap_or(code);
    (status, json!({"code": code, "error": error.message}))
}
