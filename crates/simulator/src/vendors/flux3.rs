//! Black Forest Labs FLUX 3 Video: the answer to a create has the URL to query.
//!
//! Not confirmed: callbacks of videos, the path behind `polling_url`, and the status of an unknown id.

use super::body_rules::{BodyField, ValueRule, optional, required};
use super::callback_keys::{hex, hmac_sha256};
use super::descriptor::{
    BodyConflict, StatusWords, TaskView, VendorAnswer, VendorApi, VendorCallback, VendorCreate,
    VendorCredential, VendorOperation, VendorTaskId, account_by_key, no_fault_code, no_result,
};
use crate::api_error::ApiError;
use crate::task_directives::TaskEnd;
use crate::video_task::VideoTaskState;
use serde_json::{Value, json};

const PAIR: ValueRule = ValueRule::List(
    2,
    2,
    &ValueRule::Either(&[ValueRule::Number(0.0, 20.0), ValueRule::UrlOrBase64]),
);
const KEYFRAME: ValueRule = ValueRule::Either(&[ValueRule::UrlOrBase64, PAIR]);
const SECONDS: ValueRule =
    ValueRule::Either(&[ValueRule::Words(&["auto"]), ValueRule::Integer(5, 20)]);
const RATIO: ValueRule =
    ValueRule::Words(&["auto", "21:9", "2:1", "16:9", "4:3", "1:1", "3:4", "9:16"]);

const FIELDS: &[BodyField] = &[
    required(
        "mode",
        ValueRule::Words(&["t2v", "i2v", "v2v", "draft_enhance"]),
    ),
    optional("prompt", ValueRule::Text),
    optional("aspect_ratio", RATIO),
    optional("duration", SECONDS),
    optional("resolution", ValueRule::Words(&["hd", "fhd"])),
    optional("generate_audio", ValueRule::Flag),
    optional("safety_tolerance", ValueRule::Integer(0, 4)),
    optional("draft", ValueRule::Flag),
    optional("version", ValueRule::Words(&["latest"])),
    optional("keyframes", ValueRule::List(1, 10, &KEYFRAME)),
    optional("start_video", ValueRule::UrlOrBase64),
    optional("draft_cache", ValueRule::Text),
    optional("webhook_url", ValueRule::Url),
    optional("webhook_secret", ValueRule::Text),
];

pub static API: VendorApi = VendorApi {
    name: "flux3",
    credential: VendorCredential {
        header: "x-key",
        scheme: None,
        parameter: None,
        account: account_by_key,
    },
    required_header: None,
    route,
    model: |path, _| path.rsplit('/').next().unwrap_or_default().to_owned(),
    fields: |_| FIELDS,
    fault_code: no_fault_code,
    check,
    upload: None,
    task_id: |ids, _| ids.uuid(),
    words: StatusWords {
        queued: "Pending",
        running: "Pending",
        succeeded: "Ready",
        failed: "Error",
        filtered: "Request Moderated",
        cancelled: "Error",
        expired: "Task not found",
    },
    failed: ("", "Generation failed."),
    filtered: ("", "Safety Filter"),
    created: |view| {
        let url = format!("{}/v1/get_result?id={}", view.base_url(), view.id());
        (
            200,
            json!({"id": view.id(), "polling_url": url, "cost": 50.0}),
        )
    },
    id_members: &["/id", "/polling_url"],
    status: |view| (200, status(view)),
    result: no_result,
    cancel: None,
    refusal,
    callback: Some(VendorCallback {
        url: |create| {
            let url = create.text("/webhook_url");
            (!url.is_empty()).then(|| url.to_owned())
        },
        is_sent_in: |state, _| matches!(state, VideoTaskState::Ended(_)),
        body: status,
        has_challenge: false,
        headers: |_, body, create| {
            let secret = create["webhook_secret"].as_str();
            let sign = |secret: &str| hex(&hmac_sha256(secret.as_bytes(), body));
            let signature = secret.map(|secret| ("x-bfl-signature", sign(secret)));
            signature.into_iter().collect()
        },
        keys: || Value::Null,
    }),
};

fn route<'p>(method: &str, path: &[&'p str], _: &'p str) -> Option<VendorOperation<'p>> {
    let id = VendorTaskId::Parameter {
        name: "id",
        prefix: "",
    };
    match (method, path) {
        ("POST", ["v1", "flux-3-video"]) => Some(VendorOperation::Create),
        ("GET", ["v1", "get_result"]) => Some(VendorOperation::Query(id)),
        _ => None,
    }
}

fn check(create: &VendorCreate) -> Result<(), BodyConflict> {
    let mode = create.text("/mode");
    let needed = match mode {
        "i2v" => "keyframes",
        "v2v" => "start_video",
        "draft_enhance" => "draft_cache",
        _ => "prompt",
    };
    create.require(
        create.body.get(needed).is_some(),
        needed,
        "is required in this mode",
    )?;
    for (name, of_mode) in [
        ("keyframes", "i2v"),
        ("start_video", "v2v"),
        ("draft_cache", "draft_enhance"),
    ] {
        let is_right = create.body.get(name).is_none() || mode == of_mode;
        create.require(is_right, name, "is not allowed in this mode")?;
    }
    let has_prompt = !create.text("/prompt").is_empty();
    let is_enhancement = mode == "draft_enhance";
    create.require(
        has_prompt != is_enhancement,
        "prompt",
        "is required, and not allowed in draft_enhance",
    )?;
    let frames = create.list("/keyframes");
    let is_long = frames.len() >= 3 && frames.iter().all(Value::is_string);
    let has_duration = create.has("/duration");
    create.require(
        has_duration || !is_long,
        "duration",
        "is required for three or more keyframes",
    )
}

fn status(view: &TaskView) -> Value {
    let mut json = json!({"id": view.id(), "status": view.word(), "result": null, "details": null});
    if let Some(url) = view.video_url() {
        let duration = view.body().get("duration").cloned().unwrap_or(5.into());
        json["result"] = json!({"sample": url, "duration": duration, "seed": 42});
        if view.body()["draft"] == true {
            json["result"]["draft_cache"] = format!("draft-{}", view.id()).into();
        }
    }
    if view.has_succeeded() && view.task.plan.has_usage {
        json["cost"] = 50.0.into();
    }
    if let Some((code, message)) = view.failure() {
        json["details"] = match view.end() {
            Some(TaskEnd::Filtered) => message.into(),
            _ => json!({"code": code, "message": message}),
        };
    }
    json
}

fn refusal(error: &ApiError) -> VendorAnswer {
    let status = match (error.status.as_u16(), &error.param) {
        (400, Some(_)) => 422,
        (status, _) => status,
    };
    if let Some(place) = &error.param {
        let loc: Vec<&str> = ["body"].into_iter().chain(place.split('.')).collect();
        let detail = json!([{"loc": loc, "msg": error.message, "type": "value_error"}]);
        return (status, json!({"detail": detail}));
    }
    let mut body = json!({"detail": error.message});
    if status == 404 {
        body["status"] = "Task not found".into();
    }
    (status, body)
}
