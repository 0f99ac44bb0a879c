//! Tests of streams.

use super::{context, pair};
use crate::{StreamTranslator, UnreadableResponse};
use headgate_protocol::conversation::ConversationFormat::{self, Chat, Messages};
use headgate_protocol::sse::SseEvent;
use serde_json::{Value, json};

/// The caller's events for those of a provider.
fn received(
    caller: ConversationFormat,
    stream: &[Value],
) -> Result<Vec<Value>, UnreadableResponse> {
    let mut translator = StreamTranslator::new(pair(caller), context());
    let mut events = Vec::new();
    for event in stream {
        let event = SseEvent::encoded(None, event.to_string().as_bytes());
        translator.translate(&event, &mut events)?;
    }
    let data = events.iter().map(SseEvent::data);
    let data = data.filter(|data| *data != b"[DONE]");
    Ok(data
        .map(|data| serde_json::from_slice(data).unwrap())
        .collect())
}

fn start(index: u64, id: &str) -> Value {
    json!({"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": {"toolUseId": id, "name": "f"}}}})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}})
}

fn input(index: u64, json: &str) -> Value {
    delta(index, json!({"toolUse": {"input": json}}))
}

fn stop(index: u64) -> Value {
    json!({"contentBlockStop": {"contentBlockIndex": index}})
}

fn end(reason: &str) -> [Value; 2] {
    let usage =
        json!({"inputTokens": 10, "outputTokens": 5, "totalTokens": 19, "cacheReadInputTokens": 4});
    [
        json!({"messageStop": {"stopReason": reason}}),
        json!({"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}),
    ]
}

#[test]
fn parallel_calls_that_interleave_are_whole_for_each_caller() {
    let mut stream = vec![
        json!({"messageStart": {"role": "assistant"}}),
        delta(0, json!({"text": "Two calls."})),
        start(1, "t1"),
        start(2, "t2"),
        input(2, r#"{"b":"#),
        input(1, r#"{"a":"#),
        input(2, "2}"),
        stop(0),
        input(1, "1}"),
        stop(2),
        stop(1),
        // Calls without arguments.
        start(3, "t3"),
        stop(3),
        start(4, "t4"),
        input(4, ""),
        stop(4),
    ];
    stream.extend(end("tool_use"));
    let chunks = received(Chat, &stream).unwrap();
    let arguments = |index: u64| -> String {
        let calls = chunks
            .iter()
            .flat_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array());
        let calls = calls.flatten().filter(|call| call["index"] == index);
        calls
            .filter_map(|call| call["function"]["arguments"].as_str())
            .collect()
    };
    assert_eq!(
        [0, 1, 2, 3].map(arguments),
        [r#"{"a":1}"#, r#"{"b":2}"#, "{}", "{}"]
    );
    let last = chunks
        .iter()
        .rev()
        .find(|chunk| chunk["usage"].is_object())
        .unwrap();
    assert_eq!(last["usage"]["prompt_tokens"], 14);
    let events = received(Messages, &stream).unwrap();
    let (mut inputs, mut open) = (Vec::new(), None);
    for event in &events {
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert_eq!(
                    open.replace(event["index"].clone()),
                    None,
                    "one block at a time"
                );
                inputs.push(String::new());
            }
            "content_block_delta" => {
                let piece = event["delta"]["partial_json"].as_str().unwrap_or_default();
                inputs.last_mut().unwrap().push_str(piece);
            }
            "content_block_stop" => assert_eq!(open.take(), Some(event["index"].clone())),
            _ => {}
        }
    }
    assert_eq!(inputs, ["", r#"{"a":1}"#, r#"{"b":2}"#, "{}", "{}"]);
    assert_eq!(events.last().unwrap()["type"], "message_stop");
}

#[test]
fn a_stream_ends_with_its_usage_and_not_before() {
    let mut stream = vec![
        json!({"messageStart": {"role": "assistant"}}),
        delta(0, json!({"text": "a"})),
    ];
    stream.extend(end("end_turn"));
    for caller in ConversationFormat::ALL {
        let whole = received(caller, &stream).unwrap();
        let without = received(caller, &stream[..3]).unwrap();
        assert!(without.len() < whole.len(), "{caller:?}");
        let text = serde_json::to_string(&without).unwrap();
        assert!(!text.contains("message_stop") && !text.contains("response.completed"));
        let mut repeated = stream.clone();
        repeated.push(delta(1, json!({"text": "after the end"})));
        assert_eq!(received(caller, &repeated).unwrap(), whole);
    }
}

#[test]
fn an_error_of_the_stream_is_the_callers_error() {
    for caller in ConversationFormat::ALL {
        let events = received(
            caller,
            &[
                json!({"messageStart": {"role": "assistant"}}),
                delta(0, json!({"text": "a"})),
                json!({"error": {"type": "throttlingException", "message": "Too many tokens"}}),
                delta(0, json!({"text": "b"})),
            ],
        );
        let events = serde_json::to_string(&events.unwrap()).unwrap();
        assert!(events.contains("Too many tokens"), "{events}");
        assert!(!events.contains("\"b\""), "{events}");
    }
}

#[test]
fn events_that_break_the_protocol_are_named() {
    for (event, reason) in [
        (
            json!({"contentBlockDelta": {"delta": {"text": "a"}}}),
            "an event has no `contentBlockIndex`",
        ),
        (
            json!({"contentBlockDelta": {"contentBlockIndex": 0}}),
            "an event has no `delta`",
        ),
        (
            json!({"contentBlockStart": {"contentBlockIndex": 0}}),
            "an event has no `start`",
        ),
        (
            input(0, "{}"),
            "an event has the input of a tool call that is not open",
        ),
        (
            json!({"messageStop": {"stopReason": "malformed_tool_use"}}),
            "its stopReason is `malformed_tool_use`",
        ),
        (
            json!({"messageStop": {"stopReason": 1}}),
            "its stopReason is a number",
        ),
        (
            json!({"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"name": "f"}}}}),
            "its `contentBlockStart.start.toolUse` has no text `toolUseId`",
        ),
    ] {
        assert_eq!(received(Chat, &[event]).unwrap_err().reason, reason);
    }
}

#[test]
fn values_of_any_kind_in_any_place_do_no_harm() {
    let values = [
        json!(null),
        json!(1),
        json!("a"),
        json!([]),
        json!({}),
        json!([{}]),
        json!(true),
    ];
    let mut whole = vec![
        start(0, "t"),
        delta(
            1,
            json!({"reasoningContent": {"text": "a", "signature": "b"}}),
        ),
    ];
    whole.extend(end("end_turn"));
    for event in &whole {
        let text = event.to_string();
        for (at, _) in text.match_indices(':') {
            for value in &values {
                // Replaces the value after a colon, where that leaves JSON.
                let rest = text[at + 1..]
                    .find([',', '}'])
                    .map_or("", |end| &text[at + 1 + end..]);
                let changed = format!("{}:{value}{rest}", &text[..at]);
                let Ok(changed) = serde_json::from_str::<Value>(&changed) else {
                    continue;
                };
                let _ = received(Chat, &[changed]);
            }
        }
    }
}

#[test]
fn an_exception_has_the_word_that_callers_know() {
    for (name, message, chat, messages) in [
        (
            "throttlingException",
            "Wait.",
            json!("rate_limit_exceeded"),
            "rate_limit_error",
        ),
        (
            "serviceUnavailableException",
            "Busy.",
            json!("server_is_overloaded"),
            "overloaded_error",
        ),
        (
            "validationException",
            "Input is too long for requested model.",
            json!("context_length_exceeded"),
            "invalid_request_error",
        ),
        (
            "validationException",
            "No.",
            Value::Null,
            "invalid_request_error",
        ),
        (
            "modelStreamErrorException",
            "It broke.",
            json!("modelStreamErrorException"),
            "api_error",
        ),
    ] {
        let stream = [
            json!({"messageStart": {"role": "assistant"}}),
            json!({"error": {"type": name, "message": message}}),
        ];
        let error = |caller| received(caller, &stream).unwrap().pop().unwrap()["error"].take();
        let of_chat = error(Chat);
        assert_eq!(of_chat["code"], chat, "{name}");
        assert_eq!(of_chat["message"], message);
        assert_eq!(error(Messages)["type"], messages, "{name}");
    }
}
