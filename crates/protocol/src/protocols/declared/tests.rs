//! Tests of declared protocols: what a declaration means, and what is refused.

use super::*;
use crate::error_body::CustomError;
use crate::fault::{Fault, FaultKind};
use crate::protocols::{DuplicateRequestCost, ProviderResponseStorage, TaskApiFormat};
use crate::stream::EventClass;
use crate::usage;
use serde_json::{Value, json};

fn config(value: Value) -> ProtocolConfig {
    serde_json::from_value(value).unwrap()
}

fn descriptor(name: &str, value: Value) -> &'static ProtocolDescriptor {
    config(value).build(name).unwrap().descriptor()
}

#[test]
fn an_empty_declaration_is_paid_and_has_the_errors_of_chat() {
    let empty = descriptor("empty", json!({}));
    assert_eq!(empty.cost, DuplicateRequestCost::PaidWork);
    assert!(!empty.has_streams() && !empty.has_usage());
    assert_eq!(empty.errors.schema_name, "Error");
}

#[test]
fn a_declaration_takes_from_a_built_in_protocol_all_but_its_cost() {
    let own = descriptor("like-messages", json!({"extends": "messages"}));
    let messages = Protocol::Messages.descriptor();
    assert_eq!(own.name, "like-messages");
    assert_eq!(own.cost, DuplicateRequestCost::PaidWork);
    assert_eq!(own.errors.overload_status, messages.errors.overload_status);
    assert!(own.has_streams() && own.has_usage());
    let free = descriptor(
        "like-messages",
        json!({"extends": "messages", "retry": "free"}),
    );
    let tokens = DuplicateRequestCost::Tokens(ProviderResponseStorage::Never);
    assert_eq!(free.cost, tokens);
    assert!(free.conversation.is_some() && own.conversation.is_none());
}

#[test]
fn usage_is_read_where_the_declaration_has_it() {
    let own = descriptor(
        "counted",
        json!({"usage": {"at": "/meta/billed_units", "input": "/input_tokens", "cached_input": "/details/cached", "total": "/all"}}),
    );
    let body = br#"{"usage":{"input_tokens":1},"meta":{"billed_units":{"input_tokens":7,"details":{"cached":2},"all":9}}}"#;
    let usage = usage::from_json(&own.usage, body).unwrap();
    assert_eq!(
        (
            usage.input_tokens,
            usage.cached_input_tokens,
            usage.total_tokens
        ),
        (Some(7), Some(2), Some(9))
    );
    assert_eq!(usage::from_json(&own.usage, br#"{"meta":{}}"#), None);
    let mut meter = usage::StreamUsageMeter::new(&own.usage);
    meter.event(None, br#"{"text":"\"billed_units\""}"#);
    meter.event(None, body);
    assert_eq!(meter.usage().and_then(|usage| usage.input_tokens), Some(7));
}

#[test]
fn an_error_has_the_shape_of_its_template() {
    let own = descriptor(
        "templated",
        json!({"errors": {
            "body": {"fault": {"text": "[{code}] {message}", "kind": "{type}", "field": "{param}", "id": "{request_id}", "version": 2}},
            "codes": {"invalid_api_key": "BadKey"},
            "types": "messages",
            "overload_status": 529,
        }}),
    );
    let fault = Fault::new(FaultKind::Unauthenticated, "no {code}");
    let body: Value = serde_json::from_slice(&own.errors.render(&fault, "req_1")).unwrap();
    assert_eq!(
        body,
        json!({"fault": {"text": "[BadKey] no {code}", "kind": "authentication_error", "field": null, "id": "req_1", "version": 2}})
    );
    let worded = CustomError {
        message: "closed",
        class: Some("mine"),
        code: None,
        param: Some("input"),
    };
    let body: Value =
        serde_json::from_slice(&own.errors.render_custom(400, &worded, "req_2")).unwrap();
    assert_eq!(body["fault"]["kind"], "mine");
    assert_eq!(body["fault"]["field"], "input");
    assert_eq!(
        own.errors.status(&Fault::new(FaultKind::Overloaded, "")),
        529
    );
    assert_eq!(own.errors.schema_name, "Error.templated");
    assert_eq!(
        own.errors.body_schema()["properties"]["fault"]["properties"]["version"],
        json!({"const": 2})
    );
    assert!(own.errors.is_rendered(br#"{"fault":{"text":"x"}}"#));
    assert!(!own.errors.is_rendered(br#"{"error":{"message":"x"}}"#));
}

#[test]
fn codes_may_be_numbers_and_a_status_is_one() {
    let own = descriptor(
        "numbered",
        json!({"errors": {
            "body": {"code": "{code}", "status": "{status}", "message": "{status} ({code}): {message}"},
            "codes": {"invalid_api_key": 1000, "model_not_found": "none", "*": 1200},
        }}),
    );
    for (kind, code, status) in [
        (FaultKind::Unauthenticated, json!(1000), 401),
        (FaultKind::UnknownModel, json!("none"), 404),
        (FaultKind::TooLarge, json!(1200), 413),
    ] {
        let rendered = own.errors.render(&Fault::new(kind, "no"), "req_1");
        let body: Value = serde_json::from_slice(&rendered).unwrap();
        let text = code.as_str().map_or(code.to_string(), str::to_owned);
        let message = format!("{status} ({text}): no");
        assert_eq!(
            body,
            json!({"code": code, "status": status, "message": message})
        );
    }
    let members = &own.errors.body_schema()["properties"];
    assert_eq!(
        (&members["code"]["type"], &members["status"]["type"]),
        (&json!(["string", "integer"]), &json!("integer"))
    );
}

#[test]
fn an_unchanged_declaration_is_the_same_protocol_and_an_edited_one_is_equal() {
    let build = |path: &str| config(json!({"path": path})).build("again").unwrap();
    let descriptors = ["/a", "/a", "/b"].map(|path| build(path).descriptor());
    assert!(std::ptr::eq(descriptors[0], descriptors[1]));
    assert!(!std::ptr::eq(descriptors[0], descriptors[2]));
    assert_eq!(descriptors[2].path, "/b");
    assert_eq!(build("/a"), build("/b"));
    assert_ne!(build("/a"), config(json!({})).build("other").unwrap());
}

#[test]
fn the_protocol_of_a_family_creates_tasks() {
    let native = config(json!({"path": "/v1/tasks"}))
        .build_for_family("studio")
        .unwrap();
    assert_eq!(native.descriptor().tasks, Some(TaskApiFormat::Native));
    assert!(native.creates_paid_work() && !native.is_built_in());
}

#[test]
fn a_mistake_is_named_with_its_place() {
    for (name, value, at, reason) in [
        ("chat", json!({}), "", "`chat` is a built-in protocol"),
        ("a/b", json!({}), "", "`a/b` is not a name"),
        ("9", json!({}), "", "`9` is not a name"),
        ("x", json!({"extends": "video"}), "/extends", "video tasks"),
        ("x", json!({"usage": {}}), "/usage", "counts nothing"),
        (
            "x",
            json!({"usage": {"input": "tokens"}}),
            "/usage/input",
            "must be a JSON pointer",
        ),
        (
            "x",
            json!({"usage": {"at": "/~2", "input": "/a"}}),
            "/usage/at",
            "no escape",
        ),
        (
            "x",
            json!({"usage": {"input": "/a/b/c"}}),
            "/usage/input",
            "too deep",
        ),
        (
            "x",
            json!({"errors": {"body": {}}}),
            "/errors/body",
            "`{message}`",
        ),
        (
            "x",
            json!({"errors": {"body": {"a": "{message}", "b/c": "{reason}"}}}),
            "/errors/body/b~1c",
            "`{reason}`",
        ),
        (
            "x",
            json!({"errors": {"body": {"a": "{message}"}, "codes": {"bad_key": "x"}}}),
            "/errors/codes/bad_key",
            "no error code",
        ),
        (
            "x",
            json!({"headers": {"api_key": "a b"}}),
            "/headers/api_key",
            "not a header name",
        ),
        (
            "x",
            json!({"headers": {"api_key": "x-who"}}),
            "/headers/api_key",
            "name of a credential",
        ),
        (
            "x",
            json!({"headers": {"version": {"name": "v", "value": "\n"}}}),
            "/headers/version/value",
            "header value",
        ),
    ] {
        let faults = config(value).build(name).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].pointer, at, "{faults:?}");
        assert!(faults[0].reason.contains(reason), "{faults:?}");
        assert!(faults[0].hint.is_some(), "{faults:?}");
    }
    for (value, at) in [
        (json!({"extends": "chat"}), "/extends"),
        (json!({"retry": "free"}), "/retry"),
        (json!({"medium": "text"}), "/medium"),
    ] {
        let faults = config(value).build_for_family("x").unwrap_err();
        assert_eq!(faults[0].pointer, at);
    }
}

#[test]
fn a_model_stands_where_the_declaration_has_it() {
    let plain = descriptor("plain", json!({}));
    assert_eq!(plain.model_member, ["model"]);
    assert!(plain.forms.is_none());
    let deep = descriptor("deep", json!({"model": "/input/a~1b"}));
    assert_eq!(deep.model_member, ["input", "a/b"]);
    let form = descriptor("form", json!({"body": "form", "model": "/engine"}));
    assert!(form.forms.is_some() && form.is_form_only);
    assert_eq!(form.model_member, ["engine"]);
    let both = descriptor("both", json!({"body": "form_or_json"}));
    assert!(both.forms.is_some() && !both.is_form_only);
    let json = descriptor("json", json!({"extends": "image_edit", "body": "json"}));
    assert!(json.forms.is_none());
    for wrong in [
        json!({"model": "engine"}),
        json!({"model": "/a/b", "body": "form"}),
    ] {
        let faults = config(wrong).build("wrong").unwrap_err();
        assert_eq!(faults[0].pointer, "/model");
    }
}

#[test]
fn a_path_may_name_the_model() {
    for (path, names_model) in [
        ("/v1/embeddings", false),
        ("/models/{model}:embed", true),
        ("/run/{+model}", true),
    ] {
        let own = descriptor("placed", json!({"path": path}));
        assert_eq!((own.path, own.names_model_in_path()), (path, names_model));
    }
    for (wrong, at) in [
        (json!({"path": "/{model}", "model": "/model"}), "/model"),
        (json!({"path": "/{id}"}), "/path"),
        (json!({"path": "/{model}/{+model}"}), "/path"),
        (json!({"path": "/{model"}), "/path"),
        (json!({"path": "{model}"}), "/path"),
        (json!({"path": "/a//{model}"}), "/path"),
        (json!({"path": "/./{model}"}), "/path"),
        (json!({"path": "/a b/{model}"}), "/path"),
        (json!({"path": "/{model}#a"}), "/path"),
        (json!({"path": "/%2e/{model}"}), "/path"),
    ] {
        let faults = config(wrong.clone()).build("wrong").unwrap_err();
        assert_eq!(faults.len(), 1, "{wrong}: {faults:?}");
        assert_eq!(faults[0].pointer, at, "{wrong}");
    }
    assert!(
        config(json!({"path": "/{id}"}))
            .build_for_family("x")
            .is_ok()
    );
}

#[test]
fn a_stream_ends_with_the_event_of_the_declared_type() {
    let own = descriptor("ended", json!({"streams": {"last_event": "text.done"}}));
    assert!(own.has_streams());
    for (name, data, class) in [
        (None, r#"{"type":"text.delta"}"#, EventClass::Content),
        (
            None,
            r#"{"type":"text.done"}"#,
            EventClass::Terminal { failed: false },
        ),
        (
            Some("text.done"),
            "{}",
            EventClass::Terminal { failed: false },
        ),
        (None, "[DONE]", EventClass::Terminal { failed: false }),
        (None, r#"{"text":"text.done"}"#, EventClass::Content),
        (None, r#"{"type":"error"}"#, EventClass::Error),
        (Some("error"), "{}", EventClass::Error),
        (None, r#"{"error":{"message":"x"}}"#, EventClass::Error),
        (None, "", EventClass::Ping),
    ] {
        let name: Option<&str> = name;
        let found = own
            .streams
            .event_class(name.map(str::as_bytes), data.as_bytes());
        assert_eq!(found, class, "{name:?} {data}");
    }
}
