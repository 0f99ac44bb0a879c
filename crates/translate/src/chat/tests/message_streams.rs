//! Streams of messages that differ from what their protocol describes, and those that try to break the translation.

use super::{
    ChatStreamClient, block_start, block_stop, delta, ending, message_start, text_delta,
    translated, translated_events, translated_whole,
};
use crate::responses::tests::{context, odd_values, pointers};
use serde_json::{Value, json};

fn call(input: &Value) -> Value {
    json!({"type": "tool_use", "id": "c", "name": "f", "input": input})
}

fn arguments(json: &str) -> Value {
    delta(
        0,
        &json!({"type": "input_json_delta", "partial_json": json}),
    )
}

/// What a caller has of a stream with these events in its middle.
fn client(middle: Vec<Value>) -> ChatStreamClient {
    let mut events = vec![message_start(
        &json!({"input_tokens": 10, "output_tokens": 1}),
    )];
    events.extend(middle);
    events.extend(ending("tool_use", &json!({"output_tokens": 2})));
    translated(&events)
}

fn reason(middle: Vec<Value>) -> String {
    let mut events = vec![message_start(&Value::Null)];
    events.extend(middle);
    let (_, read) = translated_events(&context(), &events);
    read.unwrap_err().reason
}

#[test]
fn a_first_event_that_is_repeated_counts_once() {
    let second = message_start(&json!({"input_tokens": 12, "output_tokens": 1}));
    let whole = client(vec![second, text_delta(0, "ok")]).whole();
    assert_eq!(whole["choices"][0]["message"]["content"], "ok");
    assert_eq!(whole["usage"]["prompt_tokens"], 12);
    assert_eq!(whole["usage"]["completion_tokens"], 2);
}

#[test]
fn a_second_response_in_the_middle_of_a_stream_is_unreadable() {
    let middle = vec![
        block_start(1, &call(&json!({}))),
        arguments("{\"value\":\"Spark"),
        message_start(&Value::Null),
    ];
    assert_eq!(
        reason(vec![middle[0].clone(), middle[2].clone()]),
        "a second response begins in the middle of the stream"
    );
    assert_eq!(
        reason(middle),
        "an event has arguments of a tool call that is not open"
    );
}

#[test]
fn content_of_the_first_event_is_not_lost() {
    let mut start = message_start(&json!({"input_tokens": 0, "output_tokens": 0}));
    start["message"]["content"] = json!([
        {"type": "code_execution_tool_result", "tool_use_id": "s", "content": {}},
        call(&json!({"id": "customer_123"}))]);
    start["message"]["stop_reason"] = json!("tool_use");
    let whole = translated(&[start, json!({"type": "message_stop"})]).whole();
    let choice = &whole["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    let arguments = &choice["message"]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments, "{\"id\":\"customer_123\"}");
}

#[test]
fn the_input_of_a_call_comes_as_a_whole_or_in_pieces() {
    let cases = [
        (vec![block_start(0, &call(&json!({"a": 1})))], "{\"a\":1}"),
        (vec![block_start(0, &call(&json!({})))], "{}"),
        (vec![block_start(0, &call(&Value::Null))], "{}"),
        (
            vec![
                block_start(0, &call(&json!({"a": 1}))),
                arguments("{\"b\":2}"),
            ],
            "{\"b\":2}",
        ),
        (
            vec![
                block_start(0, &call(&json!({}))),
                arguments(""),
                arguments("{"),
                arguments("}"),
            ],
            "{}",
        ),
    ];
    for (mut events, expected) in cases {
        events.push(block_stop(0));
        let whole = client(events.clone()).whole();
        let calls = &whole["choices"][0]["message"]["tool_calls"];
        assert_eq!(calls[0]["function"]["arguments"], expected, "{events:?}");
    }
}

#[test]
fn blocks_without_a_start_or_an_end_are_not_lost() {
    let thought = delta(0, &json!({"type": "thinking_delta", "thinking": "b"}));
    let whole = client(vec![
        thought,
        text_delta(0, "a"),
        block_stop(7),
        block_start(0, &call(&json!({"a": 1}))),
        block_start(1, &json!({"type": "text", "text": "c"})),
    ])
    .whole();
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["content"], "ac");
    assert_eq!(message["reasoning_content"], "b");
    assert_eq!(
        message["tool_calls"][0]["function"]["arguments"],
        "{\"a\":1}"
    );
}

#[test]
fn what_is_not_of_the_protocol_is_unreadable() {
    let cases = [
        json!([]),
        json!({"type": 7}),
        json!({"type": "content_block_start", "index": 0}),
        json!({"type": "content_block_delta", "index": 0}),
        json!({"type": "content_block_stop"}),
        json!({"type": "content_block_stop", "index": -1}),
        json!({"type": "content_block_stop", "index": 1e300}),
        block_start(0, &json!({"type": "tool_use", "name": "f"})),
        block_start(0, &call(&json!("x"))),
        block_start(0, &json!({"type": "redacted_thinking"})),
        arguments("{}"),
        delta(0, &json!({"type": "text_delta", "text": 7})),
        delta(0, &json!({"text": "a"})),
        json!({"type": "message_delta", "delta": {"stop_reason": 7}}),
    ];
    for event in cases {
        let mut events = vec![message_start(&Value::Null)];
        events.push(event.clone());
        let (_, read) = translated_events(&context(), &events);
        assert!(read.is_err(), "{event}");
    }
}

#[test]
fn values_of_wrong_types_do_no_harm() {
    let usage = json!({"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 1,
        "output_tokens_details": {"thinking_tokens": 1}});
    let mut events = vec![
        message_start(&usage),
        block_start(
            0,
            &json!({"type": "thinking", "thinking": "", "signature": "s"}),
        ),
        delta(0, &json!({"type": "thinking_delta", "thinking": "a"})),
        block_stop(0),
        block_start(0, &call(&json!({"a": 1}))),
        arguments("{}"),
        text_delta(1, "a"),
    ];
    events.extend(ending("tool_use", &usage));
    let events = Value::from(events);
    for pointer in pointers(&events)
        .iter()
        .filter(|pointer| pointer.contains('/'))
    {
        for value in odd_values() {
            let mut odd = events.clone();
            *odd.pointer_mut(pointer).unwrap() = value;
            let (written, _) = translated_events(&context(), odd.as_array().unwrap());
            ChatStreamClient::from_events(&written, &context());
        }
    }
    let whole = json!({"id": "msg_1", "stop_reason": "end_turn", "stop_sequence": "a", "usage": usage,
        "content": [{"type": "text", "text": "a"}, call(&json!({})),
            {"type": "thinking", "thinking": "a", "signature": "b"},
            {"type": "redacted_thinking", "data": "a"}]});
    for pointer in pointers(&whole) {
        for value in odd_values() {
            let mut odd = whole.clone();
            *odd.pointer_mut(&pointer).unwrap() = value;
            if let Ok(completion) = translated_whole(&odd) {
                assert_eq!(completion["object"], "chat.completion");
            }
        }
    }
}

#[test]
fn what_waits_is_bounded() {
    let large = "x".repeat(1 << 20);
    let free = json!({"type": "tool_use", "id": "c", "name": "free", "input": {}});
    let mut events = vec![block_start(0, &free)];
    events.extend(vec![arguments(&large); 17]);
    let error = client(events).error.unwrap();
    assert_eq!(
        error["message"],
        "the input of a tool of free text is too large"
    );
    let whole = call(&json!({"a": large}));
    let many = (0..17).map(|index| block_start(index, &whole)).collect();
    assert_eq!(reason(many), "too many tool calls are open");
}
