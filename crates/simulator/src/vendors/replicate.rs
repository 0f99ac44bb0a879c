//! Replicate: predictions of models and of versions, with callbacks signed by Standard Webhooks.
//!
//! Not confirmed: the form of HTTP errors, and `aborted` for an expired prediction. The output of a model is a text, and
//! that of a version a list. The input is the model's own, so its members are not checked.

use super::body_rules::{BodyField, ValueRule, is_url, optional, required};
use super::callback_keys::{webhook_secret, webhook_signature};
use super::descriptor::{
    CallbackKeyAccess, CancelAfterEnd, CancelRule, StatusWords, TaskView, VendorAnswer, VendorApi,
    VendorCallback, VendorOperation, VendorTaskId, no_fault_code, no_result,
};
use super::minimax::BEARER;
use crate::api_error::ApiError;
use crate::clock;
use crate::http_post::CallbackHeader;
use crate::task_directives::TaskEnd;
use crate::video_task::VideoTaskState;
use serde_json::{Value, json};

const EVENTS: ValueRule = ValueRule::Words(&["start", "output", "logs", "completed"]);

const MODEL: &[BodyField] = &[
    required("input", ValueRule::Map),
    optional("webhook", ValueRule::Url),
    optional("webhook_events_filter", ValueRule::List(1, 4, &EVENTS)),
];
const VERSION: &[BodyField] = &[
    required("version", ValueRule::Text),
    required("input", ValueRule::Map),
    optional("webhook", ValueRule::Url),
    optional("webhook_events_filter", ValueRule::List(1, 4, &EVENTS)),
];

pub static API: VendorApi = VendorApi {
    name: "replicate",
    credential: BEARER,
    required_header: None,
    route,
    model: |path, body| match path.split('/').collect::<Vec<_>>()[..] {
        ["v1", _, owner, name, "predictions"] => format!("{owner}/{name}"),
        _ => body["version"].as_str().unwrap_or_default().to_owned(),
    },
    fields: |create| match create.path {
        "v1/predictions" => VERSION,
        _ => MODEL,
    },
    fault_code: no_fault_code,
    check: |_| Ok(()),
    upload: None,
    task_id: |ids, _| ids.next("p"),
    words: StatusWords {
        queued: "starting",
        running: "processing",
        succeeded: "succeeded",
        failed: "failed",
        filtered: "failed",
        cancelled: "canceled",
        expired: "aborted",
    },
    failed: ("", "Prediction failed."),
    filtered: (
        "",
        "The input or output was flagged as sensitive. Please try again.",
    ),
    created: |view| (201, prediction(view)),
    id_members: &["/id", "/urls"],
    status: |view| (200, prediction(view)),
    result: no_result,
    cancel: Some(CancelRule {
        stops_running: true,
        after_end: CancelAfterEnd::Ignored,
        id_in_body: None,
        answer: |view| (200, prediction(view)),
        refused: "",
    }),
    refusal,
    callback: Some(VendorCallback {
        url: |create| {
            let url = create.text("/webhook");
            is_url(url).then(|| url.to_owned())
        },
        is_sent_in: |state, create| {
            let event = match state {
                VideoTaskState::Queued => "start",
                VideoTaskState::Running => "logs",
                VideoTaskState::Ended(_) => "completed",
            };
            let filter = create["webhook_events_filter"].as_array();
            filter.is_none_or(|events| events.iter().any(|wanted| wanted == event))
        },
        body: prediction,
        has_challenge: false,
        headers: signature,
        keys: || json!({"key": webhook_secret()}),
    }),
};

fn route<'p>(method: &str, path: &[&'p str], _: &'p str) -> Option<VendorOperation<'p>> {
    let ["v1", rest @ ..] = path else {
        return None;
    };
    Some(match (method, rest) {
        ("POST", ["predictions"] | ["models" | "deployments", _, _, "predictions"]) => {
            VendorOperation::Create
        }
        ("GET", ["predictions", id]) => VendorOperation::Query(VendorTaskId::Path(id)),
        ("POST", ["predictions", id, "cancel"]) => VendorOperation::Cancel(VendorTaskId::Path(id)),
        ("GET", ["webhooks", "default", "secret"]) => {
            VendorOperation::CallbackKeys(CallbackKeyAccess::Account)
        }
        _ => return None,
    })
}

fn prediction(view: &TaskView) -> Value {
    let url = format!("{}/v1/predictions/{}", view.base_url(), view.id());
    let time = |millis: Option<u64>| millis.map(clock::utc_time);
    let output = view.video_url().map(|url| match view.path() {
        "v1/predictions" => json!([url]),
        _ => json!(url),
    });
    let mut json = json!({
        "id": view.id(), "status": view.word(), "model": view.model(), "version": "hidden", "input": view.member("/input"),
        "output": output, "logs": "", "error": view.failure().map(|(_, message)| message), "metrics": {},
        "urls": {"get": url, "cancel": format!("{url}/cancel")},
        "created_at": clock::utc_time(view.task.made_ms()),
        "started_at": time(view.task.started_ms()), "completed_at": time(view.task.ended_ms()),
    });
    // A prediction that failed is billed, too.
    let seconds = match view.end() {
        Some(TaskEnd::Succeeded) => Some(41.5),
        Some(TaskEnd::Failed) => Some(12.5),
        _ => None,
    };
    if let (Some(seconds), true) = (seconds, view.task.plan.has_usage) {
        json["metrics"] = json!({"predict_time": seconds});
    }
    json
}

/// Over the id of the message, the timestamp and the body.
fn signature(task: &str, body: &[u8], _: &Value) -> Vec<CallbackHeader> {
    let timestamp = clock::unix_seconds().to_string();
    let id = format!("msg_{task}");
    let mut text = format!("{id}.{timestamp}.").into_bytes();
    text.extend_from_slice(body);
    vec![
        ("webhook-id", id),
        ("webhook-timestamp", timestamp),
        ("webhook-signature", webhook_signature(&text)),
    ]
}

fn refusal(error: &ApiError) -> VendorAnswer {
    let status = match (error.status.as_u16(), &error.param) {
        (400, Some(_)) => 422,
        (status, _) => status,
    };
    let title = match status {
        401 => "Unauthenticated",
        402 => "Insufficient credit",
        404 => "Not found",
        422 => "Input validation failed",
        429 => "Too many requests",
        500.. => "Internal server error",
        _ => "Bad request",
    };
    let title = error.code.as_deref().unwrap_or(title);
    (
        status,
        json!({"title": title, "detail": error.message, "status": status}),
    )
}
