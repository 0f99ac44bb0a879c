//! Tests of services written for LiteLLM's generic guardrail API: they block and change requests, responses and streams.

use crate::harness::error_shape::{assert_error_body, assert_error_event};
use crate::harness::http_response::{http_response, json_response};
use crate::harness::service::{
    FORBIDDEN, STREAM_HEAD, add_service, call_on_requests, gateway_with_checks, payloads,
};
use crate::harness::{Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// A guardrail as LiteLLM documents it: blocks [`FORBIDDEN`], masks `secret`, loses a text of `lost`.
fn guardrail(request: &str) -> Vec<u8> {
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let texts = body["texts"].as_array().unwrap();
    let texts: Vec<&str> = texts.iter().map(|text| text.as_str().unwrap()).collect();
    let has = |word: &str| texts.iter().any(|text| text.contains(word));
    let response = if has(FORBIDDEN) {
        json!({"action": "BLOCKED", "blocked_reason": "not\nhere"})
    } else if has("lost") {
        json!({"action": "GUARDRAIL_INTERVENED", "texts": texts[1..]})
    } else if has("secret") {
        let masked: Vec<String> = texts
            .iter()
            .map(|text| text.replace("secret", "[masked]"))
            .collect();
        json!({"action": "GUARDRAIL_INTERVENED", "texts": masked, "images": body["images"], "tools": body["tools"]})
    } else {
        json!({"action": "NONE", "texts": texts, "structured_messages": body["structured_messages"]})
    };
    // Without a content type: LiteLLM does not ask for one.
    http_response(200, "", response.to_string())
}

async fn service() -> ScriptedProvider {
    ScriptedProvider::start(vec![ScriptedResponse::Answer(guardrail)]).await
}

async fn checking_requests(
    provider: &ScriptedProvider,
    service: &ScriptedProvider,
    settings: &Value,
) -> Gateway {
    let mut config = config::standard(&provider.url());
    add_service(&mut config, service, json!({"timeout": "5s"}));
    for protocol in PROTOCOLS {
        call_on_requests(&mut config, protocol.name(), settings.clone());
    }
    Gateway::start(&config).await
}

/// A request with a system prompt and a message of two texts.
fn request_with(protocol: Protocol, text: &str) -> Value {
    match protocol {
        Protocol::Chat => json!({"model": "demo-large", "messages": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": [{"type": "text", "text": text}, {"type": "text", "text": "end"}]},
        ]}),
        Protocol::Messages => {
            json!({"model": "demo-large", "max_tokens": 9, "system": "be kind", "messages": [
                {"role": "user", "content": [{"type": "text", "text": text}, {"type": "text", "text": "end"}]},
            ]})
        }
        _ => json!({"model": "demo-large", "instructions": "be kind", "input": [
            {"role": "user", "content": [{"type": "input_text", "text": text}, {"type": "input_text", "text": "end"}]},
        ]}),
    }
}

/// A response of the protocol with this text and a call of a tool.
fn response_with(protocol: Protocol, text: &str) -> Value {
    let arguments = "{\"q\": \"of\"}";
    match protocol {
        Protocol::Chat => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "model": "m",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": text,
                "tool_calls": [{"id": "t", "type": "function", "function": {"name": "find", "arguments": arguments}}]}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        }),
        Protocol::Messages => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": text}, {"type": "tool_use", "id": "t", "name": "find", "input": {"q": "of"}}],
            "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2},
        }),
        _ => json!({
            "id": "resp_1", "object": "response", "status": "completed", "model": "m",
            "output": [
                {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
                {"type": "function_call", "id": "fc_1", "call_id": "t", "name": "find", "arguments": arguments},
            ],
            "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        }),
    }
}

#[tokio::test]
async fn a_guardrail_blocks_and_masks_requests() {
    let service = service().await;
    let fields = ["/system", "/messages", "/instructions", "/input"];
    let settings = json!({"format": "litellm", "allow": {"edit_body": fields},
        "send": {"parameters": {"threshold": 0.5}}});
    let provider = ScriptedProvider::answering("").await;
    let gateway = checking_requests(&provider, &service, &settings).await;
    for protocol in PROTOCOLS {
        let sent = async |text: &str| {
            let body = request_with(protocol, text).to_string();
            let response = json_response(200, response_with(protocol, "done"));
            provider.next(vec![ScriptedResponse::Send(response)]);
            let before = provider.requests().len();
            let response = gateway.ask(&Request::to(protocol, body)).await;
            provider.forget_turns();
            (response, provider.requests().get(before).cloned())
        };
        let (allowed, record) = sent("a good word").await;
        assert_eq!(allowed.status, 200, "{}", allowed.text());
        assert!(record.unwrap().contains("a good word"));
        let payload = payloads(&service).pop().unwrap();
        let mut texts = payload["texts"].as_array().unwrap().clone();
        texts.retain(|text| *text != "be kind");
        assert_eq!(texts, ["a good word", "end"], "{payload}");
        assert_eq!(payload["input_type"], "request");
        assert_eq!(payload["model"], "demo-large");
        assert_eq!(
            payload["additional_provider_specific_params"]["threshold"],
            0.5
        );
        assert_eq!(payload["request_headers"]["authorization"], "[present]");
        assert_eq!(
            payload["structured_messages"][0]["role"], "system",
            "{payload}"
        );

        let (masked, record) = sent("a secret word").await;
        assert_eq!(masked.status, 200, "{}", masked.text());
        let record = record.unwrap();
        assert!(
            record.contains("a [masked] word") && !record.contains("secret"),
            "{record}"
        );

        let (blocked, record) = sent("a forbidden word").await;
        assert_eq!(assert_error_body(protocol, &blocked, 400), "not here");
        assert!(record.is_none(), "{record:?}");
        assert_eq!(gateway.log_of(&blocked).await["callout_outcome"], "denied");

        let (lost, record) = sent("a lost word").await;
        assert_error_body(protocol, &lost, 503);
        assert!(record.is_none(), "{record:?}");
        let line = gateway.log_of(&lost).await;
        assert_eq!(line["callout_outcome"], "invalid_response");
        let detail = line["error_detail"].as_str().unwrap();
        assert!(detail.contains("2 `texts`, 3 were sent"), "{detail}");
    }
}

#[tokio::test]
async fn a_guardrail_changes_only_texts_that_it_may_change() {
    let service = service().await;
    let settings = json!({"format": "litellm", "allow": {"edit_body": ["/messages/0"]}});
    let response = json_response(200, response_with(Protocol::Chat, "done"));
    let provider = ScriptedProvider::answering(response).await;
    let gateway = checking_requests(&provider, &service, &settings).await;
    for (first, second, status) in [("secret", "b", 200), ("a", "secret", 503)] {
        let body = json!({"model": "demo-large", "messages": [
            {"role": "user", "content": first}, {"role": "user", "content": second}]});
        let request = Request::to(Protocol::Chat, body.to_string());
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, status, "{}", response.text());
    }
}

#[tokio::test]
async fn a_guardrail_blocks_and_masks_responses() {
    let service = service().await;
    let provider = ScriptedProvider::answering("").await;
    let settings = json!({"format": "litellm", "hold": {}, "allow": {"edit_body": ["/choices", "/content", "/output"]}});
    let limits = json!({"timeout": "5s"});
    let gateway = gateway_with_checks(&provider, &service, limits, &settings).await;
    for protocol in PROTOCOLS {
        let received = async |body: Value| {
            let body = body.to_string();
            provider.next(vec![ScriptedResponse::Send(json_response(200, &body))]);
            (gateway.ask(&Request::ask(protocol)).await, body)
        };
        let (allowed, body) = received(response_with(protocol, "a good word")).await;
        assert_eq!((allowed.status, allowed.text()), (200, body));
        let payload = payloads(&service).pop().unwrap();
        assert_eq!(payload["input_type"], "response");
        let texts = payload["texts"].as_array().unwrap();
        assert!(texts.contains(&json!("a good word")), "{payload}");
        let call = &payload["tool_calls"][0];
        assert_eq!(
            (&call["id"], &call["function"]["name"]),
            (&json!("t"), &json!("find"))
        );

        let (masked, body) = received(response_with(protocol, "a secret word")).await;
        assert_eq!(
            (masked.status, masked.text()),
            (200, body.replace("secret", "[masked]"))
        );
        let arguments = response_with(protocol, "x")
            .to_string()
            .replace("of", "secret");
        let arguments: Value = serde_json::from_str(&arguments).unwrap();
        let (masked, body) = received(arguments).await;
        assert_eq!(
            (masked.status, masked.text()),
            (200, body.replace("secret", "[masked]"))
        );

        let (blocked, _) = received(response_with(protocol, "a forbidden word")).await;
        assert_eq!(assert_error_body(protocol, &blocked, 400), "not here");
        let (lost, _) = received(response_with(protocol, "a lost word")).await;
        assert_error_body(protocol, &lost, 503);
    }
}

#[tokio::test]
async fn a_guardrail_ends_streams_and_cannot_change_them() {
    let service = service().await;
    let provider = ScriptedProvider::answering("").await;
    let settings =
        json!({"format": "litellm", "hold": {"events": 1}, "allow": {"edit_body": ["/choices"]}});
    let limits = json!({"timeout": "5s"});
    let gateway = gateway_with_checks(&provider, &service, limits, &settings).await;
    let delta = |text: &str| {
        let data = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
        format!("data: {data}\n\n")
    };
    for (second, is_error) in [(" fine", false), (" forbidden", true), (" secret", true)] {
        let events = [
            delta("a word"),
            delta(second),
            "data: [DONE]\n\n".to_owned(),
        ];
        let script = [STREAM_HEAD, &events.concat()];
        let mut script: Vec<_> = script
            .iter()
            .map(|text| ScriptedResponse::Send((*text).into()))
            .collect();
        script.push(ScriptedResponse::Close);
        provider.next(script);
        let stream = gateway.ask(&Request::ask_stream(Protocol::Chat)).await;
        let text = stream.text();
        assert!(text.starts_with(&delta("a word")), "{text}");
        assert_eq!(text.contains(second), !is_error, "{text}");
        if is_error {
            assert_error_event(Protocol::Chat, &stream);
            assert!(!text.contains("[DONE]"), "{text}");
        }
        let payload = payloads(&service).pop().unwrap();
        assert_eq!(
            payload["texts"],
            json!([format!("a word{second}")]),
            "{payload}"
        );
    }
}
