//! Tests of the reader: each event, and streams that are read and written again.

mod round_trips;

use super::*;
use crate::responses::tests::{odd_values, parse, pointers, translated};
use serde_json::{Value, json};

/// The pieces of events, in short.
fn read(events: &[Value]) -> Result<Vec<String>, String> {
    let mut reader = ResponsesStreamReader::default();
    let mut shown = Vec::new();
    for event in events {
        let document = parse(event);
        let mut pieces = Vec::new();
        reader.read(document.root(), &mut pieces)?;
        shown.extend(pieces.iter().map(show));
    }
    Ok(shown)
}

fn show(piece: &StreamPiece<'_>) -> String {
    match piece {
        StreamPiece::Start { id, .. } => {
            format!("start {}", id.clone().unwrap_or_default().decoded())
        }
        StreamPiece::Text { part, text } => format!("{part} text {}", text.decoded()),
        StreamPiece::Refusal { part, text } => format!("{part} refusal {}", text.decoded()),
        StreamPiece::Thinking { part, text } => format!("{part} thinking {}", text.decoded()),
        StreamPiece::Signature { part, signature } => {
            format!("{part} signature {}", signature.decoded())
        }
        StreamPiece::SealedThinking { part, data } => format!("{part} sealed {}", data.decoded()),
        StreamPiece::ToolCall { part, id, name } => {
            format!("{part} call {} {}", id.decoded(), name.decoded())
        }
        StreamPiece::Arguments { part, json } => format!("{part} arguments {}", json.decoded()),
        StreamPiece::FreeText { part, text } => format!("{part} free {}", text.decoded()),
        StreamPiece::PartEnd { part } => format!("{part} end"),
        StreamPiece::Finish { reason, .. } => format!("finish {reason:?}"),
        StreamPiece::Usage(usage) => format!("usage {} {}", usage.input, usage.output),
        StreamPiece::End => "end".into(),
        StreamPiece::Error { message, code } => {
            format!(
                "error {}: {}",
                code.clone().unwrap_or_default().decoded(),
                message.decoded()
            )
        }
    }
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "output": [],
        "usage": {"input_tokens": 3, "output_tokens": 2}}})
}

fn item(name: &str, index: u64, item: Value) -> Value {
    json!({"type": format!("response.output_item.{name}"), "output_index": index, "item": item})
}

fn content(name: &str, place: (u64, u64), member: &str, value: Value) -> Value {
    json!({"type": format!("response.{name}"), "output_index": place.0, "content_index": place.1,
        "summary_index": place.1, "item_id": "changes", member: value})
}

fn events_of_each_type() -> Vec<Value> {
    let part = json!({"type": "output_text", "text": "Hi there", "annotations": []});
    vec![
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        json!({"type": "response.in_progress", "response": {"id": "resp_1"}}),
        json!({"type": "keepalive", "sequence_number": 3}),
        item(
            "added",
            0,
            json!({"type": "reasoning", "id": "rs_1", "summary": []}),
        ),
        content(
            "reasoning_summary_part.added",
            (0, 0),
            "part",
            json!({"type": "summary_text", "text": ""}),
        ),
        content("reasoning_summary_text.delta", (0, 0), "delta", "Hm".into()),
        content("reasoning_summary_text.done", (0, 0), "text", "Hm".into()),
        content("reasoning_summary_text.delta", (0, 1), "delta", "So".into()),
        content("reasoning_text.delta", (0, 0), "delta", "raw".into()),
        item(
            "done",
            0,
            json!({"type": "reasoning", "encrypted_content": "sealed", "content": [{"text": "raw"}],
            "summary": [{"text": "Hm"}, {"text": "So"}, {"text": "late"}]}),
        ),
        item(
            "added",
            1,
            json!({"type": "reasoning", "id": "rs_2", "summary": []}),
        ),
        item(
            "done",
            1,
            json!({"type": "reasoning", "summary": [], "encrypted_content": "sealed too"}),
        ),
        item(
            "added",
            2,
            json!({"type": "reasoning", "id": "rs_3", "summary": []}),
        ),
        item("done", 2, json!({"type": "reasoning", "summary": []})),
        item("added", 3, json!({"type": "web_search_call", "id": "ws_1"})),
        json!({"type": "response.web_search_call.searching", "output_index": 3, "item_id": "ws_1"}),
        item("done", 3, json!({"type": "web_search_call", "id": "ws_1"})),
        item(
            "added",
            4,
            json!({"type": "message", "id": "msg_1", "content": []}),
        ),
        content(
            "content_part.added",
            (4, 0),
            "part",
            json!({"type": "output_text", "text": ""}),
        ),
        content("output_text.delta", (4, 0), "delta", "".into()),
        content("output_text.delta", (4, 0), "delta", "Hi ".into()),
        content("output_text.delta", (4, 0), "delta", "there".into()),
        content("output_text.done", (4, 0), "text", "Hi there".into()),
        content("content_part.done", (4, 0), "part", part.clone()),
        content("refusal.delta", (4, 1), "delta", "No".into()),
        content("refusal.done", (4, 1), "refusal", "No".into()),
        item(
            "done",
            4,
            json!({"type": "message", "content": [part, {"type": "refusal", "refusal": "No"}]}),
        ),
        item(
            "added",
            5,
            json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": ""}),
        ),
        item(
            "added",
            6,
            json!({"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": ""}),
        ),
        content(
            "function_call_arguments.delta",
            (5, 0),
            "delta",
            "{\"a\"".into(),
        ),
        content(
            "custom_tool_call_input.delta",
            (6, 0),
            "delta",
            "free".into(),
        ),
        content(
            "function_call_arguments.delta",
            (5, 0),
            "delta",
            ":1}".into(),
        ),
        content(
            "function_call_arguments.done",
            (5, 0),
            "arguments",
            "{\"a\":1}".into(),
        ),
        item(
            "done",
            5,
            json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\":1}"}),
        ),
        completed(),
        content("output_text.delta", (9, 0), "delta", "late".into()),
    ]
}

#[test]
fn events_are_pieces() {
    let events = events_of_each_type();
    let expected = "start resp_1|0 thinking Hm|0 thinking \n\n|0 thinking So|0 thinking \n\n|0 thinking raw\
        |0 thinking \n\n|0 thinking late|0 signature sealed|0 end|1 sealed sealed too|1 end\
        |3 text Hi |3 text there|3 end|4 refusal No|4 end|5 call c1 f|6 call c2 g|5 arguments {\"a\"|6 free free\
        |5 arguments :1}|5 end|6 end|finish ToolCalls|usage 3 2|end";
    assert_eq!(read(&events).unwrap().join("|"), expected);
}

#[test]
fn a_stream_ends_with_its_status_or_an_error() {
    let last = |status: &str, more: Value| {
        let mut response = json!({"id": "r", "status": status, "output": []});
        response
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"type": format!("response.{status}"), "response": response})
    };
    let cases = [
        (completed(), "start |finish Stop|usage 3 2|end"),
        (
            last(
                "incomplete",
                json!({"incomplete_details": {"reason": "content_filter"}}),
            ),
            "start r|finish ContentFilter|end",
        ),
        (
            last("incomplete", json!({"incomplete_details": null})),
            "start r|finish Length|end",
        ),
        (
            last(
                "failed",
                json!({"error": {"code": "server_error", "message": "Sorry"}}),
            ),
            "start r|error server_error: Sorry",
        ),
        (
            last("failed", json!({"error": null})),
            "start r|error : the provider reports an error without a message",
        ),
        (
            json!({"type": "error", "code": "rate_limit_exceeded", "message": "Slow", "param": null}),
            "error rate_limit_exceeded: Slow",
        ),
        (
            json!({"type": "error", "error": {"type": "tokens", "code": null, "message": "Slow"}}),
            "error tokens: Slow",
        ),
        (json!({"error": {"message": "Odd"}}), "error : Odd"),
    ];
    for (event, expected) in cases {
        assert_eq!(read(&[event]).unwrap().join("|"), expected);
    }
}

#[test]
fn an_event_that_cannot_be_read_is_an_error() {
    let cases = [
        (json!([]), "an event has no text `type`"),
        (json!({"type": 7}), "an event has no text `type`"),
        (
            json!({"type": "response.completed"}),
            "the last event has no `response`",
        ),
        (
            json!({"type": "response.completed", "response": {}}),
            "the status of the last event is ``",
        ),
        (
            json!({"type": "response.output_item.added"}),
            "an event has no `output_index`",
        ),
        (
            item("added", 0, json!(null)),
            "its `item` has no text `type`",
        ),
        (
            item("added", 0, json!({"type": "function_call"})),
            "its `item` has no text `id`",
        ),
        (
            content("output_text.delta", (0, 0), "text", "a".into()),
            "it has no text `delta`",
        ),
        (
            content("function_call_arguments.delta", (7, 0), "delta", "a".into()),
            "arguments of the call 7 came before the call",
        ),
    ];
    for (event, expected) in cases {
        assert_eq!(read(&[event]).unwrap_err(), expected);
    }
}

#[test]
fn a_value_of_any_type_in_any_place_is_no_panic() {
    let events: Vec<Value> = events_of_each_type();
    let documents: Vec<_> = events.iter().map(parse).collect();
    for (position, event) in events.iter().enumerate() {
        for pointer in pointers(event) {
            for value in odd_values() {
                let mut changed = event.clone();
                *changed.pointer_mut(&pointer).unwrap() = value;
                let changed = parse(&changed);
                let before = documents[..position].iter();
                let mut reader = ResponsesStreamReader::default();
                for document in before.chain([&changed]).chain(&documents[position..]) {
                    let mut pieces = Vec::new();
                    if reader.read(document.root(), &mut pieces).is_err() {
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn a_thousand_mixed_items_take_linear_time() {
    let call =
        |index| json!({"type": "function_call", "call_id": format!("c{index}"), "name": "f"});
    let mut events: Vec<Value> = (0..1000)
        .map(|index| item("added", index, call(index)))
        .collect();
    for _ in 0..5 {
        let more = |index| {
            content(
                "function_call_arguments.delta",
                (index, 0),
                "delta",
                "[]".into(),
            )
        };
        events.extend((0..1000).map(more));
    }
    let huge = "x".repeat(10 << 20);
    events.push(content(
        "function_call_arguments.delta",
        (7, 0),
        "delta",
        huge.into(),
    ));
    events.push(completed());
    let response = translated(&events);
    let output = response["output"].as_array().unwrap();
    assert_eq!(output.len(), 1000);
    assert_eq!(
        output[7]["arguments"].as_str().unwrap().len(),
        10 + (10 << 20)
    );
    assert_eq!(output[8]["arguments"], "[][][][][]");
}
