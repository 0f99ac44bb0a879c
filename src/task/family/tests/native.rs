//! Answers in a family's own shape: the caller's ids and models, and nothing else changed.

use super::*;

fn native(name: &str, answer: &str, queried: bool) -> String {
    let family = family(name);
    let document = Document::parse(answer.to_owned().into(), &Limits::default()).unwrap();
    let task = task(name);
    let status = queried.then(|| family.status(&document, &task, now_ms()).unwrap());
    let seal = |upstream: &str| format!("task_of_{upstream}");
    let edits = family.native(&document, "task_1", &task, status.as_ref(), &seal);
    let body = edits.apply(document.body()).to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[test]
fn ids_and_models_are_replaced_and_every_other_byte_is_the_providers() {
    let table = [
        (
            "family-a",
            false,
            r#"{ "id":"up-1" }"#,
            r#"{ "id":"task_1" }"#,
        ),
        (
            "family-a",
            true,
            r#"{"id":"up-1", "model":"seedance-1", "status":"running", "draft_task_id":"up-0", "x": 1.0}"#,
            r#"{"id":"task_1", "model":"demo-video", "status":"running", "draft_task_id":"task_of_up-0", "x": 1.0}"#,
        ),
        (
            "family-a",
            true,
            r#"{"id":"up-1","status":"canceled","draft_task_id":null}"#,
            r#"{"id":"task_1","status":"canceled","draft_task_id":null}"#,
        ),
        (
            "family-b",
            false,
            r#"{"request_id":"r","output":{"task_id":"up-1","task_status":"PENDING"}}"#,
            r#"{"request_id":"r","output":{"task_id":"task_1","task_status":"PENDING"}}"#,
        ),
        (
            "family-b",
            true,
            r#"{"request_id":"r","output":{"task_status":"SUSPENDED","task_id":"up-1"}}"#,
            r#"{"request_id":"r","output":{"task_status":"SUSPENDED","task_id":"task_1"}}"#,
        ),
    ];
    for (name, queried, answer, expected) in table {
        assert_eq!(native(name, answer, queried), expected);
    }
}

#[test]
fn a_status_that_is_not_the_tasks_is_told_in_the_familys_own_word() {
    let table = [
        (
            "family-b",
            r#"{"output":{"task_id":"up-1","task_status":"UNKNOWN"}}"#,
            r#"{"output":{"task_id":"task_1","task_status":"RUNNING"}}"#,
        ),
        (
            "family-b",
            r#"{"output":{"task_id":"up-1","task_status":"SUCCEEDED"}}"#,
            r#"{"output":{"task_id":"task_1","task_status":"FAILED","code":"invalid_upstream_response","message":"the provider reported success without a video"}}"#,
        ),
        (
            "family-a",
            r#"{"id":"up-1","status":"succeeded","error":null}"#,
            r#"{"id":"task_1","status":"failed","error":{"code":"invalid_upstream_response","message":"the provider reported success without a video"}}"#,
        ),
        (
            "family-a",
            r#"{"id":"up-1","status":"succeeded","content":{"video_url":""}}"#,
            r#"{"id":"task_1","status":"failed","content":{"video_url":""},"error":{"code":"invalid_upstream_response","message":"the provider reported success without a video"}}"#,
        ),
        (
            "family-a",
            r#"{"id":"up-1","status":"dreaming"}"#,
            r#"{"id":"task_1","status":"running"}"#,
        ),
    ];
    for (name, answer, expected) in table {
        assert_eq!(native(name, answer, true), expected);
    }
}

#[test]
fn an_answer_is_changed_to_say_another_state_in_the_familys_own_word() {
    for (name, answer, expected) in [
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
    ] {
        let document = Document::parse(answer.into(), &Limits::default()).unwrap();
        let edits = family(name).said_as(&document, State::Cancelled).unwrap();
        assert_eq!(
            *edits.apply(document.body()).to_bytes(),
            *expected.as_bytes()
        );
        let expired = family(name).said_as(&document, State::Expired);
        assert_eq!(
            expired.is_some(),
            name == "family-a",
            "B has no word for it"
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
    let line = |call: &Call| format!("{} {}", call.method, call.path("up-1"));
    for (name, create, query) in table {
        let family = family(name);
        assert_eq!(
            [line(&family.create.call), line(&family.query.call)],
            [create, query]
        );
        assert_eq!(family.cancel.unwrap().only, [State::Queued]);
    }
    let headers = family("family-b").create.call.headers;
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
    for (asked, has, path) in [
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
        let found = family.create.path(asked, |pointer| pointer == has);
        assert_eq!(found, path, "{asked} with {has}");
    }
}
