//! Tests of what definitions can say, each with a family that says it.

use super::*;
use crate::generic::GenericVideoRequest;

const BASE: &str = r#"
create: {method: POST, path: /tasks}
query: {method: GET, path: "/tasks/{+id}"}
request: {model: /model, prompt: /prompt}
task_id: /id
status: {at: /status, map: {done: succeeded, failed: failed}}
response: {video_url: /url}
errors: {code: /error/code, message: /error/message}
"#;

/// The family of [`BASE`], with other sections.
pub(super) fn with(sections: &str) -> Result<VideoFamily, Vec<InvalidFamily>> {
    let own = config(sections);
    VideoFamily::new("made", &own.or(&config(BASE)))
}

fn mapped(family: &VideoFamily, create: &Value, model: &str) -> Result<(String, Value), String> {
    let mut create = create.clone();
    create["model"] = json!("demo");
    let create = document(&create);
    let create = GenericVideoRequest::read(&create).unwrap();
    let mapped = family.request(&create, model, UnsupportedFieldPolicy::Refuse);
    let mapped = mapped.map_err(|refused| format!("{}: {}", refused.param, refused.message))?;
    Ok((mapped.path, serde_json::from_slice(&mapped.body).unwrap()))
}

fn media(role: &str, url: &str) -> Value {
    json!({"type": role, "url": url})
}

#[test]
fn fields_have_defaults_ranges_and_differences_by_model() {
    let family = with(
        r#"
request:
  model: /model
  duration: {to: /duration, value: {cel: 'string(json("/duration")) + "s"'}, min: 2, max: 10, default: 5}
  ratio: {to: /ratio, required: true, allowed: ["16:9", "9:16"]}
  models:
    "big*": {duration: {to: /seconds, allowed: [4, 6, 8]}, ratio: {refuse: has one ratio}}
    big-2: {ratio: {to: /ratio, default: "1:1"}}
"#,
    )
    .unwrap();
    let table = [
        (
            "small",
            json!({"ratio": "16:9"}),
            Ok(json!({"model": "small", "ratio": "16:9", "duration": "5s"})),
        ),
        (
            "small",
            json!({"ratio": "16:9", "duration": 7}),
            Ok(json!({"model": "small", "ratio": "16:9", "duration": "7s"})),
        ),
        (
            "small",
            json!({"ratio": "16:9", "duration": 99}),
            Err("duration: `duration` of model `demo` must be from 2 to 10; the nearest is 10"),
        ),
        (
            "small",
            json!({}),
            Err("ratio: missing required field `ratio`: model `demo` needs it"),
        ),
        (
            "big-1",
            json!({"duration": 7}),
            Err("duration: `duration` of model `demo` must be one of 4, 6, 8; the nearest is 6"),
        ),
        (
            "big-1",
            json!({"duration": 8}),
            Ok(json!({"model": "big-1", "seconds": 8})),
        ),
        (
            "big-1",
            json!({"ratio": "16:9"}),
            Err("ratio: `ratio`: model `demo` has one ratio"),
        ),
        (
            "big-2",
            json!({}),
            Ok(json!({"model": "big-2", "ratio": "1:1"})),
        ),
    ];
    for (model, create, expected) in table {
        let body = mapped(&family, &create, model).map(|(_, body)| body);
        assert_eq!(body, expected.map_err(str::to_owned), "{model} {create}");
    }
}

#[test]
fn the_cost_of_a_create_is_that_of_its_defaults() {
    let family = with(
        r#"
request:
  model: /model
  duration: {to: /duration, default: 5}
  resolution: {to: /quality, map: {720p: hd, 1080p: fhd}, default: 720p}
  models: {"big*": {duration: {to: /duration, default: 8}}}
"#,
    )
    .unwrap();
    for (model, create, duration_ms, resolution) in [
        ("small", json!({}), 5_000, "720p"),
        ("big-1", json!({"duration": null}), 8_000, "720p"),
        (
            "big-1",
            json!({"duration": 3, "resolution": "1080P"}),
            3_000,
            "1080p",
        ),
    ] {
        let video = family.requested_video(&document(&create), model, true);
        assert_eq!(video.duration_ms, Some(duration_ms), "{create}");
        assert_eq!(video.resolution.as_deref(), Some(resolution), "{create}");
    }
}

#[test]
fn a_path_depends_on_what_the_create_has() {
    let family = with(
        r#"
create:
  method: POST
  path: {cel: 'json("/medias").exists(m, m.role == "last_frame") ? "/frames" : has(json("/medias/0")) ? "/image/{+model}" : "/text"'}
request:
  model: /model
  base: {mode: {cel: 'has(json("/medias/0")) ? "i2v" : null'}}
  medias: {first_frame: /images/0, last_frame: /images/1}
"#,
    )
    .unwrap();
    let (first, last) = (
        media("first_frame", "https://a"),
        media("last_frame", "https://b"),
    );
    let table = [
        (json!([]), Ok(("/text", json!({"model": "a/b"})))),
        (
            json!([first]),
            Ok((
                "/image/a/b",
                json!({"mode": "i2v", "model": "a/b", "images": ["https://a"]}),
            )),
        ),
        (
            json!([last, first]),
            Ok((
                "/frames",
                json!({"mode": "i2v", "model": "a/b", "images": ["https://a", "https://b"]}),
            )),
        ),
        (
            json!([last]),
            Err(
                "medias[0]: `medias[0]`: model `demo` accepts one entry of this kind, and only after the one before it",
            ),
        ),
    ];
    for (medias, expected) in table {
        let mapped = mapped(&family, &json!({"medias": medias}), "a/b");
        let expected = expected.map(|(path, body)| (path.to_owned(), body));
        assert_eq!(mapped, expected.map_err(str::to_owned), "{medias}");
    }
}

#[test]
fn data_uris_are_taken_apart() {
    let family = with(
        r#"
request:
  model: /model
  medias:
    first_frame: {to: /instances/0/image, value: {bytes: "{base64}", mimeType: "{media_type}"}, required: true}
"#,
    )
    .unwrap();
    let create = |url: &str| json!({"medias": [media("first_frame", url)]});
    let sent = mapped(&family, &create("data:image/png;base64,QUJD"), "m");
    let image = json!({"bytes": "QUJD", "mimeType": "image/png"});
    assert_eq!(
        sent.unwrap().1,
        json!({"model": "m", "instances": [{"image": image}]})
    );
    for (create, reason) in [
        (
            create("https://a.example/b.png"),
            "takes no URLs; send a data URI in base64",
        ),
        (json!({}), "needs a medium with the role `first_frame`"),
    ] {
        let refused = mapped(&family, &create, "m").unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
}

#[test]
fn an_id_is_a_text_of_the_create_or_a_path_below_the_base_url() {
    let composed = with(r#"task_id: "{create_path}/{/data/task_id}""#).unwrap();
    let plain = with("task_id: [/video_id, /name, /response_url]").unwrap();
    for (family, response, id) in [
        (
            &composed,
            json!({"data": {"task_id": "867"}}),
            Some("/create/it/867"),
        ),
        (&composed, json!({"data": {"task_id": "../x"}}), None),
        (
            &plain,
            json!({"video_id": 3_141_592_653_u64}),
            Some("3141592653"),
        ),
        (
            &plain,
            json!({"name": "models/veo/operations/1"}),
            Some("models/veo/operations/1"),
        ),
        (&plain, json!({"name": "models/../../operations/1"}), None),
        (
            &plain,
            json!({"response_url": "https://provider.example/v1/fal/requests/1?x=1"}),
            Some("/fal/requests/1"),
        ),
        (
            &plain,
            json!({"response_url": "https://provider.example.evil/v1/fal/requests/1"}),
            None,
        ),
        (
            &plain,
            json!({"response_url": "https://provider.example/v1@evil/requests/1"}),
            None,
        ),
        (
            &plain,
            json!({"response_url": "http://169.254.169.254/v1/x"}),
            None,
        ),
        (&plain, json!({"name": "x".repeat(65_536)}), None),
    ] {
        let created = created_id(family, &document(&response));
        assert_eq!(created.ok().as_deref(), id, "{response}");
    }
    assert_eq!(
        plain.query.call.path("/fal/requests/1"),
        "/tasks/fal/requests/1"
    );
}

#[test]
fn a_status_is_computed_and_a_success_without_a_video_has_the_reason() {
    let family = with(
        r#"
task_id: /name
status:
  at: {cel: 'response_json("/done") != true ? "running" : has(response_json("/error")) ? "failed" : "done"'}
  map: {running: running, done: succeeded, failed: failed}
response: {video_url: "/steps/[type=output]/video/uri", progress: /progress}
errors:
  code: [/error/code, {cel: 'response_json("/filtered") > 0 ? "content_filtered" : null'}]
  message: [/error/message, /reasons/0]
"#,
    )
    .unwrap();
    let steps = json!([{"type": "output", "video": {"uri": "https://v"}}, {"type": "end"}]);
    for (response, state, detail) in [
        (json!({"name": "up-1"}), TaskState::Running, None),
        (json!({"progress": 0.25}), TaskState::Running, Some("25")),
        (
            json!({"done": true, "steps": steps}),
            TaskState::Succeeded,
            Some("https://v"),
        ),
        (
            json!({"done": true, "error": {"code": 13, "message": "broken"}}),
            TaskState::Failed,
            Some("13 broken"),
        ),
        (
            json!({"done": true, "filtered": 1, "reasons": ["a face"]}),
            TaskState::Failed,
            Some("content_filtered a face"),
        ),
        (
            json!({"done": true}),
            TaskState::Failed,
            Some("invalid_upstream_response the provider reported success without a video"),
        ),
    ] {
        let status = family
            .status(&document(&response), &task("made"), now_ms())
            .unwrap();
        assert_eq!(status.state, state, "{response}");
        let error = status
            .error
            .map(|error| format!("{} {}", error.code, error.message));
        let progress = status.progress.filter(|percent| *percent < 100);
        let found = status
            .video_url
            .or(error)
            .or(progress.map(|percent| percent.to_string()));
        assert_eq!(found.as_deref(), detail, "{response}");
    }
}

#[test]
fn an_error_under_success_stands_for_the_listed_status() {
    let family = with(
        r#"
errors:
  code: {cel: 'response_json("/base/code") == 0 ? null : response_json("/base/code")'}
  message: /base/text
  statuses: {"1002": 429, "20*": 400, "2049": 401}
"#,
    )
    .unwrap();
    for (code, status) in [
        (1002, Some(429)),
        (2013, Some(400)),
        (2049, Some(401)),
        (0, None),
        (7, None),
    ] {
        let response = document(&json!({"base": {"code": code, "text": "t"}}));
        let found = family
            .status_under_success(&response)
            .map(|status| status.as_u16());
        assert_eq!(found, status, "{code}");
        assert!(!family.has_task_id(&response));
    }
}
