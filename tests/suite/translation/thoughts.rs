//! Thoughts of a provider come back to it from callers of another protocol.

use super::{config_for, last_request};
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Only the thoughts have this word.
const WORD: &str = "heliotrope";

fn thinking_call() -> Value {
    let call = json!({"id": "call_1", "type": "function",
        "function": {"name": "look", "arguments": "{}"}});
    json!({"id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant",
            "content": null, "reasoning_content": format!("The word is {WORD}."), "tool_calls": [call]}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}})
}

fn turn(messages: &Value) -> Request {
    let body = json!({"model": "demo-large", "max_tokens": 64, "messages": messages,
        "tools": [{"name": "look", "input_schema": {"type": "object"}}]});
    Request::to(Protocol::Messages, body.to_string())
}

fn config(provider: &str, key: &str) -> Value {
    let mut config = config_for("messages", "chat", provider);
    config["task_keys"] = json!([key.repeat(32)]);
    config
}

#[tokio::test]
async fn thoughts_of_the_last_turn_are_given_back_unchanged() {
    let provider = ScriptedProvider::answering(json_response(200, thinking_call())).await;
    let gateway = Gateway::start(&config(&provider.url(), "a")).await;
    let question = json!({"role": "user", "content": "Look."});
    let first = gateway.ask(&turn(&json!([question]))).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let content = first.json()["content"].clone();
    assert_eq!(content[0]["type"], "thinking");
    assert!(content[0]["thinking"].as_str().unwrap().contains(WORD));
    let result = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "a flower"}]});

    let turn_before = json!({"role": "assistant", "content": content});
    let second = gateway
        .ask(&turn(&json!([question, turn_before, result])))
        .await;
    assert_eq!(second.status, 200, "{}", second.text());
    let (_, body) = last_request(&provider);
    assert_eq!(
        body["messages"][1]["reasoning_content"],
        format!("The word is {WORD}.")
    );

    // Changed thoughts, a forged seal, and the seal of another key are left out, and named.
    let mut changed = content.clone();
    changed[0]["thinking"] = json!("The word is violet.");
    let mut forged = content.clone();
    forged[0]["signature"] = json!("hgt1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    let mut foreign = content.clone();
    foreign[0]["signature"] = json!("EqQBCgYIARgCKkA=");
    for content in [changed, forged, foreign] {
        let turn_before = json!({"role": "assistant", "content": content});
        let answer = gateway
            .ask(&turn(&json!([question, turn_before, result])))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let (_, body) = last_request(&provider);
        assert_eq!(body["messages"][1]["reasoning_content"], Value::Null);
        let translation = answer.headers.get("x-headgate-translation").unwrap();
        assert!(translation.contains("dropped="), "{translation}");
    }
    let other = Gateway::start(&config(&provider.url(), "b")).await;
    let turn_before = json!({"role": "assistant", "content": content});
    let answer = other
        .ask(&turn(&json!([question, turn_before, result])))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (_, body) = last_request(&provider);
    assert_eq!(body["messages"][1]["reasoning_content"], Value::Null);
}

#[tokio::test]
async fn a_channel_of_the_callers_protocol_gets_no_seals_of_turns_that_others_served() {
    let provider = ScriptedProvider::answering(json_response(200, thinking_call())).await;
    let mut config = config(&provider.url(), "a");
    config["channels"]["other"]["models"] = json!({"demo-large": "m"});
    let mut own = config["channels"]["other"].clone();
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "A flower."}], "stop_reason": "end_turn",
        "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 9}});
    let second = ScriptedProvider::answering(json_response(200, message)).await;
    own["base_url"] = json!(second.url());
    own["protocols"] = json!(["messages"]);
    own["models"] = json!({"demo-small": "m"});
    config["channels"]["own"] = own;
    let gateway = Gateway::start(&config).await;
    let question = json!({"role": "user", "content": "Look."});
    let first = gateway.ask(&turn(&json!([question]))).await;
    let content = first.json()["content"].clone();
    assert_eq!(content[0]["type"], "thinking");
    let result = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "a flower"}]});
    let messages = json!([question, {"role": "assistant", "content": content}, result]);
    let body = json!({"model": "demo-small", "max_tokens": 64, "messages": messages});
    let answer = gateway
        .ask(&Request::to(Protocol::Messages, body.to_string()))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (head, body) = last_request(&second);
    assert!(
        head.lines().next().unwrap().contains("/messages "),
        "{head}"
    );
    assert_eq!(body["messages"][1]["content"], json!([content[1]]));
    let expected = "messages->messages; dropped=messages[].content[]";
    assert_eq!(answer.headers.get("x-headgate-translation"), Some(expected));
    assert_eq!(gateway.log_of(&answer).await["translation"], expected);
}
