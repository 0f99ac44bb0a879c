//! Requests of responses callers on channels of chat.

use super::{pair, translated};
use crate::ModelFeatures;
use headgate_protocol::conversation::ConversationFormat::{Chat, Responses};
use serde_json::{Value, json};

fn body() -> Value {
    json!({"model": "m", "input": [
            {"role": "user", "content": "a"},
            {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** \"a\"\n"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "done"}],
        "tools": [{"type": "custom", "name": "patch", "description": "Edits.", "format":
            {"type": "grammar", "syntax": "lark", "definition": "start: x"}}],
        "tool_choice": {"type": "custom", "name": "patch"}})
}

#[test]
fn tools_of_free_text_are_sent_to_models_that_take_them() {
    let mut features = ModelFeatures::default();
    features.chat.tools.free_text = true;
    let (sent, ledger) = translated(pair(Responses, Chat), &body(), features);
    let tool = json!({"type": "custom", "custom": {"name": "patch", "description": "Edits.", "format":
        {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: x"}}}});
    assert_eq!(sent["tools"], json!([tool]));
    assert_eq!(
        sent["tool_choice"],
        json!({"type": "custom", "custom": {"name": "patch"}})
    );
    let call =
        json!({"id": "c", "type": "custom", "custom": {"name": "patch", "input": "*** \"a\"\n"}});
    assert_eq!(sent["messages"][1]["tool_calls"], json!([call]));
    assert_eq!(ledger, [""; 0]);
}

#[test]
fn other_models_get_functions_in_their_place() {
    let (sent, ledger) = translated(pair(Responses, Chat), &body(), ModelFeatures::default());
    let tool = json!({"type": "function", "function": {"name": "patch",
        "description": "Edits.\n\nThe input must match this grammar in the syntax lark:\nstart: x",
        "parameters": {"type": "object", "properties": {"input": {"type": "string"}},
            "required": ["input"], "additionalProperties": false}}});
    assert_eq!(sent["tools"], json!([tool]));
    assert_eq!(
        sent["tool_choice"],
        json!({"type": "function", "function": {"name": "patch"}})
    );
    let call = &sent["messages"][1]["tool_calls"][0]["function"];
    let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"input": "*** \"a\"\n"}));
    assert_eq!(
        ledger,
        ["Approximated tools[0] is a function with the text as `input` here"]
    );
}

#[test]
fn results_directly_follow_their_calls_wherever_they_stand() {
    let call =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "x"});
    let user = |text: &str| json!({"role": "user", "content": text});
    let input = [
        user("a"),
        call("c"),
        call("d"),
        user("b"),
        output("d"),
        output("c"),
    ];
    let (sent, ledger) = translated(
        pair(Responses, Chat),
        &json!({"model": "m", "input": input}),
        ModelFeatures::default(),
    );
    let roles = sent["messages"].as_array().unwrap().iter();
    let roles: Vec<&str> = roles.map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "user"]);
    assert!(
        ledger
            .iter()
            .all(|it| it.starts_with("Approximated input[")),
        "{ledger:?}"
    );
    let input = [
        user("a"),
        call("c"),
        user("b"),
        call("d"),
        output("d"),
        output("c"),
    ];
    let (_, ledger) = translated(
        pair(Responses, Chat),
        &json!({"model": "m", "input": input}),
        ModelFeatures::default(),
    );
    assert_eq!(
        ledger,
        ["AlwaysRefused input[5] is the result of no call in the message before it"]
    );
}
