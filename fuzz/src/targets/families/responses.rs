//! Responses: each has a status that keeps what the API promises, or an error.

use super::MODEL;
use crate::input::parse_json;
use headgate_protocol::json::JsonDocument;
use headgate_task::family::{NativeTaskView, SentCreate, StatusWithResult, VideoFamily};
use headgate_task::id::TaskId;
use headgate_task::openai_video;
use headgate_task::requested_format::RequestedVideoFormat;
use headgate_task::state::TaskState;
use headgate_task::status::TaskStatus;
use http::StatusCode;

const BASE_URL: &str = "https://provider.example";
/// 2026-11-22T21:35:10Z, in Unix milliseconds.
const NOW_MS: u64 = 1_795_383_310_000;

/// A response to a create, a query, a cancel or an upload, as a provider's error, and as the vendor's SDK gets it.
pub fn check_response(family: &VideoFamily, response: &JsonDocument) {
    let create = SentCreate {
        path: "/",
        channel_model: MODEL,
    };
    let created = family.created(response, create, BASE_URL).ok();
    let query_url = created.as_ref().and_then(|task| task.query_url.clone());
    let upstream = created.map_or("task".to_owned(), |task| task.upstream);
    assert!(!upstream.is_empty() && !upstream.contains(char::is_control));
    let task = new_task(family, upstream, query_url);
    assert!(family.query_path(&task).starts_with('/'));
    if let Some(error) = family.error(response) {
        family.may_fail_over(error.code.as_deref().unwrap_or_default());
    }
    family.status_under_success(response);
    let mut status = family.status(response, &task, NOW_MS).ok();
    if let Some((_, path)) = family.result_request(response, &task.upstream) {
        assert!(path.starts_with('/'));
        for result_status in [StatusCode::OK, StatusCode::NOT_FOUND, StatusCode::FORBIDDEN] {
            let body = response.body().clone();
            let result = family.with_result(response, result_status, body);
            if let StatusWithResult::Merged(merged) = result {
                status = status.or(family.status(&merged, &task, NOW_MS).ok());
            }
        }
    }
    if let Some(status) = &status {
        check_status(status, &task);
        let charge = family.charge(response, status.state);
        assert_eq!(charge.state, status.state);
    }
    check_native(family, response, &task, status.as_ref());
    check_status(&family.missing(&task, NOW_MS), &task);
    check_calls(family, response, &task);
}

/// What a status promises callers.
fn check_status(status: &TaskStatus, task: &TaskId) {
    match status.state {
        TaskState::Succeeded => assert!(status.video_url.is_some(), "a success has a URL"),
        TaskState::Failed => assert!(status.error.is_some(), "a failure has an error"),
        TaskState::Queued | TaskState::Running | TaskState::Cancelled | TaskState::Expired => {}
    }
    assert!(status.progress.is_none_or(|percent| percent <= 100));
    assert!(status.created_ms <= status.updated_ms);
    if let Some(word) = &status.upstream_word {
        let is_printable = word.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        assert!(is_printable && word.len() <= 64, "{word:?}");
    }
    if let Some(rendered) = parse_json(&status.render("ID", task)) {
        assert_eq!(rendered["status"], status.state.name());
        assert_eq!(rendered["task_id"], "ID");
    }
    parse_json(&openai_video::render(status, "ID", task));
}

/// The vendor's own format stays JSON, and does not show the provider's id outside of files.
fn check_native(
    family: &VideoFamily,
    response: &JsonDocument,
    task: &TaskId,
    status: Option<&TaskStatus>,
) {
    if !family.native_api().replaces_urls() {
        return;
    }
    let view = NativeTaskView {
        task,
        id: "ID",
        file_id: "FILE_ID",
        status,
        seal: &|upstream| format!("ID of {upstream}"),
        base_url: Some("https://gateway.example"),
        is_allowed: &|_| false,
    };
    parse_json(&family.native(response, view).body);
    parse_json(&family.native_error(response).body);
}

/// What is sent about a task is a path on the channel, or on a host that the family names, and JSON.
fn check_calls(family: &VideoFamily, response: &JsonDocument, task: &TaskId) {
    if let Err(forbidden) = family.other_host(task) {
        assert!(!forbidden.0.contains('/'), "{forbidden:?}");
    }
    let cancel = family.cancel.as_ref().map(|cancel| &cancel.call);
    for call in cancel.into_iter().chain([&family.query.call]) {
        assert!(call.path(&task.upstream).starts_with('/'));
        let body = call.body(&task.upstream);
        if !body.is_empty() {
            parse_json(&body);
        }
        for (name, value) in call.headers() {
            assert!(!name.as_str().is_empty() && value.to_str().is_ok());
        }
    }
    if let Some(upload) = &family.upload {
        let id = upload.uploaded_id(response);
        assert!(id.is_none_or(|id| id.is_string() || id.is_number()));
    }
    for state in [TaskState::Queued, TaskState::Succeeded, TaskState::Failed] {
        if let Some(minimal) = family.minimal_response(task, state) {
            parse_json(&minimal);
        }
        if let Some(edits) = family.with_state(response, state) {
            parse_json(&edits.apply(response.body()).to_bytes());
        }
    }
    family
        .callback
        .is_about(Some(response.root()), &task.upstream);
    family.presumed_response(task, NOW_MS);
    family.has_task_id(response);
    family.reports_success(response);
}

fn new_task(family: &VideoFamily, upstream: String, query_url: Option<String>) -> TaskId {
    TaskId {
        caller: "demo".into(),
        channel: "west".into(),
        credential: 1,
        model: MODEL.into(),
        created: NOW_MS / 1000 - 60,
        ratio: Some("16:9".into()),
        upstream,
        family: family.name.to_string(),
        requested: RequestedVideoFormat::default(),
        query_url,
    }
}
