//! Tests of definitions that cannot work: each is refused at its place.

use super::language::with;

#[test]
fn a_definition_that_cannot_work_is_refused_at_its_place() {
    for (sections, pointer) in [
        ("query: {method: GET, path: /tasks}", "/query/path"),
        ("native: {create: \"/tasks/{id}\"}", "/native/create"),
        ("native: {create: tasks}", "/native/create"),
        (
            "native: {create: /tasks, query: [\"/tasks/{id}\", /tasks]}",
            "/native/query/1",
        ),
        ("native: {query: \"/tasks/{id}\"}", "/native/query"),
        (
            "native: {create: /tasks, result: \"/tasks/{id}/result\"}",
            "/native/result",
        ),
        (
            "native: {create: /tasks, replace: {/url: \"{query_url}\"}}",
            "/native/replace/~1url",
        ),
        (
            "native: {create: /tasks, replace: {url: \"{id}\"}}",
            "/native/replace/url",
        ),
        (
            "native: {create: /tasks, replace: {/url: \"{other}\"}}",
            "/native/replace/~1url",
        ),
        ("native: {create: /tasks, remove: url}", "/native/remove"),
        (
            "native: {create: /tasks, refuse: webhook}",
            "/native/refuse/0",
        ),
        (
            "native: {create: /tasks, key_scheme: \"Key \"}",
            "/native/key_scheme",
        ),
        (
            "query: {method: GET, path: \"/tasks/{model}/{id}\"}",
            "/query/path",
        ),
        (
            "query: {method: GET, path: \"/tasks/{/a}/{id}\"}",
            "/query/path",
        ),
        (
            "query: {method: GET, path: \"/tasks/{id}\", url: /url, hosts: [a.example, \"*.ai\"]}",
            "/query/hosts/1",
        ),
        (
            "query: {method: GET, path: \"/tasks/{id}\", hosts: [a.example]}",
            "/query/hosts",
        ),
        (
            "create: {method: POST, path: \"/tasks/{id}\"}",
            "/create/path",
        ),
        (
            "create: {method: POST, path: {cel: 'caller'}}",
            "/create/path/cel",
        ),
        (
            "create: {method: POST, path: {cel: '1 +'}}",
            "/create/path/cel",
        ),
        (
            "status: {at: {cel: 'json(\"/a\")'}, map: {a: succeeded}}",
            "/status/at",
        ),
        (
            "status: {at: \"{model}\", map: {a: succeeded}}",
            "/status/at",
        ),
        (
            "request: {model: /model, prompt: {to: /model}}",
            "/request/prompt",
        ),
        (
            "request: {model: /model, prompt: {to: /p, value: {cel: 'x'}}}",
            "/request/prompt/value",
        ),
        (
            "request: {model: /model, duration: {to: /d, min: 9, max: 2}}",
            "/request/duration/min",
        ),
        (
            "request: {model: /model, duration: {to: /d, min: 9, allowed: [9]}}",
            "/request/duration/allowed",
        ),
        (
            "request: {model: /model, models: {\"a*\": {model: /m}}}",
            "/request/models/a*/model",
        ),
        (
            "request: {model: /model, models: {\"a*\": {prompt: /model}}}",
            "/request/models/a*/prompt",
        ),
        (
            "request: {model: /model, prompt: {to: /p, query: p}}",
            "/request/prompt",
        ),
        ("errors: {statuses: {\"1\": 200}}", "/errors/statuses/1"),
        ("callback: {challenge: challenge}", "/callback/challenge"),
        (
            "result: {method: GET, path: \"/files/{model}\"}",
            "/result/path",
        ),
    ] {
        let refused = with(sections).map(|family| family.name).unwrap_err();
        let pointers: Vec<_> = refused.iter().map(|fault| fault.pointer.as_str()).collect();
        assert!(pointers.contains(&pointer), "{sections}: {refused:?}");
    }
}

#[test]
fn an_expression_over_a_create_gets_the_place_of_the_channels_model() {
    for expression in ["channel_model", r#"json("/model")"#] {
        let section = format!("create: {{method: POST, path: {{cel: '{expression} + \"/a\"'}}}}");
        let refused = with(&section).map(|family| family.name).unwrap_err();
        let [fault] = refused.as_slice() else {
            panic!("{refused:?}");
        };
        assert!(
            fault
                .reason
                .contains(r#"the channel's model is `json("/channel_model")`"#),
            "{}",
            fault.reason
        );
    }
}
