//! Callers of the messages protocol on a channel of chat.

use super::{events_of, last_request, stream_response, translating};
use crate::harness::http_response::json_response;
use crate::harness::{Request, ScriptedProvider};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

fn conversation(more: Value) -> Value {
    let mut body = json!({
        "model": "demo-large",
        "max_tokens": 64,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": "What is the weather in Oslo?"}],
        "tools": [{"name": "weather", "description": "The weather of a city.",
            "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}],
    });
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    body
}

fn ask(body: &Value) -> Request {
    Request::to(Protocol::Messages, body.to_string())
}

fn completion(message: &Value, finish: &str) -> Value {
    json!({"id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": "sim-large-2026-08",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35,
            "prompt_tokens_details": {"cached_tokens": 10}}})
}

fn chunk(delta: &Value, finish: &Value) -> Value {
    json!({"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 1, "model": "sim-large-2026-08",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

#[tokio::test]
async fn a_whole_message_comes_from_a_chat_completion() {
    let answer = completion(&json!({"role": "assistant", "content": "Sunny."}), "stop");
    let provider = ScriptedProvider::answering(json_response(200, answer)).await;
    let gateway = translating("messages", "chat", &provider.url()).await;
    let response = gateway.ask(&ask(&conversation(json!({})))).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let message = response.json();
    assert_eq!(message["type"], "message");
    assert_eq!(message["role"], "assistant");
    assert_eq!(message["model"], "demo-large");
    assert!(message["id"].as_str().unwrap().starts_with("msg_"));
    assert_eq!(
        message["content"],
        json!([{"type": "text", "text": "Sunny."}])
    );
    assert_eq!(message["stop_reason"], "end_turn");
    let usage = &message["usage"];
    assert_eq!(usage["input_tokens"], 20);
    assert_eq!(usage["cache_read_input_tokens"], 10);
    assert_eq!(usage["output_tokens"], 5);
    let translation = response.headers.get("x-headgate-translation");
    assert!(translation.unwrap().starts_with("messages->chat"));

    let (head, body) = last_request(&provider);
    assert!(head.starts_with("post /v1/chat/completions http"), "{head}");
    assert!(!head.contains("anthropic-version"), "{head}");
    assert_eq!(body["model"], "sim-large-2026-08");
    assert_eq!(body["messages"][0]["role"], "system");
    assert_eq!(body["messages"][1]["role"], "user");
    assert_eq!(body["tools"][0]["function"]["name"], "weather");

    let log = gateway.log_of(&response).await;
    assert_eq!(log["input_tokens"], 30, "{log}");
    assert_eq!(log["output_tokens"], 5, "{log}");
}

#[tokio::test]
async fn a_streamed_tool_call_comes_from_chunks() {
    let call = |more: Value| chunk(&json!({"tool_calls": [more]}), &Value::Null);
    let usage = json!({"id": "chatcmpl-7", "object": "chat.completion.chunk", "choices": [],
        "usage": {"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39}});
    let events = [
        chunk(&json!({"role": "assistant", "content": ""}), &Value::Null),
        chunk(&json!({"content": "I look."}), &Value::Null),
        call(json!({"index": 0, "id": "call_1", "type": "function",
            "function": {"name": "weather", "arguments": ""}})),
        call(json!({"index": 0, "function": {"arguments": "{\"city\":"}})),
        call(json!({"index": 0, "function": {"arguments": "\"Oslo\"}"}})),
        chunk(&json!({}), &json!("tool_calls")),
        usage,
    ];
    let stream = stream_response(&events, "data: [DONE]\n\n");
    let provider = ScriptedProvider::answering(stream).await;
    let gateway = translating("messages", "chat", &provider.url()).await;
    let response = gateway
        .ask(&ask(&conversation(json!({"stream": true}))))
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    let events = events_of(&response.text());
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    assert_eq!(events[0].1["message"]["model"], "demo-large");
    assert_eq!(events[4].1["content_block"]["type"], "tool_use");
    assert_eq!(events[4].1["content_block"]["name"], "weather");
    assert_eq!(events[5].1["delta"]["partial_json"], "{\"city\":");
    assert_eq!(events[8].1["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[8].1["usage"]["output_tokens"], 9);
    assert_eq!(events[8].1["usage"]["input_tokens"], 30);
    let (_, body) = last_request(&provider);
    assert_eq!(body["stream"], true);
    assert_eq!(body["stream_options"]["include_usage"], true);
    let log = gateway.log_of(&response).await;
    assert_eq!(log["output_tokens"], 9, "{log}");
}

#[tokio::test]
async fn results_of_tools_follow_their_calls() {
    let answer = completion(&json!({"role": "assistant", "content": "Sunny."}), "stop");
    let provider = ScriptedProvider::answering(json_response(200, answer)).await;
    let gateway = translating("messages", "chat", &provider.url()).await;
    let turns = json!([
        {"role": "user", "content": "Oslo and Rome?"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}},
            {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "Rome"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "rain"}]},
            {"type": "text", "text": "Compare."}]},
    ]);
    let response = gateway
        .ask(&ask(&conversation(json!({"messages": turns}))))
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    let (_, body) = last_request(&provider);
    let roles: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["system", "user", "assistant", "tool", "tool", "user"]
    );
    let calls = &body["messages"][2]["tool_calls"];
    assert_eq!(calls[0]["id"], "toolu_1");
    assert_eq!(
        calls[1]["function"]["arguments"],
        "{\"city\": \"Rome\"}".replace(": ", ":")
    );
    assert_eq!(body["messages"][3]["tool_call_id"], "toolu_1");
}
