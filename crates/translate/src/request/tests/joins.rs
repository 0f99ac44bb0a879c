//! Texts that become one, and what moves: both are in the ledger.

use super::{pair, translated};
use crate::ModelFeatures;
use headgate_protocol::conversation::ConversationFormat::{Chat, Messages, Responses};
use serde_json::{Value, json};

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "input": {}})
}

/// A conversation of the messages protocol with a tool, whose turns have these contents.
fn messages(assistant: Value, user: Value, system: Value) -> Value {
    json!({"model": "m", "max_tokens": 50, "system": system, "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": assistant},
            {"role": "user", "content": user}]})
}

#[test]
fn each_text_that_is_joined_to_another_is_in_the_ledger() {
    let result =
        |content: Value| json!([{"type": "tool_result", "tool_use_id": "t", "content": content}]);
    let one = result(json!("b"));
    let cases = [
        (
            messages(
                json!([call("t")]),
                one.clone(),
                json!([text("x"), text("y")]),
            ),
            vec!["system[1] is joined to the instruction before it"],
            "/messages/0/content",
            "x\n\ny",
        ),
        (
            messages(
                json!([call("t")]),
                result(json!([text("x"), text("y")])),
                json!("s"),
            ),
            vec![
                "messages[2].content[0].content[1] is joined to the text before it, since the result",
            ],
            "/messages/3/content",
            "x\n\ny",
        ),
        (
            messages(
                json!([text("x"), text("y"), call("t")]),
                one.clone(),
                json!("s"),
            ),
            vec!["messages[1].content[1] is joined to the text before it, since a message"],
            "/messages/2/content",
            "xy",
        ),
        (
            messages(json!([text("x"), call("t")]), one, json!([text("y")])),
            vec![],
            "/messages/0/content",
            "y",
        ),
    ];
    for (body, expected, pointer, joined) in cases {
        let (sent, ledger) = translated(pair(Messages, Chat), &body, ModelFeatures::default());
        assert_eq!(sent.pointer(pointer), Some(&json!(joined)), "{sent}");
        let noted: Vec<&String> = ledger
            .iter()
            .filter(|line| line.contains("is joined"))
            .collect();
        assert_eq!(noted.len(), expected.len(), "{ledger:?}");
        for (noted, expected) in noted.iter().zip(expected) {
            assert!(
                noted.starts_with(&format!("Approximated {expected}")),
                "{noted}"
            );
        }
    }
}

#[test]
fn many_texts_that_are_joined_have_one_entry_with_their_number() {
    let system: Vec<Value> = (0..1000).map(|_| text("x")).collect();
    let body = json!({"model": "m", "max_tokens": 5, "system": system,
        "messages": [{"role": "user", "content": "a"}]});
    let request = super::translated_text(
        pair(Messages, Chat),
        body.to_string(),
        ModelFeatures::default(),
    );
    let [entry] = request.ledger.entries() else {
        panic!("{:?}", request.ledger)
    };
    assert_eq!((&*entry.path, entry.count), ("system[1]", 999));
}

#[test]
fn texts_of_a_list_in_the_channels_protocol_are_not_joined() {
    let body = messages(
        json!([text("x"), text("y"), call("t")]),
        json!([{"type": "tool_result", "tool_use_id": "t", "content": [text("x"), text("y")]}]),
        json!([text("x"), text("y")]),
    );
    let features = ModelFeatures::default();
    let (_, ledger) = translated(pair(Messages, Responses), &body, features);
    assert_eq!(ledger, Vec::<String>::new());
}

#[test]
fn a_result_that_moves_before_the_users_text_is_in_the_ledger() {
    let body = json!({"model": "m", "input": [
        {"type": "message", "role": "user", "content": "a"},
        {"type": "function_call", "call_id": "t", "name": "f", "arguments": "{}"},
        {"type": "message", "role": "user", "content": "b"},
        {"type": "function_call_output", "call_id": "t", "output": "c"}]});
    for channel in [Chat, Messages] {
        let pair = pair(Responses, channel);
        let (_, ledger) = translated(pair, &body, ModelFeatures::default());
        let moved = "Approximated input[3] is sent before the content before it";
        assert!(
            ledger.iter().any(|line| line.starts_with(moved)),
            "{ledger:?}"
        );
    }
}
