//! Tests of native responses: the caller's ids and models are set, and nothing else changes.

use super::*;

#[test]
fn a_native_response_gets_the_familys_word_for_a_changed_state() {
    for (name, response, expected) in [
        (
            "family-a",
            r#"{"id":"up-1","status":"queued"}"#,
            r#"{"id":"up-1","status":"cancelled"}"#,
        ),
        (
            "family-b",
            r#"{"output":{"task_status":"PENDING"}}"#,
            r#"{"output":{"task_status":"CANCELED"}}"#,
        ),
        (
            // It has `aborted`, too, which its SDKs do not know.
            "replicate",
            r#"{"id":"up-1","status":"starting"}"#,
            r#"{"id":"up-1","status":"canceled"}"#,
        ),
    ] {
        let document = JsonDocument::parse(response.into(), &JsonLimits::default()).unwrap();
        let edits = family(name)
            .with_state(&document, TaskState::Cancelled)
            .unwrap();
        assert_eq!(
            *edits.apply(document.body()).to_bytes(),
            *expected.as_bytes()
        );
        let expired = family(name).with_state(&document, TaskState::Expired);
        assert_eq!(
            expired.is_some(),
            name == "family-a",
            "others have no word for it"
        );
    }
}

#[test]
fn other_tasks_that_a_request_names_are_found() {
    let request = json!({"model": "m", "content": [
        {"type": "text", "text": "t"},
        {"type": "draft_task", "draft_task": {"id": "task_7"}},
        {"type": "draft_task", "draft_task": {"id": 7}},
    ]});
    let request = document(&request);
    let family = family("family-a");
    let named = family.tasks_named_in(&request);
    let ids: Vec<_> = named.iter().filter_map(|node| node.as_str()).collect();
    assert_eq!(ids, ["task_7"]);
    assert!(
        super::family("family-b")
            .tasks_named_in(&request)
            .is_empty()
    );
}

#[test]
fn requests_go_where_the_family_wants_them() {
    let table = [
        (
            "family-a",
            "POST /contents/generations/tasks",
            "GET /contents/generations/tasks/up-1",
        ),
        (
            "family-b",
            "POST /services/aigc/video-generation/video-synthesis",
            "GET /tasks/up-1",
        ),
    ];
    let line = |call: &RequestTemplate| format!("{} {}", call.method, call.path("up-1"));
    for (name, create, query) in table {
        let family = family(name);
        assert_eq!(
            [line(&family.create.call), line(&family.query.call)],
            [create, query]
        );
        assert_eq!(family.cancel.unwrap().statuses, [TaskState::Queued]);
    }
    let call = family("family-b").create.call;
    let headers: Vec<_> = call.headers().collect();
    assert_eq!(headers[0].0, "x-dashscope-async");
    assert_eq!(headers[0].1, "enable");
    assert_eq!(
        line(&family("family-a").cancel.unwrap().call),
        "DELETE /contents/generations/tasks/up-1"
    );
    assert_eq!(
        line(&family("family-b").cancel.unwrap().call),
        "POST /tasks/up-1/cancel"
    );
}

#[test]
fn a_create_goes_where_its_caller_sent_it_else_by_what_it_has() {
    const ORDINARY: &str = "/services/aigc/video-generation/video-synthesis";
    const FRAMES: &str = "/services/aigc/image2video/video-synthesis";
    let family = family("family-b");
    for (requested, has, path) in [
        ("/v1/family-b/video/generations", "/input/prompt", ORDINARY),
        ("/v1/family-b/video/generations", "/input/img_url", ORDINARY),
        (
            "/v1/family-b/video/generations",
            "/input/first_frame_url",
            FRAMES,
        ),
        (
            "/v1/family-b/video/generations",
            "/input/last_frame_url",
            FRAMES,
        ),
        (
            "/api/v1/services/aigc/image2video/video-synthesis",
            "/input/prompt",
            FRAMES,
        ),
        (
            "/api/v1/services/aigc/video-generation/video-synthesis",
            "/input/first_frame_url",
            ORDINARY,
        ),
        ("", "/input/first_frame_url", FRAMES),
        ("", "/input/prompt", ORDINARY),
    ] {
        let has_value = |pointer: &str| pointer == has;
        let found = family.create.path(requested, "model", has_value, None);
        assert_eq!(found.as_deref(), Some(path), "{requested} with {has}");
    }
}
