//! Tests that invalid definitions are refused, each error with its pointer.

use super::*;

/// The pointer and reason of each error in family B after `change` was applied to it.
fn faults(change: impl FnOnce(&mut Value)) -> Vec<(String, String)> {
    let mut value: Value = serde_saphyr::from_str(shipped("family-b").unwrap()).unwrap();
    change(&mut value);
    let config = serde_json::from_value(value).unwrap();
    let faults = VideoFamily::new("x", &config).err().unwrap_or_default();
    let place = |fault: &InvalidFamily| (fault.pointer.clone(), fault.reason.clone());
    faults.iter().map(place).collect()
}

#[test]
fn each_mistake_is_found_at_its_place() {
    let table = [
        (
            "/create/method",
            json!("post"),
            "/create/method",
            "not an HTTP method",
        ),
        (
            "/create/method",
            json!("A B"),
            "/create/method",
            "not an HTTP method",
        ),
        ("/create/path", json!("tasks"), "/create/path", "not a path"),
        (
            "/create/path",
            json!("/tasks#x"),
            "/create/path",
            "not a path",
        ),
        (
            "/create/path",
            json!("/tasks/{id}"),
            "/create/path",
            "does not exist yet",
        ),
        (
            "/create/headers",
            json!({"a b": "c"}),
            "/create/headers",
            "`a b`",
        ),
        (
            "/create/headers",
            json!({"a": "c\nd"}),
            "/create/headers/a",
            "valid header value",
        ),
        (
            "/create/other_paths",
            json!({"tasks": ["/input/a"]}),
            "/create/other_paths/tasks",
            "not a path",
        ),
        (
            "/create/other_paths",
            json!({"/frames": ["a"]}),
            "/create/other_paths/~1frames",
            "begin with `/`",
        ),
        (
            "/query/path",
            json!("/tasks"),
            "/query/path",
            "contain `{id}`",
        ),
        (
            "/query/path",
            json!("/tasks/{task}"),
            "/query/path",
            "unknown placeholder",
        ),
        (
            "/cancel/path",
            json!("/tasks"),
            "/cancel/path",
            "contain `{id}`",
        ),
        (
            "/request/base",
            json!({"a": "{}"}),
            "/request/base",
            "no field value",
        ),
        (
            "/request/base",
            json!({"input": {"prompt": 1}}),
            "/request/prompt",
            "another field or `base`",
        ),
        (
            "/request/prompt",
            json!("input"),
            "/request/prompt",
            "not a place in a request",
        ),
        (
            "/request/prompt",
            json!("/model"),
            "/request/prompt",
            "another field",
        ),
        (
            "/request/prompt",
            json!({"to": "/p", "refuse": "no"}),
            "/request/prompt",
            "exactly one of `to`",
        ),
        (
            "/request/prompt",
            json!({}),
            "/request/prompt",
            "exactly one of `to`",
        ),
        (
            "/request/prompt",
            json!({"to": "/p", "value": {"a": 1}}),
            "/request/prompt/value",
            "must contain `{}`",
        ),
        (
            "/request/ratio",
            json!({"to": "/p", "allowed": ["1:1"], "map": {"1:1": 1}}),
            "/request/ratio/allowed",
            "mutually exclusive",
        ),
        (
            "/request/medias/last_frame",
            json!("/model"),
            "/request/medias/last_frame",
            "another",
        ),
        (
            "/task_id",
            json!("{/a}b"),
            "/task_id",
            "one or more JSON pointers",
        ),
        (
            "/task_id",
            json!([]),
            "/task_id",
            "one or more JSON pointers",
        ),
        ("/task_id", json!("id"), "/task_id", "begin with `/`"),
        (
            "/status/at",
            json!("/a - /b"),
            "/status/at",
            "one or more JSON pointers",
        ),
        (
            "/status/map",
            json!({"DONE": "failed"}),
            "/status/map",
            "no status is mapped to `succeeded`",
        ),
        (
            "/response/video_url",
            json!([]),
            "/response/video_url",
            "missing place",
        ),
        (
            "/response/ratio",
            json!("{/a"),
            "/response/ratio",
            "unclosed `{`",
        ),
        (
            "/response/usage/duration",
            json!("/a / b"),
            "/response/usage/duration",
            "begin with `/`",
        ),
        (
            "/response/times",
            json!({"unit": "seconds", "offset": "+08:00"}),
            "/response/times/offset",
            "requires `unit: text`",
        ),
        (
            "/response/times",
            json!({"unit": "text", "offset": "+25:00"}),
            "/response/times/offset",
            "offset from UTC",
        ),
        (
            "/errors/code",
            json!("code"),
            "/errors/code",
            "begin with `/`",
        ),
        (
            "/native",
            json!({"model": "{/a}"}),
            "/native/model",
            "one or more JSON pointers",
        ),
    ];
    for (at, value, place, reason) in table {
        let found = faults(|family| {
            let (within, key) = at.rsplit_once('/').unwrap();
            family.pointer_mut(within).unwrap()[key] = value.clone();
        });
        let is_it =
            |(pointer, words): &(String, String)| pointer == place && words.contains(reason);
        assert!(
            found.len() == 1 && is_it(&found[0]),
            "{at} = {value}: {found:?}"
        );
    }
}

#[test]
fn a_section_that_is_missing_is_named() {
    for section in [
        "create", "query", "request", "task_id", "status", "response",
    ] {
        let found = faults(|family| {
            family.as_object_mut().unwrap().remove(section);
        });
        let reason = format!("missing required key `{section}`");
        assert_eq!(found, [(String::new(), reason)]);
    }
    for section in ["cancel", "errors", "native"] {
        let found = faults(|family| {
            family.as_object_mut().unwrap().remove(section);
        });
        assert_eq!(found, [], "{section}");
    }
    let found = faults(|family| {
        family["request"].as_object_mut().unwrap().remove("model");
    });
    assert_eq!(
        found,
        [(
            "/request".to_string(),
            "missing required key `model`".to_string()
        )]
    );
}

#[test]
fn several_mistakes_come_at_once() {
    let found = faults(|family| {
        family["create"]["path"] = json!("x");
        family["query"]["path"] = json!("y");
        family["response"]["ratio"] = json!("z");
    });
    let places: Vec<&str> = found.iter().map(|(place, _)| &**place).collect();
    assert_eq!(places, ["/create/path", "/query/path", "/response/ratio"]);
}
