//! Family A: content generation tasks, created with a list of content and queried by id.
//!
//! Source: the vendor's pages 82379/1520757 (create), /1521309 (query), /1521675 (list),
//! /1521720 (cancel and delete) and /1299023 (errors).

use super::clip::{self, FRAMES_PER_SECOND};
use crate::api_error::ApiError;
use crate::endpoint_result::SuccessfulResponse;
use crate::json::{OrderedJsonObject, object};
use crate::request_context::RequestContext;
use crate::task_callback::{CallbackFormat, TaskCallbackSender};
use crate::task_directives::TaskEnd;
use crate::video_task::{KeepOrRemove, TaskPlan, VideoTask, VideoTaskState};
use crate::{media, model_request, query as uri_query};
use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use serde_json::Value;
use std::time::Duration;

/// The family of its tasks in the store.
const FAMILY: &str = "a";

/// The time in seconds after which a task expires, unless the request sets one.
const EXPIRES_AFTER: u64 = 172_800;

/// Members of a request that the responses about its task repeat.
const ECHOED_FIELDS: [&str; 5] = [
    "priority",
    "tools",
    "output_format",
    "omni_reference_task_type",
    "safety_identifier",
];

/// A callback has the body of a query. Source: the page of creates. A cancelled task is not called back.
struct FamilyACallbackFormat;

impl CallbackFormat for FamilyACallbackFormat {
    fn body(&self, task: &VideoTask, head: &Parts) -> Bytes {
        task_json(task, head).end().into()
    }
}

/// Creates a task.
pub fn create(body: &Value, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    if model_request::text_at(body, "model").is_empty() {
        return Err(missing("model"));
    }
    let content = model_request::list_at(body, "content");
    if content.is_empty() {
        return Err(missing("content"));
    }
    let mut draft = None;
    for element in content {
        check(element)?;
        if let Some(id) = element.pointer("/draft_task/id").and_then(Value::as_str) {
            check_draft(id, call)?;
            draft = Some(id);
        }
    }
    let mut echoed = body.clone();
    if let Some(members) = echoed.as_object_mut() {
        members.remove("content");
        members.extend(draft.map(|id| ("draft_task_id".to_owned(), id.into())));
    }
    let expires_after = expires_after(body);
    let plan = TaskPlan::from_directives(
        call.directives,
        call.options,
        Duration::from_secs(expires_after),
    );
    let id = call.ids.family_a();
    let mut json = OrderedJsonObject::new();
    if !call.directives.task.no_id {
        json.member("id", &id);
    }
    if let Some(identifier) = body.get("safety_identifier") {
        json.member("safety_identifier", identifier);
    }
    let task = VideoTask::new(id, FAMILY, echoed, plan, call.account);
    let callback_url = model_request::text_at(body, "callback_url");
    let callbacks = (!callback_url.is_empty()).then(|| {
        let format = Box::new(FamilyACallbackFormat);
        TaskCallbackSender::new(
            callback_url.to_owned(),
            &task,
            call.tasks,
            call.head,
            format,
        )
    });
    call.tasks.put(task);
    if let Some(callbacks) = callbacks {
        tokio::spawn(callbacks.play());
    }
    Ok(SuccessfulResponse::Whole(json.end()))
}

/// Responds to a query of one task.
///
/// # Errors
/// `404` for a task that this account does not have.
pub fn query(id: &str, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let found = call.tasks.read(call.account, FAMILY, id, |task| {
        task.queries += 1;
        (task_json(task, call.head).end(), task.plan.slow_query)
    });
    let (json, late) = found.ok_or_else(|| unknown(id))?;
    Ok(SuccessfulResponse::Late(json, late))
}

/// Lists the tasks that match the filters in the query, page by page.
pub fn list(call: &RequestContext) -> SuccessfulResponse {
    let query = call.head.uri.query().unwrap_or_default();
    let values = |name| uri_query::values(query, name).collect::<Vec<_>>();
    let lets_through = |name, found: &str| {
        let wanted = values(name);
        wanted.is_empty() || wanted.iter().any(|value| value == found)
    };
    let items = call.tasks.list(call.account, FAMILY, |task| {
        let passes = lets_through("filter.status", word(task))
            && lets_through("filter.task_ids", &task.id)
            && lets_through("filter.model", &task.model)
            && lets_through("filter.service_tier", tier(task));
        passes.then(|| task_json(task, call.head).end())
    });
    let size = uri_query::number(query, "page_size")
        .unwrap_or(20)
        .clamp(1, 500);
    let page = uri_query::number(query, "page_num").unwrap_or(1).max(1);
    let total = items.len();
    let shown = items.into_iter().skip((page - 1).saturating_mul(size));
    let shown: Vec<_> = shown.take(size).collect();
    SuccessfulResponse::Whole(object! {"items": shown, "total": total})
}

/// Cancels a queued task, or deletes one that has ended.
///
/// # Errors
/// `403` if the task is running or cancelled, `404` if this account does not have it.
pub fn delete(id: &str, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let changed = call
        .tasks
        .change(call.account, FAMILY, id, |task| match task.cancel() {
            Ok(()) => Ok(KeepOrRemove::Keep),
            Err(VideoTaskState::Ended(
                TaskEnd::Succeeded | TaskEnd::Failed | TaskEnd::Filtered | TaskEnd::Expired,
            )) => Ok(KeepOrRemove::Remove),
            Err(VideoTaskState::Queued | VideoTaskState::Running | VideoTaskState::Ended(_)) => {
                let message = format!(
                    "The operation is not allowed for a task in the state {}.",
                    word(task)
                );
                let refusal = ApiError::new(StatusCode::FORBIDDEN, message);
                Err(refusal.code("OperationDenied.InvalidState"))
            }
        });
    changed.unwrap_or_else(|| Err(unknown(id)))?;
    Ok(SuccessfulResponse::Whole(object! {}))
}

/// The response to a query, and the body of a callback.
fn task_json(task: &VideoTask, head: &Parts) -> OrderedJsonObject {
    let echoed = &task.echoed;
    let mut json = OrderedJsonObject::new();
    json.member("id", &task.id);
    json.member("model", &task.model);
    json.member("status", word(task));
    match task.state() {
        VideoTaskState::Ended(TaskEnd::Succeeded) => add_result(&mut json, task, head),
        VideoTaskState::Ended(TaskEnd::Failed | TaskEnd::Filtered) => {
            let (code, message) = task.plan.failure_or(
                "OutputVideoSensitiveContentDetected",
                "The request failed because the output video may contain sensitive information.",
            );
            json.member("error", &object! {"code": code, "message": message});
        }
        VideoTaskState::Queued | VideoTaskState::Running | VideoTaskState::Ended(_) => {}
    }
    json.member("created_at", &(task.made_ms() / 1000));
    json.member("updated_at", &(task.changed_ms() / 1000));
    json.member("service_tier", tier(task));
    json.member("execution_expires_after", &expires_after(echoed));
    json.member("draft", &model_request::is_set(echoed, "draft"));
    if let Some(id) = echoed.get("draft_task_id") {
        json.member("draft_task_id", id);
    }
    for name in ECHOED_FIELDS {
        if let Some(value) = echoed.get(name) {
            json.member(name, value);
        }
    }
    json
}

fn add_result(json: &mut OrderedJsonObject, task: &VideoTask, head: &Parts) {
    let echoed = &task.echoed;
    let resolution = match model_request::text_at(echoed, "resolution") {
        "" => "720p",
        resolution => resolution,
    };
    let frames = echoed.get("frames").and_then(Value::as_u64);
    let seconds = match frames {
        Some(frames) => frames / FRAMES_PER_SECOND,
        None => clip::seconds(echoed.get("duration")),
    };
    json.member("content", &content(task, head).end());
    if task.plan.has_usage {
        let tokens = clip::tokens(resolution, seconds);
        let usage = object! {"completion_tokens": tokens, "total_tokens": tokens};
        json.member("usage", &usage);
    }
    let seed = echoed.get("seed").and_then(Value::as_u64);
    json.member("seed", &seed.unwrap_or(task.made_ms() % 2_147_483_647));
    json.member("resolution", resolution);
    json.member(
        "ratio",
        clip::ratio(model_request::text_at(echoed, "ratio")),
    );
    match frames {
        Some(frames) => json.member("frames", &frames),
        None => json.member("duration", &seconds),
    }
    json.member("framespersecond", &FRAMES_PER_SECOND);
    let has_audio = echoed.get("generate_audio") != Some(&Value::Bool(false));
    json.member("generate_audio", &has_audio);
}

fn content(task: &VideoTask, head: &Parts) -> OrderedJsonObject {
    let signature =
        "X-Tos-Algorithm=TOS4-HMAC-SHA256&X-Tos-Expires=86400&X-Tos-Signature=simulated";
    let url =
        |ending: &str, bytes| media::url(head, &format!("{}.{ending}", task.id), bytes, signature);
    let mut content = OrderedJsonObject::new();
    if task.plan.has_url {
        let ending = match model_request::text_at(&task.echoed, "output_format") {
            "mov" => "mov",
            _ => "mp4",
        };
        content.member("video_url", &url(ending, task.plan.video_bytes));
    }
    if model_request::is_set(&task.echoed, "return_last_frame") {
        content.member("last_frame_url", &url("png", None));
    }
    content
}

fn word(task: &VideoTask) -> &str {
    match task.state() {
        VideoTaskState::Queued => "queued",
        VideoTaskState::Running => task.plan.unknown_status.as_deref().unwrap_or("running"),
        VideoTaskState::Ended(TaskEnd::Succeeded) => "succeeded",
        VideoTaskState::Ended(TaskEnd::Failed | TaskEnd::Filtered) => "failed",
        VideoTaskState::Ended(TaskEnd::Expired) => "expired",
        VideoTaskState::Ended(TaskEnd::Cancelled) => "cancelled",
        VideoTaskState::Ended(TaskEnd::Unknown) => "unknown",
    }
}

fn tier(task: &VideoTask) -> &str {
    match model_request::text_at(&task.echoed, "service_tier") {
        "" => "default",
        tier => tier,
    }
}

fn expires_after(body: &Value) -> u64 {
    let echoed = body.get("execution_expires_after").and_then(Value::as_u64);
    echoed.unwrap_or(EXPIRES_AFTER)
}

fn check(element: &Value) -> Result<(), ApiError> {
    let value_at = match model_request::text_at(element, "type") {
        "text" => "/text",
        "image_url" => "/image_url/url",
        "video_url" => "/video_url/url",
        "audio_url" => "/audio_url/url",
        "draft_task" => "/draft_task/id",
        _ => return Err(invalid("content.type")),
    };
    let value = element.pointer(value_at).and_then(Value::as_str);
    value.map(|_| ()).ok_or_else(|| missing("content"))
}

fn check_draft(id: &str, call: &RequestContext) -> Result<(), ApiError> {
    let is_draft = |task: &mut VideoTask| {
        model_request::is_set(&task.echoed, "draft")
            && task.state() == VideoTaskState::Ended(TaskEnd::Succeeded)
    };
    match call.tasks.read(call.account, FAMILY, id, is_draft) {
        Some(true) => Ok(()),
        Some(false) => Err(invalid("content.draft_task.id")),
        None => Err(unknown(id)),
    }
}

fn missing(param: &'static str) -> ApiError {
    let message = format!("The request failed because it is missing the parameter `{param}`.");
    ApiError::invalid(message)
        .code("MissingParameter")
        .param(param)
}

fn invalid(param: &'static str) -> ApiError {
    let message = format!("The parameter `{param}` specified in the request is not valid.");
    ApiError::invalid(message)
        .code("InvalidParameter")
        .param(param)
}

fn unknown(id: &str) -> ApiError {
    let message = format!("The specified task {id} is not found.");
    ApiError::not_found(message).code("NotFound.id").param("id")
}
