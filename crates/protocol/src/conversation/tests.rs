//! Tests of the messages of requests and responses.

use super::{
    ConversationShape, ConversationText, RequestMessages, StreamMessageCollector, request_messages,
    response_text,
};
use crate::Protocol;
use crate::json::{JsonDocument, JsonLimits};
use serde_json::{Value, json};

const ROOM: usize = 10_000;

fn shape(protocol: Protocol) -> &'static ConversationShape {
    protocol.descriptor().conversation.as_ref().unwrap()
}

fn document(body: &Value) -> JsonDocument {
    JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).expect("JSON")
}

fn read(text: &ConversationText) -> Value {
    serde_json::from_str(&text.json).expect("JSON")
}

fn request(protocol: Protocol, body: &Value, bytes_max: usize) -> RequestMessages {
    request_messages(shape(protocol), &document(body), bytes_max)
}

fn text(role: &str, content: &str) -> Value {
    json!({"role": role, "parts": [{"type": "text", "content": content}]})
}

#[test]
fn each_protocol_has_its_request_messages() {
    let cases = [
        (
            Protocol::Chat,
            json!({"messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": [{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": "data:hidden"}}]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"a\":1}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
            ]}),
            None,
            json!([
                text("system", "be brief"),
                {"role": "user", "parts": [{"type": "text", "content": "what is it?"}, {"type": "image_url"}]},
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": "{\"a\":1}"}]},
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "a cat"}]},
            ]),
        ),
        (
            Protocol::Messages,
            json!({"system": [{"type": "text", "text": "be brief"}], "messages": [
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"a":1}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a cat"}]}]},
            ]}),
            Some(json!([{"type": "text", "content": "be brief"}])),
            json!([
                text("user", "hello"),
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "t1", "name": "look", "arguments": "{\"a\":1}"}]},
                {"role": "user", "parts": [{"type": "tool_call_response", "id": "t1", "response": "a cat"}]},
            ]),
        ),
        (
            Protocol::Responses,
            json!({"instructions": "be brief", "input": "hello"}),
            Some(json!([{"type": "text", "content": "be brief"}])),
            json!([text("user", "hello")]),
        ),
        (
            Protocol::Responses,
            json!({"input": [
                {"role": "user", "content": [{"type": "input_text", "text": "hello"}]},
                {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "a cat"},
            ]}),
            None,
            json!([
                text("user", "hello"),
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}]},
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "a cat"}]},
            ]),
        ),
    ];
    for (protocol, body, system, messages) in cases {
        let found = request(protocol, &body, ROOM);
        assert_eq!(found.system.as_ref().map(read), system, "{body}");
        assert_eq!(read(&found.messages), messages, "{body}");
        assert!(!found.messages.is_truncated, "{body}");
    }
}

#[test]
fn each_protocol_has_its_response_messages() {
    let message = |parts: Value, reason: &str| json!([{"role": "assistant", "parts": parts, "finish_reason": reason}]);
    let hello = json!([{"type": "text", "content": "hello"}]);
    for (protocol, body, expected) in [
        (
            Protocol::Chat,
            json!({"choices": [{"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}]}),
            message(hello.clone(), "stop"),
        ),
        (
            Protocol::Messages,
            json!({"role": "assistant", "content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn"}),
            message(hello.clone(), "end_turn"),
        ),
        (
            Protocol::Responses,
            json!({"status": "completed", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}]}),
            message(hello, "completed"),
        ),
    ] {
        let found = response_text(shape(protocol), &document(&body), ROOM);
        assert_eq!(read(&found), expected, "{body}");
    }
}

#[test]
fn the_pieces_of_a_stream_become_the_same_messages() {
    let call = json!({"type": "tool_call", "id": "c1", "name": "look", "arguments": "{\"a\":1}"});
    let expected = json!([{"type": "text", "content": "hello"}, call]);
    let streams: [(Protocol, &str, Vec<Value>); 3] = [
        (
            Protocol::Chat,
            "tool_calls",
            vec![
                json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "hel"}}]}),
                json!({"choices": [{"index": 0, "delta": {"content": "lo"}}]}),
                json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{\"a\""}}]}}]}),
                json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}}]}),
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
            ],
        ),
        (
            Protocol::Messages,
            "tool_use",
            vec![
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hel"}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}}),
                json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "c1", "name": "look", "input": {}}}),
                json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"a\":1}"}}),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            ],
        ),
        (
            Protocol::Responses,
            "completed",
            vec![
                json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "hel"}),
                json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "lo"}),
                json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "call_id": "c1", "name": "look"}}),
                json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{\"a\":1}"}),
                json!({"type": "response.completed", "response": {"status": "completed"}}),
            ],
        ),
    ];
    for (protocol, reason, events) in streams {
        let mut messages = StreamMessageCollector::new(shape(protocol), ROOM);
        for event in &events {
            messages.push(event.to_string().as_bytes());
        }
        messages.push(b"[DONE]");
        let expected = json!([{"role": "assistant", "parts": expected, "finish_reason": reason}]);
        assert_eq!(read(&messages.text()), expected, "{protocol:?}");
    }
}

#[test]
fn what_exceeds_the_limit_is_left_out_and_the_rest_is_marked() {
    let long = "\u{1}é\"x".repeat(100_000);
    let body = json!({"messages": [{"role": "user", "content": long}, {"role": "user", "content": "never"}]});
    let many: Vec<Value> = (0..5_000)
        .map(|_| json!({"role": "", "content": ""}))
        .collect();
    let many = json!({"messages": many});
    for body in [body, many] {
        let found = request(Protocol::Chat, &body, 1_000).messages;
        assert!(found.is_truncated);
        assert!(
            (300..1_200).contains(&found.json.len()),
            "{}",
            found.json.len()
        );
        assert!(!found.json.contains("never"));
        read(&found);
    }
    let mut stream = StreamMessageCollector::new(shape(Protocol::Chat), 1_000);
    for index in 0..5_000 {
        let event = json!({"choices": [{"index": index % 7, "delta": {"content": "abc \u{1}"}}]});
        stream.push(event.to_string().as_bytes());
    }
    let found = stream.text();
    assert!(
        found.is_truncated && found.json.len() < 1_200,
        "{}",
        found.json.len()
    );
    read(&found);
}

#[test]
fn a_secret_is_masked_also_where_the_text_is_cut() {
    let secret = "sk-live-1234567890abcdef1234567890";
    for before in 0..120 {
        let content = format!("{}{secret} and more", " ".repeat(before));
        let body = json!({"messages": [{"role": "user", "content": content}]});
        let found = request(Protocol::Chat, &body, 200).messages;
        assert!(!found.json.contains("sk-"), "{}", found.json);
        let mut stream = StreamMessageCollector::new(shape(Protocol::Chat), 200);
        for piece in [&content[..before + 5], &content[before + 5..]] {
            let event = json!({"choices": [{"index": 0, "delta": {"content": piece}}]});
            stream.push(event.to_string().as_bytes());
        }
        assert!(
            !stream.text().json.contains("sk-"),
            "{}",
            stream.text().json
        );
    }
}
