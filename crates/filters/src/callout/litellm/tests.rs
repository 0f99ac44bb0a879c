//! Tests of payloads and responses in LiteLLM's format.

use super::*;
use crate::callout::payload_selection::PayloadFormat;
use crate::callout::service_payload::TextPlace;
use bytes::Bytes;
use headgate_core::callout::Verdict;
use headgate_core::catalog::caller::Caller;
use headgate_protocol::fault::ServiceDenialStatus;
use headgate_protocol::json::JsonLimits;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reply::GuardrailReply;
use serde_json::{Value, json};
use std::sync::Arc;

fn request() -> RequestView {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("authorization", "Bearer sk-caller"),
        ("content-type", "application/json"),
        ("x-litellm-api-key", "other"),
        ("x-stainless-os", "Linux"),
        ("x-tenant", "blue"),
        ("cookie", "a=b"),
        ("user-agent", "agent sk-caller"),
    ] {
        let name = HeaderName::from_static(name);
        headers.append(name, HeaderValue::from_static(value));
    }
    let path = "/v1/x".to_owned();
    let id = "req_1".into();
    let mut request = RequestView::new(id, Method::POST, path, None, headers, Vec::new(), None);
    request.caller = Some(Arc::new(Caller::new("ann", &[])));
    request
}

fn selection(is_whole_request: bool) -> PayloadSelection {
    PayloadSelection {
        format: PayloadFormat::Litellm,
        fields: ["/system", "/messages", "/input"].map(str::to_owned).into(),
        is_whole_request,
        headers: vec![HeaderName::from_static("x-tenant")],
        bytes_max: 1000,
        parameters: Bytes::from_static(br#"{"threshold":0.5}"#),
    }
}

fn document(body: &Value) -> JsonDocument {
    JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).unwrap()
}

fn read(payload: &ServicePayload) -> Value {
    serde_json::from_slice(&payload.json).unwrap()
}

#[test]
fn a_request_has_the_members_that_services_of_litellm_expect() {
    let image = json!({"type": "image_url", "image_url": {"url": "https://e.example/a.png"}});
    let call = json!({"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {}}});
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "my key is sk-caller"}, image]},
        {"role": "assistant", "tool_calls": [call]},
    ]);
    let body = document(&json!({"model": "m", "messages": messages, "tools": [tool]}));
    let protocol = Some(Protocol::Chat);
    let payload = for_request(&selection(true), protocol, &request(), Some(&body)).unwrap();
    let mut shown = messages.clone();
    shown[0]["content"][0]["text"] = json!("my key is [secret]");
    let expected = json!({
        "input_type": "request", "litellm_call_id": "req_1", "litellm_trace_id": null, "litellm_version": null,
        "model": null, "texts": ["my key is [secret]", "{}", "f"], "images": ["https://e.example/a.png"],
        "tools": [tool], "tool_calls": [call], "structured_messages": shown,
        "request_data": {"user_api_key_alias": "ann"},
        "request_headers": {
            "authorization": "[present]", "content-type": "application/json", "x-litellm-api-key": "[present]",
            "x-stainless-os": "Linux", "x-tenant": "blue", "cookie": "[present]", "user-agent": "[present]",
        },
        "additional_provider_specific_params": {"threshold": 0.5},
    });
    assert_eq!(read(&payload), expected);
    let narrowed = for_request(&selection(false), protocol, &request(), Some(&body)).unwrap();
    let narrowed = read(&narrowed);
    assert_eq!(narrowed["texts"], expected["texts"]);
    for member in ["images", "tools", "tool_calls", "structured_messages"] {
        assert_eq!(narrowed[member], Value::Null, "{member}");
    }
}

#[test]
fn requests_of_other_protocols_are_shown_as_chat_completions() {
    for (protocol, body) in [
        (
            Protocol::Messages,
            json!({"model": "m", "max_tokens": 1, "system": "s", "messages": [{"role": "user", "content": [
                {"type": "text", "text": "u"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
            ]}], "tools": [{"name": "f", "input_schema": {"type": "object"}}]}),
        ),
        (
            Protocol::Responses,
            json!({"model": "m", "instructions": "s", "input": [{"role": "user", "content": [
                {"type": "input_text", "text": "u"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
            ]}], "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}]}),
        ),
    ] {
        let sent = selection(true);
        let payload = for_request(&sent, Some(protocol), &request(), Some(&document(&body)));
        let payload = read(&payload.unwrap());
        assert_eq!(payload["images"], json!(["data:image/png;base64,AA=="]));
        assert_eq!(payload["tools"][0]["function"]["name"], "f", "{payload}");
        let messages = &payload["structured_messages"];
        assert_eq!(messages[0]["content"], "s", "{payload}");
        assert_eq!(messages[1]["role"], "user", "{payload}");
        let texts = payload["texts"].as_array().unwrap();
        assert!(texts.contains(&json!("u")), "{payload}");
    }
}

#[test]
fn a_request_of_more_than_the_limit_is_not_sent() {
    let long = "x".repeat(1000);
    for body in [
        json!({"messages": [{"role": "user", "content": long}]}),
        json!({"tools": [{"name": long}]}),
    ] {
        let payload = for_request(&selection(true), None, &request(), Some(&document(&body)));
        assert!(payload.is_err(), "{body}");
    }
}

#[test]
fn a_response_has_its_calls_of_tools_as_chat_completions_write_them() {
    let call = |arguments: &str| json!([{"id": "t", "type": "function", "function": {"name": "f", "arguments": arguments}}]);
    for (protocol, body, arguments) in [
        (
            Protocol::Chat,
            json!({"choices": [{"message": {"tool_calls": call("{\"a\":1}")}}]}),
            "{\"a\":1}",
        ),
        (
            Protocol::Messages,
            json!({"content": [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]}),
            "{\"a\":1}",
        ),
        (
            Protocol::Responses,
            json!({"output": [{"type": "message"}, {"type": "function_call", "call_id": "t", "name": "f", "arguments": "{\"a\":1}"}]}),
            "{\"a\":1}",
        ),
        (
            Protocol::Responses,
            json!({"output": [{"type": "custom_tool_call", "call_id": "t", "name": "f", "input": "free"}]}),
            "free",
        ),
    ] {
        let body = document(&body);
        let excerpt = ResponseExcerpt {
            status: StatusCode::OK,
            texts: vec![PlacedText::fixed("x".into())],
            document: Some(&body),
            window: None,
        };
        let payload = for_response(&selection(true), Some(protocol), &request(), excerpt);
        let payload = read(&payload);
        assert_eq!(payload["input_type"], "response");
        assert_eq!(payload["texts"], json!(["x"]));
        assert_eq!(payload["tool_calls"], call(arguments));
    }
}

#[test]
fn a_response_of_a_service_blocks_or_continues() {
    let denied = |body: &Value| match GuardrailReply::verdict(body.to_string().into()) {
        Ok(Verdict::Deny(denial)) => {
            assert_eq!(denial.status, ServiceDenialStatus::BadRequest);
            denial.message.unwrap()
        }
        other => panic!("{body}: {other:?}"),
    };
    for (reason, message) in [
        (json!(null), "Content violates policy".to_owned()),
        (json!(" "), "Content violates policy".to_owned()),
        (json!("no\nsecrets"), "no secrets".to_owned()),
        (json!("é".repeat(1000)), "é".repeat(512)),
    ] {
        let body = json!({"action": "BLOCKED", "blocked_reason": reason, "texts": 7});
        assert_eq!(denied(&body), message);
    }
    for body in [
        json!({}),
        json!({"action": null, "texts": null, "other": 1, "stream_holdback_chars": [1]}),
        json!({"action": "NONE", "texts": []}),
        json!({"action": "ALLOW", "classification": "internal"}),
        json!({"action": "GUARDRAIL_INTERVENED", "texts": ["a"], "images": []}),
    ] {
        let verdict = GuardrailReply::verdict(body.to_string().into());
        assert!(matches!(verdict, Ok(Verdict::Continue(_))), "{body}");
    }
    for (body, reason) in [
        ("", "strict JSON"),
        ("[]", "must be an object"),
        (r#"{"action":"blocked"}"#, "`NONE`"),
        (r#"{"action":"BLOCK"}"#, "`NONE`"),
        (r#"{"action":1}"#, "`NONE`"),
        (r#"{"texts":"a"}"#, "`texts` must be an array"),
        (r#"{"texts":[null]}"#, "array of strings"),
        (r#"{"tools":{}}"#, "`tools` must be an array"),
        (r#"{"action":"NONE","action":"BLOCKED"}"#, "strict JSON"),
    ] {
        let refusal = GuardrailReply::verdict(body.into()).expect_err(body);
        assert!(refusal.contains(reason), "{body}: {refusal}");
    }
}

#[test]
fn texts_of_a_service_are_compared_with_those_that_were_sent() {
    let texts = ["a", "my key is sk-caller"].map(|text| PlacedText::fixed(text.into()));
    let view = ChatView {
        tools: vec![br#"{"n":1.0}"#.to_vec()],
        ..ChatView::default()
    };
    let sent = payload(&selection(true), &request(), "request", texts.into(), &view);
    let changed = |body: Value| match GuardrailReply::verdict(body.to_string().into()) {
        Ok(Verdict::Continue(reply)) => reply.changed_texts(&sent),
        other => panic!("{body}: {other:?}"),
    };
    for (body, expected) in [
        (json!({}), vec![]),
        (json!({"texts": ["a", "my key is [secret]"]}), vec![]),
        (
            json!({"action": "NONE", "texts": ["b", "my key is [secret]"], "tools": [{"n": 1.0}]}),
            vec![(0, "b".to_owned())],
        ),
    ] {
        assert_eq!(changed(body), Ok(expected));
    }
    for (body, reason) in [
        (json!({"texts": ["a"]}), "1 `texts`, 2 were sent"),
        (json!({"texts": ["a", "b", "c"]}), "3 `texts`, 2 were sent"),
        (json!({"tools": [{"n": 2.0}]}), "`tools`"),
        (json!({"images": ["x"]}), "`images`"),
        (
            json!({"structured_messages": [{"role": "user"}]}),
            "`structured_messages`",
        ),
    ] {
        let refusal = changed(body.clone()).expect_err(reason);
        assert!(refusal.contains(reason), "{body}: {refusal}");
    }
}

#[test]
fn arguments_of_tools_stay_json() {
    let body = Bytes::from_static(br#"{"a":"{}","b":{"c":1}}"#);
    let place = |span| TextPlace {
        span,
        is_arguments: true,
    };
    for (span, text, json) in [
        (5..9, r#"{"x":1}"#, Some(r#""{\"x\":1}""#)),
        (14..21, r#" {"x":1}"#, Some(r#"{"x":1}"#)),
        (5..9, "{", None),
        (14..21, "[]", None),
        (14..21, "", None),
    ] {
        let written = place(span).json(text, &body).ok();
        assert_eq!(written.as_deref(), json.map(str::as_bytes), "{text}");
    }
}
