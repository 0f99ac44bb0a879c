//! Tests of calls for responses that are not streams.

use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::json_response;
use crate::harness::service::{CONTINUE, gateway_with_checks, moderation, payloads, respond};
use crate::harness::{Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// A gateway whose text routes call `service` for responses of `provider`.
async fn gateway(
    provider: &ScriptedProvider,
    service: &ScriptedProvider,
    settings: &Value,
) -> Gateway {
    gateway_with_checks(provider, service, json!({"timeout": "5s"}), settings).await
}

/// A response of the protocol with this text.
fn body_with(protocol: Protocol, text: &str) -> String {
    let body = match protocol {
        Protocol::Chat => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        }),
        Protocol::Messages => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 2},
        }),
        _ => json!({
            "id": "resp_1", "object": "response", "status": "completed", "model": "m", "instructions": "forbidden",
            "output": [{"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": text}]}],
            "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        }),
    };
    body.to_string()
}

#[tokio::test]
async fn a_response_is_checked_before_any_of_it_is_sent() {
    let service = moderation().await;
    let provider = ScriptedProvider::answering("").await;
    let gateway = gateway(&provider, &service, &json!({"hold": {}})).await;
    for protocol in PROTOCOLS {
        let respond = |text: &str| {
            let body = body_with(protocol, text);
            provider.next(vec![ScriptedResponse::Send(json_response(200, &body))]);
            body
        };
        let body = respond("a good word");
        let allowed = gateway.ask(&Request::ask(protocol)).await;
        assert_eq!((allowed.status, allowed.text()), (200, body));
        let payload = payloads(&service).pop().unwrap();
        assert_eq!(payload["phase"], "response");
        assert_eq!(payload["request"]["model"], "demo-large");
        assert_eq!(
            payload["response"],
            json!({"status": 200, "text": "a good word", "fields": {}})
        );
        respond("a f\u{6f}rbidden word");
        let denied = gateway.ask(&Request::ask(protocol)).await;
        assert_eq!(assert_error_body(protocol, &denied, 403), "not here");
        let line = gateway.log_of(&denied).await;
        assert_eq!(line["error_code"], "denied", "{line}");
    }
}

#[tokio::test]
async fn a_service_sets_headers_and_values_of_a_response() {
    let service = ScriptedProvider::start(respond(
        r#"{"action":"continue","headers":{"x-checked":"yes"},"edits":{"set":{"/choices/0/message/content":"masked"}}}"#,
    ))
    .await;
    let body = body_with(Protocol::Chat, "secret");
    let provider = ScriptedProvider::answering(json_response(200, &body)).await;
    let settings = json!({
        "send": {"fields": ["/choices/0/message", "/usage"]}, "streams": "refuse",
        "allow": {"set_headers": ["x-checked"], "edit_body": ["/choices"]},
    });
    let gateway = gateway(&provider, &service, &settings).await;
    let edited = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(edited.status, 200, "{}", edited.text());
    assert_eq!(edited.headers.get("x-checked"), Some("yes"));
    assert_eq!(edited.text(), body.replace("secret", "masked"));
    let fields = &payloads(&service)[0]["response"]["fields"];
    assert_eq!(fields["/choices/0/message"]["content"], "secret");
    assert_eq!(fields["/usage"]["total_tokens"], 3);
    service.next(respond(
        r#"{"action":"continue","edits":{"set":{"/usage":{}}}}"#,
    ));
    let refused = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_error_body(Protocol::Chat, &refused, 503);
}

#[tokio::test]
async fn what_cannot_be_checked_follows_the_policy() {
    for (on_failure, status) in [("deny", 503), ("allow", 200)] {
        let service = ScriptedProvider::start(respond(CONTINUE)).await;
        let provider = ScriptedProvider::answering("").await;
        let settings =
            json!({"on_failure": on_failure, "hold": {}, "send": {"max_bytes": "100KiB"}});
        let gateway = gateway(&provider, &service, &settings).await;
        let duplicates = r#"{"choices":[{"index":0,"message":{"content":"a","content":"b"}}]}"#;
        let large = body_with(Protocol::Chat, &"x".repeat(200 << 10));
        for body in [duplicates, &large] {
            provider.next(vec![ScriptedResponse::Send(json_response(200, body))]);
            let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
            assert_eq!(answer.status, status, "{}", answer.text());
            assert_eq!(gateway.log_of(&answer).await["callout_outcome"], "not_sent");
        }
        assert!(service.requests().is_empty());
    }
}

#[tokio::test]
async fn errors_of_a_provider_are_not_asked_about() {
    let service = moderation().await;
    let error = r#"{"error":{"message":"forbidden","type":"invalid_request_error","param":null,"code":null}}"#;
    let provider = ScriptedProvider::answering(json_response(400, error)).await;
    let gateway = gateway(&provider, &service, &json!({"hold": {}})).await;
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!((answer.status, answer.text()), (400, error.to_owned()));
    assert!(service.requests().is_empty());
}

#[tokio::test]
async fn a_route_that_refuses_streams_serves_none() {
    let service = moderation().await;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 14\r\n\r\ndata: [DONE]\n\n";
    let provider = ScriptedProvider::answering(head).await;
    let gateway = gateway(&provider, &service, &json!({"streams": "refuse"})).await;
    for protocol in PROTOCOLS {
        let refused = gateway.ask(&Request::ask_stream(protocol)).await;
        let message = assert_error_body(protocol, &refused, 400);
        assert!(message.contains("`stream`"), "{message}");
        assert!(provider.requests().is_empty());
    }
    // A provider that streams although nobody payload for it.
    let refused = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_error_body(Protocol::Chat, &refused, 503);
}

#[tokio::test]
async fn a_body_that_only_clients_can_decode_is_not_sent() {
    let service = moderation().await;
    let escaped = body_with(Protocol::Chat, "FORBIDDEN").replace("FORBIDDEN", "\\u0066orbidden");
    for body in [
        format!("\u{feff}{escaped}"),
        format!("data: {escaped}\n\n"),
        format!("text before {escaped}"),
    ] {
        let provider = ScriptedProvider::answering("").await;
        let gateway = gateway(&provider, &service, &json!({"hold": {}})).await;
        let response = json_response(200, &body);
        provider.next(vec![ScriptedResponse::Send(response)]);
        let received = gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert!(received.status >= 500, "{body}: {}", received.text());
        assert!(!received.text().contains("orbidden"), "{}", received.text());
    }
}

#[tokio::test]
async fn every_member_of_a_response_and_decoded_arguments_of_tools_are_checked() {
    let service = moderation().await;
    let provider = ScriptedProvider::answering("").await;
    let gateway = gateway(&provider, &service, &json!({"streams": "refuse"})).await;
    for (protocol, body) in [
        (
            Protocol::Responses,
            r#"{"id":"r","object":"response","status":"completed","output":[],"note":"forbidden"}"#,
        ),
        (
            Protocol::Responses,
            r#"{"id":"r","object":"response","status":"completed","output":[{"type":"function_call","name":"f","arguments":"{\"id\":\"\\u0066orbidden\"}"}]}"#,
        ),
        (
            Protocol::Messages,
            r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"\u0066orbidden":1}}]}"#,
        ),
        (
            Protocol::Chat,
            r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"t","function":{"name":"f","arguments":"{\"a\":\"{\\\"status\\\":\\\"\\\\u0066orbidden\\\"}\"}"}}]}}]}"#,
        ),
    ] {
        provider.next(vec![ScriptedResponse::Send(json_response(200, body))]);
        let denied = gateway.ask(&Request::ask(protocol)).await;
        assert_eq!(
            assert_error_body(protocol, &denied, 403),
            "not here",
            "{body}"
        );
    }
}
