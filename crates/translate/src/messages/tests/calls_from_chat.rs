//! Tool calls in streams of chat, of which providers send pieces in many ways.

use super::{chunk, ending, translated};
use serde_json::{Value, json};

/// What a delta says of the call with this index: its id, its name and more arguments, unless they are empty.
fn delta(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    let or_null = |text: &str| match text {
        "" => Value::Null,
        text => text.into(),
    };
    json!({"tool_calls": [{"index": index, "id": or_null(id), "type": "function",
        "function": {"name": or_null(name), "arguments": arguments}}]})
}

fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// The content of the message that a caller has of these deltas.
fn content(deltas: &[Value]) -> Value {
    let mut events: Vec<String> = deltas.iter().map(chunk).collect();
    events.extend(ending("tool_calls"));
    let message = translated(&events).whole();
    assert_eq!(message["stop_reason"], "tool_use");
    message["content"].clone()
}

#[test]
fn the_name_comes_in_pieces() {
    let deltas = [
        delta(0, "c", "get_", ""),
        delta(0, "", "time", ""),
        delta(0, "", "", "{}"),
    ];
    assert_eq!(content(&deltas), json!([call("c", "get_time", &json!({}))]));
    let longer = [delta(0, "c", "get_", ""), delta(0, "c", "get_time", "{}")];
    assert_eq!(content(&longer), json!([call("c", "get_time", &json!({}))]));
}

#[test]
fn one_call_has_many_chunks_with_ids_or_names() {
    let expected = json!([call("c", "f", &json!({"a": 1}))]);
    let repeated = [
        delta(0, "c", "f", ""),
        delta(0, "c", "f", "{\"a\""),
        delta(0, "c", "f", ":1}"),
    ];
    assert_eq!(content(&repeated), expected);
    let other_ids = [
        delta(0, "c", "f", "{"),
        delta(0, "x", "", "\"a\":1"),
        delta(0, "y", "", "}"),
    ];
    assert_eq!(content(&other_ids), expected);
    let late_id = [
        delta(4, "", "f", ""),
        delta(4, "c", "", ""),
        delta(4, "", "", "{\"a\":1}"),
    ];
    assert_eq!(content(&late_id), expected);
}

#[test]
fn all_calls_have_the_same_index() {
    let deltas = [delta(0, "c", "f", "{}"), delta(0, "d", "f", "")];
    let expected = json!([call("c", "f", &json!({})), call("d", "f", &json!({}))]);
    assert_eq!(content(&deltas), expected);
}

#[test]
fn calls_have_neither_ids_nor_indexes() {
    let f = |arguments: Value| json!({"function": {"name": "f", "arguments": arguments}});
    let deltas = [
        json!({"tool_calls": [f(json!("{}")), f(json!({"a": "b"}))]}),
        json!({"tool_calls": [{"function": {"name": "g", "arguments": "{}"}}]}),
    ];
    let expected = json!([
        call("call_0", "f", &json!({})),
        call("call_1", "f", &json!({"a": "b"})),
        call("call_2", "g", &json!({}))
    ]);
    assert_eq!(content(&deltas), expected);
}

#[test]
fn a_call_is_interrupted_by_text() {
    let deltas = [
        delta(0, "c", "f", "{\"a\""),
        json!({"content": "b"}),
        delta(0, "", "", ":1}"),
        json!({"content": "c"}),
    ];
    let texts = [("b", 1), ("c", 2)].map(|(text, _)| json!({"type": "text", "text": text}));
    let [b, c] = texts;
    assert_eq!(
        content(&deltas),
        json!([call("c", "f", &json!({"a": 1})), b, c])
    );
}

#[test]
fn a_call_without_arguments_comes_after_the_reason_for_the_end() {
    let [finish, done] = ending("tool_calls");
    let events = [finish, chunk(&delta(0, "c", "f", "")), done];
    let message = translated(&events).whole();
    assert_eq!(message["content"], json!([call("c", "f", &json!({}))]));
}

#[test]
fn a_call_is_of_the_first_form_of_the_protocol() {
    let deltas = [
        json!({"function_call": {"name": "f", "arguments": ""}}),
        json!({"function_call": {"arguments": "{\"a\":1}"}}),
    ];
    assert_eq!(
        content(&deltas),
        json!([call("call_0", "f", &json!({"a": 1}))])
    );
}

#[test]
fn a_tool_of_free_text_is_a_function_with_one_text() {
    let custom = |more: Value| json!({"tool_calls": [{"index": 0, "custom": more}]});
    let deltas = [
        json!({"tool_calls": [{"index": 0, "id": "c", "type": "custom", "custom": {"name": "f"}}]}),
        custom(json!({"input": "a\n\""})),
        custom(json!({"input": "b"})),
    ];
    let expected = json!([call("c", "f", &json!({"input": "a\n\"b"}))]);
    assert_eq!(content(&deltas), expected);
}
