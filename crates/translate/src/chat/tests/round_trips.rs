//! What is written in this protocol and read again is the same.

use super::ChatStreamClient;
use crate::chat::{ChatStreamReader, ChatStreamWriter, read_response, write_response};
use crate::responses::tests::{Mixing, Random, context, parse};
use crate::superset::{Response, StreamPiece};
use headgate_protocol::sse::SseEvent;
use serde_json::{Value, json};

fn written(pieces: &[StreamPiece<'_>]) -> Vec<SseEvent> {
    let mut writer = ChatStreamWriter::new(context());
    let mut events = Vec::new();
    for piece in pieces {
        writer.write(piece, &mut events);
    }
    events
}

/// The events after they were read and written again.
fn rewritten(events: &[SseEvent]) -> Vec<SseEvent> {
    let mut reader = ChatStreamReader::default();
    let mut writer = ChatStreamWriter::new(context());
    let mut rewritten = Vec::new();
    for event in events {
        let mut pieces = Vec::new();
        let document;
        if event.data() == b"[DONE]" {
            reader.end(&mut pieces);
        } else {
            document = parse(&serde_json::from_slice(event.data()).unwrap());
            reader.read(document.root(), &mut pieces).unwrap();
        }
        for piece in &pieces {
            writer.write(piece, &mut rewritten);
        }
    }
    rewritten
}

fn whole(response: &Response<'_>) -> Value {
    let body = write_response(response, &context()).unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// Details of thoughts are read whole, to go back as they came, and a response with calls waits for their results.
fn as_read(mut whole: Value) -> Value {
    let choice = &mut whole["choices"][0];
    let details = choice["message"].get_mut("reasoning_details");
    for detail in details.and_then(Value::as_array_mut).into_iter().flatten() {
        detail["data"] = detail.to_string().into();
    }
    if choice["message"]["tool_calls"].is_array() && choice["finish_reason"] == "stop" {
        choice["finish_reason"] = "tool_calls".into();
    }
    whole
}

#[test]
fn random_responses_are_the_same_whole_and_streamed_and_read_again() {
    let mut random = Random::new(11);
    for round in 0..300 {
        let response = random.response();
        let expected = whole(&response);
        for mixing in [Mixing::None, Mixing::Calls] {
            let events = written(&random.pieces(&response, mixing));
            let streamed = ChatStreamClient::from_events(&events, &context()).whole();
            assert_eq!(streamed, expected, "{round} {mixing:?}");
            let again = ChatStreamClient::from_events(&rewritten(&events), &context()).whole();
            assert_eq!(again, as_read(expected.clone()), "{round} {mixing:?}");
        }
        let document = parse(&expected);
        let again = whole(&read_response(document.root()).unwrap());
        assert_eq!(again, as_read(expected), "{round}");
    }
}

#[test]
fn a_whole_response_is_written_as_it_is_read() {
    let response = json!({"id": "chatcmpl-0a1b", "object": "chat.completion", "created": 1_700_000_000,
        "model": "m", "choices": [{"index": 0, "logprobs": null, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "a\n\"b\"", "refusal": null, "reasoning_content": "c",
            "tool_calls": [
                {"id": "c0", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1.50, "}},
                {"id": "c1", "type": "custom", "custom": {"name": "free", "input": "{\"input\": 1}"}}]}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
            "completion_tokens_details": {"reasoning_tokens": 1}}});
    let document = parse(&response);
    assert_eq!(whole(&read_response(document.root()).unwrap()), response);
}
