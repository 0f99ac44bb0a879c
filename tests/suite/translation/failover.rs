//! Channels of the caller's own protocol, and those that need a translation.

use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

fn message() -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "own"}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 1}})
}

fn completion() -> Value {
    json!({"id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "translated"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}})
}

/// A gateway whose route of messages has a channel of its own protocol and one of chat, in the same tier.
async fn gateway(own: &ScriptedProvider, other: &ScriptedProvider) -> Gateway {
    let mut config = config::standard(&own.url());
    let credential = json!({"bearer": config::CREDENTIALS[0]});
    config["channels"] = json!({
        "chat": config::channel(&other.url(), &["chat"], credential),
        "own": config::channel(&own.url(), &["messages"], json!({"api_key": config::CREDENTIALS[1]})),
    });
    config::without_cool_downs(&mut config);
    config::route(&mut config, "messages")["translate"] = json!(["chat"]);
    Gateway::start(&config).await
}

fn text(body: &Value) -> &Value {
    &body["content"][0]["text"]
}

#[tokio::test]
async fn a_channel_of_the_callers_protocol_precedes_a_translation() {
    let own = ScriptedProvider::answering(json_response(200, message())).await;
    let other = ScriptedProvider::answering(json_response(200, completion())).await;
    let gateway = gateway(&own, &other).await;
    for _ in 0..8 {
        let response = gateway.ask(&Request::ask(Protocol::Messages)).await;
        assert_eq!(text(&response.json()), "own", "{}", response.text());
        assert_eq!(response.headers.get("x-headgate-translation"), None);
    }
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn a_translation_serves_after_the_callers_own_protocol_failed() {
    let failed =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}});
    let own = ScriptedProvider::answering(json_response(529, failed)).await;
    let other = ScriptedProvider::answering(json_response(200, completion())).await;
    let gateway = gateway(&own, &other).await;
    let response = gateway.ask(&Request::ask(Protocol::Messages)).await;
    assert_eq!(text(&response.json()), "translated", "{}", response.text());
    assert_eq!((own.requests().len(), other.requests().len()), (1, 1));

    // A request that cannot be translated gets what its own protocol's provider replied.
    let search = json!([{"type": "web_search_20250305", "name": "web_search"}]);
    let body = json!({"model": "demo-large", "max_tokens": 9, "tools": search,
        "messages": [{"role": "user", "content": "Hello"}]});
    let response = gateway
        .ask(&Request::to(Protocol::Messages, body.to_string()))
        .await;
    assert_eq!(response.status, 529, "{}", response.text());
    assert!(response.text().contains("Busy."), "{}", response.text());
    assert_eq!(other.requests().len(), 1);
}
