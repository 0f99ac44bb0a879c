//! Family A: content generation tasks, made with a list of content and asked after by their id.
//!
//! Source: the vendor's pages 82379/1520757 (create), /1521309 (query), /1521675 (list),
//! /1521720 (cancel and delete) and /1299023 (errors).

use super::clip::{self, FRAMES_PER_SECOND};
use super::course::Course;
use super::directives::End;
use super::paths::Family;
use super::task::{State, Task};
use super::tasks::After;
use crate::call::Call;
use crate::json::{Object, object};
use crate::outcome::Outcome;
use crate::refusal::Refusal;
use crate::{ask, media, query as uri_query};
use http::StatusCode;
use serde_json::Value;
use std::time::Duration;

/// Seconds after which a task expires if the request says nothing.
const EXPIRES_AFTER: u64 = 172_800;

/// Members of a request that a task tells again as they are.
const TOLD_AGAIN: [&str; 5] = [
    "priority",
    "tools",
    "output_format",
    "omni_reference_task_type",
    "safety_identifier",
];

/// Makes a task.
pub fn create(body: &Value, call: &Call) -> Result<Outcome, Refusal> {
    if ask::text_at(body, "model").is_empty() {
        return Err(missing("model"));
    }
    let content = ask::list_at(body, "content");
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
    let mut asked = body.clone();
    if let Some(members) = asked.as_object_mut() {
        members.remove("content");
        members.extend(draft.map(|id| ("draft_task_id".to_owned(), id.into())));
    }
    let expires_after = expires_after(body);
    let course = Course::of(
        call.directives,
        call.options,
        Duration::from_secs(expires_after),
    );
    let id = call.ids.family_a();
    let mut json = Object::new();
    if !call.directives.task.no_id {
        json.member("id", &id);
    }
    if let Some(identifier) = body.get("safety_identifier") {
        json.member("safety_identifier", identifier);
    }
    call.tasks
        .put(Task::new(id, Family::A, asked, course, call.account));
    Ok(Outcome::Whole(json.end()))
}

/// Tells of one task.
///
/// # Errors
/// `404` for a task that this account does not have.
pub fn query(id: &str, call: &Call) -> Result<Outcome, Refusal> {
    let found = call.tasks.read(call.account, Family::A, id, |task| {
        task.queries += 1;
        (told(task, call).end(), task.course.slow_query)
    });
    let (json, late) = found.ok_or_else(|| unknown(id))?;
    Ok(Outcome::Late(json, late))
}

/// Tells of the tasks that the filters of the query let through, page by page.
pub fn list(call: &Call) -> Outcome {
    let query = call.head.uri.query().unwrap_or_default();
    let values = |name| uri_query::values(query, name).collect::<Vec<_>>();
    let lets_through = |name, found: &str| {
        let wanted = values(name);
        wanted.is_empty() || wanted.iter().any(|value| value == found)
    };
    let items = call.tasks.list(call.account, Family::A, |task| {
        let passes = lets_through("filter.status", word(task))
            && lets_through("filter.task_ids", &task.id)
            && lets_through("filter.model", &task.model)
            && lets_through("filter.service_tier", tier(task));
        passes.then(|| told(task, call).end())
    });
    let size = uri_query::number(query, "page_size")
        .unwrap_or(20)
        .clamp(1, 500);
    let page = uri_query::number(query, "page_num").unwrap_or(1).max(1);
    let total = items.len();
    let shown = items.into_iter().skip((page - 1).saturating_mul(size));
    let shown: Vec<_> = shown.take(size).collect();
    Outcome::Whole(object! {"items": shown, "total": total})
}

/// Cancels a queued task, or deletes one that has ended.
///
/// # Errors
/// `403` while it runs and once it is cancelled, `404` where this account does not have it.
pub fn delete(id: &str, call: &Call) -> Result<Outcome, Refusal> {
    let changed = call
        .tasks
        .change(call.account, Family::A, id, |task| match task.cancel() {
            Ok(()) => Ok(After::Keep),
            Err(State::Ended(End::Succeeded | End::Failed | End::Expired)) => Ok(After::Remove),
            Err(State::Queued | State::Running | State::Ended(_)) => {
                let message = format!(
                    "The operation is not allowed for a task in the state {}.",
                    word(task)
                );
                let refusal = Refusal::new(StatusCode::FORBIDDEN, message);
                Err(refusal.code("OperationDenied.InvalidState"))
            }
        });
    changed.unwrap_or_else(|| Err(unknown(id)))?;
    Ok(Outcome::Whole(object! {}))
}

fn told(task: &Task, call: &Call) -> Object {
    let asked = &task.asked;
    let mut json = Object::new();
    json.member("id", &task.id);
    json.member("model", &task.model);
    json.member("status", word(task));
    match task.state() {
        State::Ended(End::Succeeded) => add_result(&mut json, task, call),
        State::Ended(End::Failed) => {
            let (code, message) = task.course.failure_or(
                "OutputVideoSensitiveContentDetected",
                "The request failed because the output video may contain sensitive information.",
            );
            json.member("error", &object! {"code": code, "message": message});
        }
        State::Queued | State::Running | State::Ended(_) => {}
    }
    json.member("created_at", &(task.made_ms() / 1000));
    json.member("updated_at", &(task.changed_ms() / 1000));
    json.member("service_tier", tier(task));
    json.member("execution_expires_after", &expires_after(asked));
    json.member("draft", &ask::is_set(asked, "draft"));
    if let Some(id) = asked.get("draft_task_id") {
        json.member("draft_task_id", id);
    }
    for name in TOLD_AGAIN {
        if let Some(value) = asked.get(name) {
            json.member(name, value);
        }
    }
    json
}

fn add_result(json: &mut Object, task: &Task, call: &Call) {
    let asked = &task.asked;
    let resolution = match ask::text_at(asked, "resolution") {
        "" => "720p",
        resolution => resolution,
    };
    let frames = asked.get("frames").and_then(Value::as_u64);
    let seconds = match frames {
        Some(frames) => frames / FRAMES_PER_SECOND,
        None => clip::seconds(asked.get("duration")),
    };
    json.member("content", &content(task, call).end());
    if task.course.has_usage {
        let tokens = clip::tokens(resolution, seconds);
        let usage = object! {"completion_tokens": tokens, "total_tokens": tokens};
        json.member("usage", &usage);
    }
    let seed = asked.get("seed").and_then(Value::as_u64);
    json.member("seed", &seed.unwrap_or(task.made_ms() % 2_147_483_647));
    json.member("resolution", resolution);
    json.member("ratio", clip::ratio(ask::text_at(asked, "ratio")));
    match frames {
        Some(frames) => json.member("frames", &frames),
        None => json.member("duration", &seconds),
    }
    json.member("framespersecond", &FRAMES_PER_SECOND);
    let has_audio = asked.get("generate_audio") != Some(&Value::Bool(false));
    json.member("generate_audio", &has_audio);
}

fn content(task: &Task, call: &Call) -> Object {
    let signature =
        "X-Tos-Algorithm=TOS4-HMAC-SHA256&X-Tos-Expires=86400&X-Tos-Signature=simulated";
    let url = |ending: &str, bytes| {
        media::url(
            call.head,
            &format!("{}.{ending}", task.id),
            bytes,
            signature,
        )
    };
    let mut content = Object::new();
    if task.course.has_url {
        let ending = match ask::text_at(&task.asked, "output_format") {
            "mov" => "mov",
            _ => "mp4",
        };
        content.member("video_url", &url(ending, task.course.video_bytes));
    }
    if ask::is_set(&task.asked, "return_last_frame") {
        content.member("last_frame_url", &url("png", None));
    }
    content
}

fn word(task: &Task) -> &str {
    match task.state() {
        State::Queued => "queued",
        State::Running => task.course.unknown_status.as_deref().unwrap_or("running"),
        State::Ended(End::Succeeded) => "succeeded",
        State::Ended(End::Failed) => "failed",
        State::Ended(End::Expired) => "expired",
        State::Ended(End::Cancelled) => "cancelled",
        State::Ended(End::Unknown) => "unknown",
    }
}

fn tier(task: &Task) -> &str {
    match ask::text_at(&task.asked, "service_tier") {
        "" => "default",
        tier => tier,
    }
}

fn expires_after(body: &Value) -> u64 {
    let asked = body.get("execution_expires_after").and_then(Value::as_u64);
    asked.unwrap_or(EXPIRES_AFTER)
}

fn check(element: &Value) -> Result<(), Refusal> {
    let value_at = match ask::text_at(element, "type") {
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

fn check_draft(id: &str, call: &Call) -> Result<(), Refusal> {
    let is_draft = |task: &mut Task| {
        ask::is_set(&task.asked, "draft") && task.state() == State::Ended(End::Succeeded)
    };
    match call.tasks.read(call.account, Family::A, id, is_draft) {
        Some(true) => Ok(()),
        Some(false) => Err(invalid("content.draft_task.id")),
        None => Err(unknown(id)),
    }
}

fn missing(param: &'static str) -> Refusal {
    let message = format!("The request failed because it is missing the parameter `{param}`.");
    Refusal::invalid(message)
        .code("MissingParameter")
        .param(param)
}

fn invalid(param: &'static str) -> Refusal {
    let message = format!("The parameter `{param}` specified in the request is not valid.");
    Refusal::invalid(message)
        .code("InvalidParameter")
        .param(param)
}

fn unknown(id: &str) -> Refusal {
    let message = format!("The specified task {id} is not found.");
    Refusal::not_found(message).code("NotFound.id").param("id")
}
