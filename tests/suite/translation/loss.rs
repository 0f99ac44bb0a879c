//! What cannot be carried is refused, or dropped and named.

use super::{config_for, last_request, translating};
use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

fn answer() -> Value {
    json!({"id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}})
}

/// A request of the messages protocol with one member more.
fn with(name: &str, value: Value) -> Request {
    let mut body = json!({"model": "demo-large", "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hello"}]});
    body[name] = value;
    Request::to(Protocol::Messages, body.to_string())
}

#[tokio::test]
async fn a_request_that_would_lose_its_meaning_reaches_no_provider() {
    let provider = ScriptedProvider::answering(json_response(200, answer())).await;
    let gateway = translating("messages", "chat", &provider.url()).await;
    let search = json!([{"type": "web_search_20250305", "name": "web_search"}]);
    let file = json!([{"role": "user", "content": [
        {"type": "document", "source": {"type": "url", "url": "https://a.example/b.pdf"}}]}]);
    for (name, value, path) in [
        ("tools", search, "tools[0]"),
        ("messages", file, "messages[0].content[0]"),
    ] {
        let response = gateway.ask(&with(name, value)).await;
        assert_error_body(Protocol::Messages, &response, 400);
        assert!(response.text().contains(path), "{}", response.text());
    }
    assert_eq!(provider.requests().len(), 0);
}

#[tokio::test]
async fn a_route_may_drop_what_cannot_be_carried() {
    let provider = ScriptedProvider::answering(json_response(200, answer())).await;
    let mut config = config_for("messages", "chat", &provider.url());
    config::route(&mut config, "messages")["on_loss"] = json!("drop");
    let gateway = Gateway::start(&config).await;
    let search = json!([{"type": "web_search_20250305", "name": "web_search"}]);
    let response = gateway.ask(&with("tools", search)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let translation = response.headers.get("x-headgate-translation").unwrap();
    assert!(translation.contains("tools"), "{translation}");
    let (_, body) = last_request(&provider);
    assert_eq!(body["tools"], Value::Null);
}
