//! Thoughts of a provider come back to it from chat callers that give back calls, and nothing else.

use super::{config_for, events_of, last_request, stream_response};
use crate::harness::http_response::json_response;
use crate::harness::request::BOB;
use crate::harness::{Gateway, Request, ScriptedProvider};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Only the thoughts have this word.
const WORD: &str = "heliotrope";

fn thinking_message() -> Value {
    json!({"id": "msg_7", "type": "message", "role": "assistant", "model": "m", "content": [
        {"type": "thinking", "thinking": WORD, "signature": "c2ln"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"place": "lake"}}],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 9}})
}

fn thinking_events() -> [Value; 10] {
    [
        json!({"type": "message_start", "message": {"id": "msg_7", "type": "message", "role": "assistant",
            "model": "m", "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": WORD}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

fn config(provider: &str) -> Value {
    let mut config = config_for("chat", "messages", provider);
    config["task_keys"] = json!(["a".repeat(32)]);
    config
}

fn request(messages: &Value, is_stream: bool) -> Request {
    let tool =
        json!({"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}});
    let body =
        json!({"model": "demo-large", "messages": messages, "tools": [tool], "stream": is_stream});
    Request::to(Protocol::Chat, body.to_string())
}

/// The second turn of a client that knows calls, and no thoughts.
fn second_turn(call_id: &Value) -> Value {
    let call = json!({"id": call_id, "type": "function",
        "function": {"name": "look", "arguments": "{\"place\":\"lake\"}"}});
    json!([
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": "water"},
    ])
}

/// The id of the call in the first turn.
async fn first_call_id(gateway: &Gateway, is_stream: bool) -> Value {
    let question = json!([{"role": "user", "content": "Look."}]);
    let first = gateway.ask(&request(&question, is_stream)).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let id = match is_stream {
        false => first.json()["choices"][0]["message"]["tool_calls"][0]["id"].clone(),
        true => {
            let events = events_of(&first.text());
            let ids = events.iter().map(|(_, event)| {
                let calls = &event["choices"][0]["delta"]["tool_calls"];
                calls[0]["id"].clone()
            });
            ids.into_iter()
                .find(|id| !id.is_null())
                .expect("an id of a call")
        }
    };
    let text = id.as_str().unwrap();
    assert!(text.starts_with("toolu_1_hg1_"), "{text}");
    assert!(text.len() <= 64, "{text}");
    id
}

#[tokio::test]
async fn thoughts_come_back_by_the_id_of_a_call() {
    for is_stream in [false, true] {
        let response = match is_stream {
            false => json_response(200, thinking_message()),
            true => stream_response(&thinking_events(), ""),
        };
        let provider = ScriptedProvider::answering(response).await;
        let gateway = Gateway::start(&config(&provider.url())).await;
        let id = first_call_id(&gateway, is_stream).await;
        let second = gateway.ask(&request(&second_turn(&id), is_stream)).await;
        assert_eq!(second.status, 200, "{}", second.text());
        let (_, body) = last_request(&provider);
        let content = &body["messages"][1]["content"];
        assert_eq!(content[0], thinking_message()["content"][0], "{body}");
        assert_eq!(content[2]["id"], "toolu_1");
        assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "toolu_1");
        let translation = second.headers.get("x-headgate-translation").unwrap();
        assert!(!translation.contains("dropped"), "{translation}");
    }
}

#[tokio::test]
async fn thoughts_are_kept_for_their_caller_and_model_only() {
    let provider = ScriptedProvider::answering(json_response(200, thinking_message())).await;
    let gateway = Gateway::start(&config(&provider.url())).await;
    let id = first_call_id(&gateway, false).await;
    let forged = format!("{}{}", &id.as_str().unwrap()[..12], "0".repeat(16));
    let ask = |model: &str, id: &Value| {
        let body = json!({"model": model, "messages": second_turn(id)});
        Request::to(Protocol::Chat, body.to_string())
    };
    for (what, turn) in [
        ("forged", ask("demo-large", &json!(forged))),
        ("of another model", ask("demo-small", &id)),
        ("of another caller", ask("demo-small", &id).key(BOB)),
    ] {
        let answer = gateway.ask(&turn).await;
        assert_eq!(answer.status, 200, "{what}: {}", answer.text());
        let (_, body) = last_request(&provider);
        assert!(!body.to_string().contains(WORD), "{what}: {body}");
        assert_eq!(body["messages"][1]["content"][1]["id"], "toolu_1", "{what}");
        let translation = answer.headers.get("x-headgate-translation").unwrap();
        assert!(
            translation.contains("dropped=messages[].tool_calls[]"),
            "{what}: {translation}"
        );
        assert_eq!(gateway.log_of(&answer).await["translation"], *translation);
    }
}
