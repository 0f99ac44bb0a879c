//! What is written in this protocol and read again is the same.

use super::MessagesStreamClient;
use crate::escaped_text::EscapedText;
use crate::messages::{MessagesStreamReader, MessagesStreamWriter, read_response, write_response};
use crate::responses::tests::{Mixing, Random, context, parse};
use crate::superset::{Arguments, OutputPart, Response, StreamPiece};
use headgate_protocol::sse::SseEvent;
use serde_json::{Value, json};

fn written(pieces: &[StreamPiece<'_>]) -> Vec<SseEvent> {
    let mut writer = MessagesStreamWriter::new(context());
    let mut events = Vec::new();
    for piece in pieces {
        writer.write(piece, &mut events);
    }
    events
}

/// The events after they were read and written again.
fn rewritten(events: &[SseEvent]) -> Vec<SseEvent> {
    let mut reader = MessagesStreamReader::default();
    let mut writer = MessagesStreamWriter::new(context());
    let mut rewritten = Vec::new();
    for event in events {
        let document = parse(&serde_json::from_slice(event.data()).unwrap());
        let mut pieces = Vec::new();
        reader.read(document.root(), &mut pieces).unwrap();
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

/// A response whose calls have objects as arguments.
fn response(random: &mut Random) -> Response<'static> {
    let mut response = random.response();
    for part in &mut response.parts {
        if let OutputPart::ToolCall { arguments, .. } = part
            && matches!(arguments, Arguments::Text(_))
        {
            let json = json!({"a": random.text().decoded()}).to_string();
            *arguments = Arguments::Text(EscapedText::plain(&json));
        }
    }
    response
}

#[test]
fn random_responses_are_the_same_whole_and_streamed_and_read_again() {
    let mut random = Random::new(7);
    for round in 0..300 {
        let response = response(&mut random);
        let expected = whole(&response);
        for mixing in [Mixing::None, Mixing::Calls, Mixing::All] {
            let events = written(&random.pieces(&response, mixing));
            let streamed = MessagesStreamClient::from_events(&events).whole();
            assert_eq!(streamed, expected, "{round} {mixing:?}");
            let again = MessagesStreamClient::from_events(&rewritten(&events)).whole();
            assert_eq!(again, expected, "{round} {mixing:?}");
        }
        let document = parse(&expected);
        let again = read_response(document.root()).unwrap();
        assert_eq!(whole(&again), expected, "{round}");
    }
}

#[test]
fn a_whole_response_is_written_as_it_is_read() {
    let response = json!({"id": "msg_0a1b", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "thinking", "thinking": "a", "signature": "EqQ="},
            {"type": "redacted_thinking", "data": "EmwK"},
            {"type": "text", "text": "b\n\"c\""},
            {"type": "tool_use", "id": "toolu_1", "name": "f",
                "input": {"a": 1.50, "b": [12_345_678_901_234_567_890_u64]}}],
        "stop_reason": "stop_sequence", "stop_sequence": "\n\n",
        "usage": {"input_tokens": 2, "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": 4, "output_tokens": 5,
            "output_tokens_details": {"thinking_tokens": 1}}});
    let document = parse(&response);
    assert_eq!(whole(&read_response(document.root()).unwrap()), response);
}
