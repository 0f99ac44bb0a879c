//! The engine of all vendors' video APIs: creates, queries, results, cancels and files, as their descriptions say.

mod callback;
mod content;
mod upload;

use crate::api_error::ApiError;
use crate::endpoint_result::SuccessfulResponse;
use crate::http_response::SimulatedResponse;
use crate::query as uri_query;
use crate::request_context::RequestContext;
use crate::vendors::body_rules;
use crate::vendors::descriptor::{
    CancelAfterEnd, CancelRule, TaskView, VendorAnswer, VendorApi, VendorCreate, VendorOperation,
    VendorTaskId, echoed,
};
use crate::video_task::{KeepOrRemove, TaskPlan, VideoTask};
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;

/// The account of a request, and with it the credential; `None` if the vendor refuses it.
pub fn account(api: &VendorApi, head: &http::request::Parts) -> Option<String> {
    (api.credential.account)(&api.credential.key(head)?)
}

/// Checks the header that each request needs besides the credential.
///
/// # Errors
/// `400` if it is missing or has another value.
pub fn check_header(api: &VendorApi, headers: &HeaderMap) -> Result<(), ApiError> {
    let Some((name, is_valid)) = api.required_header else {
        return Ok(());
    };
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    if value.is_some_and(is_valid) {
        return Ok(());
    }
    Err(ApiError::invalid(format!("Header {name} is missing or invalid.")).param(name))
}

/// Performs an operation; `body` is read for creates and for cancels with a body.
///
/// # Errors
/// What the vendor refuses.
pub fn respond(
    api: &'static VendorApi,
    path: &str,
    operation: VendorOperation,
    body: impl FnOnce() -> Result<Value, ApiError>,
    call: &RequestContext,
) -> Result<SuccessfulResponse, ApiError> {
    match operation {
        VendorOperation::Create => create(api, path, &body()?, call),
        VendorOperation::Upload => {
            let rule = api.upload.ok_or_else(|| unknown("operation"))?;
            upload::take(rule, call)
        }
        VendorOperation::Query(id) => query(api, id, api.status, call),
        VendorOperation::Result(id) => query(api, id, api.result, call),
        VendorOperation::Cancel(id) => {
            let rule = api.cancel.as_ref().ok_or_else(|| unknown("operation"))?;
            let id = find(api, id, call)?;
            if let Some(member) = rule.id_in_body
                && body()?[member] != *id
            {
                return Err(ApiError::invalid(format!(
                    "Field `{member}` must be the task's id."
                )));
            }
            cancel(api, rule, &id, call)
        }
        VendorOperation::Delete(id) => {
            let id = find(api, id, call)?;
            let remove = |_: &mut VideoTask| Ok(KeepOrRemove::Remove);
            let removed = call.tasks.change(call.account, api.name, &id, remove);
            removed.unwrap_or_else(|| Err(unknown(&id)))?;
            Ok(answer((200, serde_json::json!({})), Duration::ZERO))
        }
        VendorOperation::PrivateVideo(file) => content::private_video(api, file, call),
        VendorOperation::SignedVideo(name) => content::signed_video(name, call.head),
        VendorOperation::CallbackKeys(_) => {
            let callback = api.callback.as_ref().ok_or_else(|| unknown("operation"))?;
            Ok(answer((200, (callback.keys)()), Duration::ZERO))
        }
    }
}

/// The response for an error, as the vendor writes it; with `is_success` under a `200`.
pub fn refusal(api: &VendorApi, error: &ApiError, is_success: bool) -> SimulatedResponse {
    let (status, body) = (api.refusal)(error);
    response((if is_success { 200 } else { status }, body))
}

/// The model that a create names.
pub fn model_named(api: &VendorApi, path: &str, body: &Value) -> Option<String> {
    let model = (api.model)(path, body);
    (!model.is_empty()).then_some(model)
}

fn create(
    api: &'static VendorApi,
    path: &str,
    body: &Value,
    call: &RequestContext,
) -> Result<SuccessfulResponse, ApiError> {
    let model = (api.model)(path, body);
    let create = VendorCreate {
        path,
        query: call.head.uri.query().unwrap_or_default(),
        model: &model,
        body,
    };
    check(api, &create)?;
    if let Some(rule) = api.upload {
        upload::check_ids(rule, &create, call)?;
    }
    let plan = TaskPlan::from_directives(call.directives, call.options, Duration::MAX);
    let id = (api.task_id)(call.ids, &create);
    let task = VideoTask::new(id, api.name, echoed(&create), plan, call.account);
    let view = TaskView {
        api,
        task: &task,
        head: call.head,
    };
    let (status, mut json) = (api.created)(&view);
    if call.directives.task.no_id {
        for member in api.id_members {
            remove(&mut json, member);
        }
    }
    let callbacks = callback::sender(api, &create, &task, call);
    call.tasks.put(task);
    if let Some(callbacks) = callbacks {
        tokio::spawn(callbacks.play());
    }
    call.media_downloads.start(body);
    Ok(answer((status, json), Duration::ZERO))
}

fn check(api: &VendorApi, create: &VendorCreate) -> Result<(), ApiError> {
    let fault_error = |place: String, kind, message: String| {
        let error = ApiError::invalid(message).param(place);
        match (api.fault_code)(kind) {
            Some(code) => error.code(code),
            None => error,
        }
    };
    body_rules::check((api.fields)(create), create.body)
        .map_err(|fault| fault_error(fault.place, fault.kind, fault.message))?;
    (api.check)(create).map_err(|conflict| {
        let message = format!("Field `{}` {}.", conflict.field, conflict.reason);
        let kind = body_rules::BodyFaultKind::Invalid;
        fault_error(conflict.field.to_owned(), kind, message)
    })
}

fn query(
    api: &'static VendorApi,
    id: VendorTaskId,
    answer_for: fn(&TaskView) -> VendorAnswer,
    call: &RequestContext,
) -> Result<SuccessfulResponse, ApiError> {
    let id = find(api, id, call)?;
    let found = call.tasks.read(call.account, api.name, &id, |task| {
        task.queries += 1;
        let head = call.head;
        let view = TaskView { api, task, head };
        (answer_for(&view), task.plan.slow_query)
    });
    let (found, late) = found.ok_or_else(|| unknown(&id))?;
    Ok(answer(found, late))
}

fn cancel(
    api: &'static VendorApi,
    rule: &CancelRule,
    id: &str,
    call: &RequestContext,
) -> Result<SuccessfulResponse, ApiError> {
    let mut cancelled = None;
    let changed = call.tasks.change(call.account, api.name, id, |task| {
        let stopped = match rule.stops_running {
            true => task.cancel_unless_ended(),
            false => task.cancel(),
        };
        let has_ended = TaskView {
            api,
            task,
            head: call.head,
        }
        .end()
        .is_some();
        let after = match (stopped, rule.after_end) {
            (Err(_), CancelAfterEnd::Deletes) if has_ended => KeepOrRemove::Remove,
            (Ok(()), _) => KeepOrRemove::Keep,
            (Err(_), CancelAfterEnd::Ignored) if has_ended => KeepOrRemove::Keep,
            (Err(_), _) => return Err(ApiError::invalid(rule.refused)),
        };
        let head = call.head;
        cancelled = Some((rule.answer)(&TaskView { api, task, head }));
        Ok(after)
    });
    changed.unwrap_or_else(|| Err(unknown(id)))?;
    let cancelled = cancelled.expect("an allowed cancel has an answer");
    Ok(answer(cancelled, Duration::ZERO))
}

/// The id of the account's task that a request names.
fn find<'r>(
    api: &VendorApi,
    id: VendorTaskId<'r>,
    call: &'r RequestContext,
) -> Result<Cow<'r, str>, ApiError> {
    let (id, create) = match id {
        VendorTaskId::Path(id) => (Some(uri_query::percent_decoded(id)), ""),
        VendorTaskId::Below { create, id } => (Some(uri_query::percent_decoded(id)), create),
        VendorTaskId::Parameter { name, prefix } => {
            let query = call.head.uri.query().unwrap_or_default();
            let value = uri_query::values(query, name).next();
            let id = value.and_then(|value| Some(value.strip_prefix(prefix)?.to_owned().into()));
            (id, "")
        }
    };
    let id = id.ok_or_else(|| unknown("without an id"))?;
    let is_below = |task: &mut VideoTask| {
        let path = task.echoed["path"].as_str().unwrap_or_default();
        path.starts_with(create)
    };
    let found = call.tasks.read(call.account, api.name, &id, is_below);
    match found {
        Some(true) => Ok(id),
        _ => Err(unknown(&id)),
    }
}

fn unknown(id: &str) -> ApiError {
    ApiError::not_found(format!("Task {id} not found."))
}

fn answer(answer: VendorAnswer, late: Duration) -> SuccessfulResponse {
    SuccessfulResponse::Http(response(answer), late)
}

fn response((status, body): VendorAnswer) -> SimulatedResponse {
    let status = StatusCode::from_u16(status).expect("descriptions have valid statuses");
    if body.is_null() {
        let mut empty = SimulatedResponse::full(status, "application/json", "");
        empty.headers.clear();
        return empty;
    }
    SimulatedResponse::json(status, &body)
}

/// Removes the member at a pointer.
fn remove(json: &mut Value, pointer: &str) {
    let Some((object, member)) = pointer.rsplit_once('/') else {
        return;
    };
    if let Some(members) = json.pointer_mut(object).and_then(Value::as_object_mut) {
        members.remove(member);
    }
}
