//! Values where the protocol has none of their type.

use super::*;
use crate::responses::tests::{odd_values, pointers};
use headgate_protocol::json::JsonLimits;

#[test]
fn ten_thousand_wrong_items_are_counted_in_linear_time() {
    let wrong = [
        "null",
        "7",
        "{}",
        "[]",
        r#"{"type":"function_call"}"#,
        r#"{"role":"user","content":[1,{}]}"#,
    ];
    let items: Vec<&str> = wrong.into_iter().cycle().take(10_000).collect();
    let body = format!("{{\"input\":[{}]}}", items.join(","));
    let document = JsonDocument::parse(body.into(), &JsonLimits::default()).unwrap();
    let mut ledger = Ledger::default();
    let request = read_request(&document, &mut ledger);
    assert!(request.turns.is_empty());
    assert!(ledger.unnamed() > 10_000);
    assert_eq!(ledger.entries()[0].path, "input[0]");
}

#[test]
fn a_value_of_any_type_in_any_place_is_no_panic() {
    let body = json!({"model": "m", "instructions": "i", "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"},
            {"type": "input_image", "image_url": "data:image/png;base64,a", "detail": "low"},
            {"type": "input_file", "file_data": "data:a/b;base64,a", "filename": "f"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}], "encrypted_content": "e"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "a"}]}],
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}},
            {"type": "custom", "name": "g", "format": {"type": "grammar", "syntax": "lark", "definition": "d"}}],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}}, "reasoning": {"effort": "low"}});
    let pointers = pointers(&body);
    assert!(pointers.len() > 60);
    for pointer in &pointers {
        for value in odd_values() {
            let mut changed = body.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            read(&changed);
        }
    }
}
