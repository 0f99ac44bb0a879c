//! Families of video providers: any response has a status in the generic protocol or an error, and renders as JSON.
//!
//! An input is the name of a shipped family, and after lines with `--` a create in the generic shape and a response.

use crate::input::{parse_json, parts};
use bytes::Bytes;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_task::definition::VideoFamilyDefinitionConfig;
use headgate_task::families::SHIPPED;
use headgate_task::family::{
    NativeTaskView, SentCreate, StatusWithResult, UnsupportedFieldPolicy, VideoFamily,
};
use headgate_task::generic::GenericVideoRequest;
use headgate_task::id::TaskId;
use headgate_task::openai_video;
use headgate_task::requested_format::RequestedVideoFormat;
use headgate_task::state::TaskState;
use headgate_task::status::TaskStatus;
use http::StatusCode;
use std::sync::LazyLock;

const BASE_URL: &str = "https://provider.example";
const MODEL: &str = "model";
/// 2026-11-22T21:35:10Z, in Unix milliseconds.
const NOW_MS: u64 = 1_795_383_310_000;

static FAMILIES: LazyLock<Vec<VideoFamily>> = LazyLock::new(|| {
    let families = SHIPPED.iter().map(|(name, definition)| {
        let config: VideoFamilyDefinitionConfig =
            serde_saphyr::from_str(definition).unwrap_or_else(|error| panic!("{name}: {error}"));
        VideoFamily::new(name, &config).unwrap_or_else(|faults| panic!("{name}: {faults:?}"))
    });
    families.collect()
});

pub fn run(input: &[u8]) {
    let [name, create, response] = parts(input);
    let mut named = FAMILIES.iter();
    let Some(family) = named.find(|family| family.name.as_bytes() == name) else {
        return;
    };
    if let Some(create) = parse(create) {
        check_create(family, &create);
    }
    if let Some(response) = parse(response) {
        check_response(family, &response);
    }
}

fn parse(body: &[u8]) -> Option<JsonDocument> {
    JsonDocument::parse(Bytes::copy_from_slice(body), &JsonLimits::default()).ok()
}

/// A create is mapped to JSON, or refused with the name of a field.
fn check_create(family: &VideoFamily, create: &JsonDocument) {
    let Ok(request) = GenericVideoRequest::read(create) else {
        return;
    };
    for policy in [
        UnsupportedFieldPolicy::Refuse,
        UnsupportedFieldPolicy::Ignore,
    ] {
        if let Ok(mapped) = family.request_with_uploads(&request, MODEL, policy, &[]) {
            assert!(mapped.path.starts_with('/'), "{}", mapped.path);
            parse_json(&mapped.body);
        }
    }
}

fn check_response(family: &VideoFamily, response: &JsonDocument) {
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
        let body = response.body().clone();
        if let StatusWithResult::Merged(merged) = family.with_result(response, StatusCode::OK, body)
        {
            status = status.or(family.status(&merged, &task, NOW_MS).ok());
        }
    }
    if let Some(status) = &status {
        check_status(status, &task);
        let charge = family.charge(response, status.state);
        assert_eq!(charge.state, status.state);
    }
    check_native(family, response, &task, status.as_ref());
    check_status(&family.missing(&task, NOW_MS), &task);
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
