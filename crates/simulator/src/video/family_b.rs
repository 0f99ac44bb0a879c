//! Family B: asynchronous video synthesis, with tasks under `/api/v1/tasks`.
//!
//! Source: the vendor's pages `wan3-video-generation-api-reference`, `manage-asynchronous-tasks`
//! and `error-code`.

use super::clip::{self, FRAMES_PER_SECOND};
use crate::api_error::ApiError;
use crate::endpoint_result::SuccessfulResponse;
use crate::json::{JsonText, OrderedJsonObject, object};
use crate::request_context::RequestContext;
use crate::task_directives::TaskEnd;
use crate::video_task::{KeepOrRemove, TaskPlan, VideoTask, VideoTaskState};
use crate::{clock, media, model_request, query as uri_query};
use http::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;

/// The family of its tasks in the store.
const FAMILY: &str = "b";

/// The seconds that each video in a request counts for.
const INPUT_SECONDS: u64 = 5;

/// Images that models before generation 3.0 take as members of `input`.
const DIRECT_IMAGES: [&str; 3] = ["img_url", "first_frame_url", "head_frame"];

/// Creates a task.
pub fn create(body: &Value, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let is_async = call.head.headers.get("x-dashscope-async");
    if !is_async.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"enable")) {
        let message = "current user api does not support synchronous calls";
        return Err(ApiError::new(StatusCode::FORBIDDEN, message).code("AccessDenied"));
    }
    if model_request::text_at(body, "model").is_empty() {
        return Err(ApiError::invalid("Model is required.").code("BadRequest.EmptyModel"));
    }
    let Some(input) = body.get("input").filter(|input| input.is_object()) else {
        return Err(ApiError::invalid("Input is required.").code("BadRequest.EmptyInput"));
    };
    let media = model_request::list_at(input, "media");
    let prompt = model_request::text_at(input, "prompt");
    let images = DIRECT_IMAGES.map(|name| model_request::text_at(input, name));
    if prompt.is_empty() && media.is_empty() && images.iter().all(|url| url.is_empty()) {
        return Err(ApiError::invalid(
            "input.prompt or input.media must be given.",
        ));
    }
    let videos = media.iter().filter(|item| {
        matches!(
            model_request::text_at(item, "type"),
            "reference_video" | "video"
        )
    });
    let echoed = json!({
        "model": body.get("model"), "prompt": prompt, "parameters": body.get("parameters"),
        "input_seconds": INPUT_SECONDS * videos.count() as u64,
    });
    let id = call.ids.uuid();
    let mut output = OrderedJsonObject::new();
    output.member("task_status", "PENDING");
    if !call.directives.task.no_id {
        output.member("task_id", &id);
    }
    let plan = TaskPlan::from_directives(call.directives, call.options, Duration::MAX);
    call.tasks
        .put(VideoTask::new(id, FAMILY, echoed, plan, call.account));
    Ok(SuccessfulResponse::Whole(
        object! {"output": output.end(), "request_id": call.request_id},
    ))
}

/// Responds to a query of one task; a task that this account does not have has the status `UNKNOWN`, without an error.
pub fn query(id: &str, call: &RequestContext) -> SuccessfulResponse {
    let found = call.tasks.read(call.account, FAMILY, id, |task| {
        task.queries += 1;
        (task_json(task, call), task.plan.slow_query)
    });
    let (json, late) = found.unwrap_or_else(|| {
        let output = object! {"task_id": id, "task_status": "UNKNOWN"};
        let json = object! {"request_id": call.request_id, "output": output};
        (json, Duration::ZERO)
    });
    SuccessfulResponse::Late(json, late)
}

/// Lists the account's tasks, page by page.
pub fn list(call: &RequestContext) -> SuccessfulResponse {
    let query = call.head.uri.query().unwrap_or_default();
    let statuses: Vec<_> = uri_query::values(query, "status").collect();
    let items = call.tasks.list(call.account, FAMILY, |task| {
        let passes = statuses.is_empty() || statuses.iter().any(|status| status == word(task));
        passes.then(|| {
            object! {
                "task_id": task.id, "model_name": task.model, "status": word(task),
                "start_time": task.made_ms(), "end_time": task.ended_ms(),
            }
        })
    });
    let size = uri_query::number(query, "page_size")
        .unwrap_or(10)
        .clamp(1, 100);
    let page = uri_query::number(query, "page_no").unwrap_or(1).max(1);
    let total = items.len();
    let shown = items.into_iter().skip((page - 1).saturating_mul(size));
    let shown: Vec<_> = shown.take(size).collect();
    SuccessfulResponse::Whole(object! {
        "request_id": call.request_id, "data": shown,
        "page_no": page, "page_size": size, "total": total,
    })
}

/// Cancels a pending task.
///
/// # Errors
/// `400` if it is no longer pending, `404` if this account does not have it.
pub fn cancel(id: &str, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let cancelled = call.tasks.change(call.account, FAMILY, id, |task| {
        task.cancel().map(|()| KeepOrRemove::Keep).map_err(|_| {
            let message =
                "Failed to cancel the task, please confirm if the task is in PENDING status.";
            ApiError::invalid(message).code("UnsupportedOperation")
        })
    });
    cancelled.unwrap_or_else(|| Err(ApiError::not_found("The task does not exist.")))?;
    Ok(SuccessfulResponse::Whole(
        object! {"request_id": call.request_id},
    ))
}

fn task_json(task: &VideoTask, call: &RequestContext) -> JsonText {
    let mut output = OrderedJsonObject::new();
    output.member("task_id", &task.id);
    output.member("task_status", word(task));
    output.member("submit_time", &clock::china_time(task.made_ms()));
    if let Some(started) = task.started_ms() {
        output.member("scheduled_time", &clock::china_time(started));
    }
    if let Some(ended) = task.ended_ms() {
        output.member("end_time", &clock::china_time(ended));
    }
    output.member(
        "orig_prompt",
        model_request::text_at(&task.echoed, "prompt"),
    );
    let has_succeeded = task.state() == VideoTaskState::Ended(TaskEnd::Succeeded);
    if has_succeeded && task.plan.has_url {
        let signature = "Expires=1780819257&OSSAccessKeyId=simulated&Signature=simulated%3D";
        let name = format!("{}.mp4", task.id);
        let url = media::url(call.head, &name, task.plan.video_bytes, signature);
        output.member("video_url", &url);
    }
    if matches!(
        task.state(),
        VideoTaskState::Ended(TaskEnd::Failed | TaskEnd::Filtered)
    ) {
        let (code, message) = task.plan.failure_or(
            "DataInspectionFailed",
            "Output data may contain inappropriate content.",
        );
        output.member("code", code);
        output.member("message", message);
    }
    let mut json = OrderedJsonObject::new();
    json.member("request_id", call.request_id);
    json.member("output", &output.end());
    if has_succeeded && task.plan.has_usage {
        json.member("usage", &usage(task));
    }
    json.end()
}

fn usage(task: &VideoTask) -> JsonText {
    let parameters = &task.echoed["parameters"];
    let input = task.echoed["input_seconds"].as_u64().unwrap_or(0);
    let output = clip::seconds(parameters.get("duration"));
    let resolution = match model_request::text_at(parameters, "resolution") {
        "" => "1080P",
        resolution => resolution,
    };
    let lines: u64 = resolution
        .trim_end_matches(['P', 'p'])
        .parse()
        .unwrap_or(1080);
    object! {
        "duration": input + output,
        "input_video_duration": input,
        "output_video_duration": output,
        "video_count": 1_u64,
        "SR": lines,
        "ratio": clip::ratio(model_request::text_at(parameters, "ratio")),
        "fps": FRAMES_PER_SECOND,
    }
}

fn word(task: &VideoTask) -> &str {
    match task.state() {
        VideoTaskState::Queued => "PENDING",
        VideoTaskState::Running => task.plan.unknown_status.as_deref().unwrap_or("RUNNING"),
        VideoTaskState::Ended(TaskEnd::Succeeded) => "SUCCEEDED",
        VideoTaskState::Ended(TaskEnd::Failed | TaskEnd::Filtered) => "FAILED",
        VideoTaskState::Ended(TaskEnd::Cancelled) => "CANCELED",
        // This family has no status for expired tasks: it no longer knows them.
        VideoTaskState::Ended(TaskEnd::Expired | TaskEnd::Unknown) => "UNKNOWN",
    }
}
