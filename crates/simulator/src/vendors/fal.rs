//! fal's queue: the model is the path of the create, its first two segments that of the queue; the result is a second
//! request, and callbacks are signed by Ed25519.
//!
//! Not confirmed: what a cancelled request becomes, and which model takes which form of `duration` besides those of the
//! sheet. A member that no listed model has is refused, though the vendor ignores some.

use super::body_rules::{BodyField, ValueRule, is_url, optional, required};
use super::callback_keys::{ed25519, hex};
use super::descriptor::{
    BodyConflict, CallbackKeyAccess, CancelAfterEnd, CancelRule, StatusWords, TaskView,
    VendorAnswer, VendorApi, VendorCallback, VendorCreate, VendorCredential, VendorOperation,
    VendorTaskId, account_by_key, no_fault_code,
};
use crate::api_error::ApiError;
use crate::clock;
use crate::http_post::CallbackHeader;
use crate::query;
use crate::task_directives::TaskEnd;
use crate::video_task::VideoTaskState;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::KeyPair;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const DURATION: ValueRule = ValueRule::Either(&[ValueRule::Integer(1, 60), ValueRule::Text]);
const FILE: ValueRule = ValueRule::UrlOrData;

const FIELDS: &[BodyField] = &[
    required("prompt", ValueRule::Text),
    optional("image_url", FILE),
    optional("end_image_url", FILE),
    optional("tail_image_url", FILE),
    optional("start_image_url", FILE),
    optional("first_frame_url", FILE),
    optional("last_frame_url", FILE),
    optional("reference_image_urls", ValueRule::List(1, 9, &FILE)),
    optional("image_urls", ValueRule::List(1, 9, &FILE)),
    optional("video_url", FILE),
    optional("video_urls", ValueRule::List(1, 9, &FILE)),
    optional("audio_url", FILE),
    optional("audio_urls", ValueRule::List(1, 9, &FILE)),
    optional("aspect_ratio", ValueRule::Text),
    optional("duration", DURATION),
    optional("resolution", ValueRule::Text),
    optional("seed", ValueRule::Integer(0, i64::MAX)),
    optional("negative_prompt", ValueRule::Text),
    optional("loop", ValueRule::Flag),
    optional("generate_audio", ValueRule::Flag),
    optional("cfg_scale", ValueRule::Number(0.0, 1.0)),
];

pub static API: VendorApi = VendorApi {
    name: "fal",
    credential: VendorCredential {
        header: "authorization",
        scheme: Some("Key"),
        parameter: None,
        account: account_by_key,
    },
    required_header: None,
    route,
    model: |path, _| path.to_owned(),
    fields: |_| FIELDS,
    fault_code: no_fault_code,
    check,
    upload: None,
    task_id: |ids, _| ids.uuid(),
    words: StatusWords {
        queued: "IN_QUEUE",
        running: "IN_PROGRESS",
        succeeded: "COMPLETED",
        failed: "COMPLETED",
        filtered: "COMPLETED",
        cancelled: "COMPLETED",
        expired: "COMPLETED",
    },
    failed: ("internal_server_error", "Internal server error"),
    filtered: (
        "content_policy_violation",
        "The content could not be processed because it was flagged by a content checker.",
    ),
    created: |view| {
        let mut json = urls(view);
        json["queue_position"] = 0.into();
        (200, json)
    },
    id_members: &["/request_id", "/response_url", "/status_url", "/cancel_url"],
    status: |view| (200, status(view)),
    result,
    cancel: Some(CancelRule {
        stops_running: true,
        after_end: CancelAfterEnd::Refused,
        id_in_body: None,
        answer: |_| (202, json!({"status": "CANCELLATION_REQUESTED"})),
        refused: "Request already completed",
    }),
    refusal,
    callback: Some(VendorCallback {
        url: |create| {
            let url = query::values(create.query, "fal_webhook").next()?;
            is_url(&url).then(|| url.into_owned())
        },
        is_sent_in: |state, _| matches!(state, VideoTaskState::Ended(_)),
        body: |view| {
            let (_, payload) = result(view);
            let error = view.failure().map(|(_, message)| message);
            let status = if error.is_none() { "OK" } else { "ERROR" };
            json!({
                "request_id": view.id(), "gateway_request_id": view.id(), "status": status,
                "payload": payload, "error": error,
            })
        },
        has_challenge: false,
        headers: signature,
        keys: || {
            let key = URL_SAFE_NO_PAD.encode(ed25519().public_key());
            json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": key}]})
        },
    }),
};

fn route<'p>(method: &str, path: &[&'p str], own: &'p str) -> Option<VendorOperation<'p>> {
    if let ("GET", [".well-known", "jwks.json"]) = (method, path) {
        return Some(VendorOperation::CallbackKeys(CallbackKeyAccess::Anyone));
    }
    let Some(requests) = path.iter().position(|segment| *segment == "requests") else {
        let is_model = method == "POST" && path.len() >= 2;
        return is_model.then_some(VendorOperation::Create);
    };
    let depth = match path {
        ["workflows" | "comfy", ..] => 3,
        _ => 2,
    };
    if requests != depth {
        return None;
    }
    let create = own.split_once("/requests/")?.0;
    let task = |id| VendorTaskId::Below { create, id };
    Some(match (method, &path[requests + 1..]) {
        ("GET", [id, "status"]) => VendorOperation::Query(task(id)),
        ("GET", [id]) => VendorOperation::Result(task(id)),
        ("PUT", [id, "cancel"]) => VendorOperation::Cancel(task(id)),
        _ => return None,
    })
}

/// Members that have the first image, by model.
const FIRST_IMAGES: [&str; 3] = ["image_url", "start_image_url", "first_frame_url"];

/// An image where the path says so; a duration as `"5"` for Kling's models, as `"5s"` for those of Luma and Google.
fn check(create: &VendorCreate) -> Result<(), BodyConflict> {
    let has_image = FIRST_IMAGES
        .iter()
        .any(|name| create.body.get(name).is_some());
    let is_for_image = create.path.ends_with("/image-to-video");
    create.require(has_image || !is_for_image, "image_url", "is required")?;
    let is_for_text = create.path.ends_with("/text-to-video");
    create.require(!has_image || !is_for_text, "image_url", "is not permitted")?;
    let Some(duration) = create.body.get("duration") else {
        return Ok(());
    };
    let text = duration.as_str().unwrap_or_default();
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    let is_right = match create.path {
        path if path.contains("/kling-video") => is_number(text),
        path if path.contains("/luma") || path.contains("/veo") => {
            text.strip_suffix('s').is_some_and(is_number)
        }
        _ => duration.is_u64() || is_number(text.trim_end_matches('s')),
    };
    create.require(is_right, "duration", "has not the form of this model")
}

fn urls(view: &TaskView) -> Value {
    let depth = match view.path() {
        path if path.starts_with("workflows/") || path.starts_with("comfy/") => 3,
        _ => 2,
    };
    let queue: Vec<&str> = view.path().split('/').take(depth).collect();
    let url = format!(
        "{}/{}/requests/{}",
        view.base_url(),
        queue.join("/"),
        view.id()
    );
    json!({
        "request_id": view.id(), "response_url": url, "status_url": format!("{url}/status"),
        "cancel_url": format!("{url}/cancel"),
    })
}

fn status(view: &TaskView) -> Value {
    let mut json = urls(view);
    json["status"] = view.word().into();
    json["logs"] = Value::Null;
    if view.is_queued() {
        json["queue_position"] = 0.into();
    }
    if let Some((kind, message)) = failure(view) {
        json["error"] = message.into();
        json["error_type"] = kind.into();
    }
    if view.has_succeeded() && view.task.plan.has_usage {
        json["metrics"] = json!({"inference_time": 12.5});
    }
    json
}

fn failure<'v>(view: &'v TaskView) -> Option<(&'v str, &'v str)> {
    match view.end()? {
        TaskEnd::Cancelled => Some(("request_cancelled", "Request was cancelled")),
        TaskEnd::Expired => Some(("request_timeout", "Request timed out")),
        _ => view.failure(),
    }
}

fn result(view: &TaskView) -> VendorAnswer {
    if let Some((kind, message)) = failure(view) {
        let detail = json!([{"loc": ["body"], "msg": message, "type": kind}]);
        return (422, json!({"detail": detail}));
    }
    if view.end().is_none() {
        return (400, json!({"detail": "Request is still in progress"}));
    }
    let mut json = json!({"seed": 42});
    if let Some(url) = view.video_url() {
        json["video"] = json!({
            "url": url, "content_type": "video/mp4", "width": 1280, "height": 720, "duration": seconds(view), "fps": 24.0,
        });
    }
    (200, json)
}

/// The requested seconds, which are a number or a text by model.
fn seconds(view: &TaskView) -> f64 {
    let requested = view.body().get("duration");
    let requested = requested.and_then(|seconds| match seconds.as_str() {
        Some(text) => text.trim_end_matches('s').parse().ok(),
        None => seconds.as_f64(),
    });
    requested.unwrap_or(5.0)
}

/// Over request id, user id, timestamp and the hash of the body, line by line.
fn signature(task: &str, body: &[u8], _: &Value) -> Vec<CallbackHeader> {
    let timestamp = clock::unix_seconds().to_string();
    let user = "simulated-user";
    let digest = hex(&Sha256::digest(body));
    let message = format!("{task}\n{user}\n{timestamp}\n{digest}");
    let signed = ed25519().sign(message.as_bytes());
    vec![
        ("x-fal-webhook-request-id", task.to_owned()),
        ("x-fal-webhook-user-id", user.to_owned()),
        ("x-fal-webhook-timestamp", timestamp),
        ("x-fal-webhook-signature", hex(signed.as_ref())),
    ]
}

fn refusal(error: &ApiError) -> VendorAnswer {
    let status = error.status.as_u16();
    let Some(place) = &error.param else {
        let mut json = json!({"detail": error.message});
        if let Some(code) = &error.code {
            json["error_type"] = code.as_str().into();
        }
        return (status, json);
    };
    let path = ["body"].into_iter().chain(place.split('.'));
    let loc: Vec<&str> = path.collect();
    let detail = json!([{"loc": loc, "msg": error.message, "type": "value_error"}]);
    (422, json!({"detail": detail}))
}
