//! Models with a translation of their own.

use super::{config_for, last_request};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, config};
use crate::observability::status::run;
use headgate_protocol::Protocol;
use serde_json::{Value, json};

fn completion() -> Value {
    json!({"id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}})
}

fn message() -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 1}})
}

fn ask(protocol: Protocol, more: Value) -> Request {
    let mut body = json!({"model": "demo-large",
        "messages": [{"role": "user", "content": "Hello"}]});
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    Request::to(protocol, body.to_string())
}

/// A configuration whose only channel speaks `channel`, whose routes translate nothing, and whose model has `model`.
fn with_model(channel: &str, provider: &str, model: Value) -> Value {
    let mut config = config_for("messages", channel, provider);
    config::route(&mut config, "messages")
        .as_object_mut()
        .unwrap()
        .remove("translate");
    config["models"]["demo-large"] = model;
    config
}

#[tokio::test]
async fn a_model_is_translated_on_routes_that_translate_nothing() {
    let provider = ScriptedProvider::answering(json_response(200, completion())).await;
    let model = json!({"translate": ["chat"]});
    let gateway = Gateway::start(&with_model("chat", &provider.url(), model)).await;
    let response = gateway
        .ask(&ask(Protocol::Messages, json!({"max_tokens": 9})))
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    let translation = response.headers.get("x-headgate-translation");
    assert!(translation.unwrap().starts_with("messages->chat"));
    // Callers of the channel's own protocol get what they got before.
    let response = gateway.ask(&ask(Protocol::Chat, json!({}))).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.headers.get("x-headgate-translation"), None);
}

#[tokio::test]
async fn the_translation_of_a_model_replaces_that_of_the_route() {
    let provider = ScriptedProvider::answering(json_response(200, completion())).await;
    let search =
        json!({"max_tokens": 9, "tools": [{"type": "web_search_20250305", "name": "web_search"}]});
    for (route, model, status) in [
        ("refuse", json!({}), 400),
        ("refuse", json!({"on_loss": "drop"}), 200),
        ("drop", json!({"on_loss": "refuse"}), 400),
        ("drop", json!({"translate": []}), 404),
        ("drop", json!({"translate": ["responses"]}), 404),
    ] {
        let mut config = config_for("messages", "chat", &provider.url());
        config::route(&mut config, "messages")["on_loss"] = json!(route);
        config["models"]["demo-large"] = model.clone();
        let gateway = Gateway::start(&config).await;
        let response = gateway.ask(&ask(Protocol::Messages, search.clone())).await;
        assert_eq!(
            response.status,
            status,
            "{route} {model}: {}",
            response.text()
        );
    }
}

#[tokio::test]
async fn a_caller_without_a_limit_gets_that_of_the_model() {
    let provider = ScriptedProvider::answering(json_response(200, message())).await;
    for (model, sent, limit) in [
        (json!({}), json!({}), 8192),
        (json!({"max_output_tokens": 32000}), json!({}), 32000),
        (json!({"context_window": 4096}), json!({}), 4096),
        (json!({"context_window": 200_000}), json!({}), 8192),
        (
            json!({"max_output_tokens": 32000}),
            json!({"max_completion_tokens": 7}),
            7,
        ),
    ] {
        let mut model = model;
        model["translate"] = json!(["messages"]);
        let gateway = Gateway::start(&with_model("messages", &provider.url(), model.clone())).await;
        let response = gateway.ask(&ask(Protocol::Chat, sent.clone())).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let (_, body) = last_request(&provider);
        assert_eq!(body["max_tokens"], limit, "{model} {sent}");
        let translation = response.headers.get("x-headgate-translation").unwrap();
        let is_named = translation.contains("approximated=max_tokens");
        assert_eq!(is_named, sent == json!({}), "{translation}");
    }
}

#[test]
fn check_reports_a_translation_of_a_model_that_cannot_be() {
    let cases = [
        (
            json!({"translate": ["embeddings"]}),
            "error: there is no translation to `embeddings`",
        ),
        (
            json!({"translate": ["chat", "chat"]}),
            "error: `chat` stands here twice",
        ),
        (
            json!({"context_window": 100, "max_output_tokens": 101}),
            "error: must be at most `context_window`, which is 100; found 101",
        ),
    ];
    for (model, expected) in cases {
        let folder = folder_with_schemas();
        let config = with_model("chat", "http://127.0.0.1:9", model);
        let file = folder.write("routes.yaml", config.to_string());
        let (code, text, errors) = run(&["check", file.to_str().unwrap()], &[]);
        let printed = text + &errors;
        assert_eq!(code, 1, "{printed}");
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
}

#[test]
fn check_reports_a_translation_of_compactions() {
    let folder = folder_with_schemas();
    let mut config = config_for("messages", "chat", "http://127.0.0.1:9");
    let routes = config["routes"].as_array_mut().unwrap();
    routes.push(
        json!({"name": "compact", "match": "POST /v1/responses/compact", "protocol": "responses",
        "translate": ["chat"], "request": ["authenticate", "route_model"]}),
    );
    let file = folder.write("routes.yaml", config.to_string());
    let (code, text, errors) = run(&["check", file.to_str().unwrap()], &[]);
    let printed = text + &errors;
    assert_eq!(code, 1, "{printed}");
    assert!(
        printed.contains("error: compaction of a conversation cannot be translated"),
        "{printed}"
    );
}
