//! Requests of chat callers on channels of messages.

mod settings;

use super::{pair, translated};
use crate::{ModelFeatures, ProtocolPair};
use headgate_protocol::conversation::ConversationFormat::{Chat, Messages};
use serde_json::{Value, json};

const PAIR: ProtocolPair = pair(Chat, Messages);

fn sent(body: &Value) -> (Value, Vec<String>) {
    translated(PAIR, body, ModelFeatures::default())
}

/// A request of these messages, with more members.
fn request(messages: &Value, more: Value) -> Value {
    let mut body = json!({"model": "m", "max_completion_tokens": 64, "messages": messages});
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    body
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[test]
fn a_tool_loop_is_a_conversation_of_turns() {
    let (sent, ledger) = sent(&request(
        &json!([
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": [{"type": "text", "text": "Be kind.",
                "prompt_cache_breakpoint": {"mode": "explicit"}}]},
            user("One."),
            {"role": "user", "content": [{"type": "text", "text": "Two."}]},
            {"role": "assistant", "content": "", "refusal": null, "tool_calls": [
                call("call_1", "f", "{\"a\": 1.50, \"b\": 12345678901234567890}"), call("call_2", "g", "")]},
            {"role": "tool", "tool_call_id": "call_2", "content": "two"},
            {"role": "tool", "tool_call_id": "call_1", "content": [
                {"type": "text", "text": "one"}, {"type": "text", "text": "more"}]},
            user("Go on."),
            {"role": "assistant", "content": [{"type": "text", "text": "I"}, {"type": "refusal", "refusal": "won't"}]},
            {"role": "assistant", "content": "really."},
            user("Why?"),
        ]),
        json!({"stream": true, "stop": "END", "temperature": 1.7, "top_p": 0.5, "parallel_tool_calls": false,
            "safety_identifier": "user 1", "tools": [
            {"type": "function", "function": {"name": "f", "description": "d", "strict": true,
                "parameters": {"type": "object", "properties": {"a": {"type": "number"}}, "additionalProperties": false}}},
            {"type": "function", "function": {"name": "g"}}]}),
    ));
    let text = |text: &str| json!({"type": "text", "text": text});
    let tool_use = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let expected = json!({
        "model": "provider's model", "max_tokens": 64, "stream": true, "stop_sequences": ["END"],
        "temperature": 1, "top_p": 0.5, "metadata": {"user_id": "user 1"},
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
        "tools": [
            {"name": "f", "description": "d", "strict": true,
                "input_schema": {"type": "object", "properties": {"a": {"type": "number"}}, "additionalProperties": false}},
            {"name": "g", "input_schema": {"type": "object", "properties": {}}}],
        "system": [text("Be brief."),
            {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [text("One."), text("Two.")]},
            {"role": "assistant", "content": [
                tool_use("call_1", "f", json!({"a": 1.50, "b": 12_345_678_901_234_567_890_u64})),
                tool_use("call_2", "g", json!({}))]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_2", "content": "two"},
                {"type": "tool_result", "tool_use_id": "call_1", "content": [text("one"), text("more")]},
                text("Go on.")]},
            {"role": "assistant", "content": [text("I"), text("won't"), text("really.")]},
            {"role": "user", "content": [text("Why?")]}],
    });
    assert_eq!(sent, expected);
    assert_eq!(
        ledger,
        [
            "Approximated messages[8].content[1] has the type `refusal`, which is sent as a text of the assistant",
            "Approximated temperature becomes 1, the highest of the messages protocol",
        ]
    );
}

#[test]
fn arguments_keep_their_text() {
    let json = r#"{"a": 1.0, "b": 1e3, "c": 123456789012345678901234567890, "d": "\u00e9\n"}"#;
    let body = request(
        &json!([user("a"), {"role": "assistant", "tool_calls": [call("c", "f", json)]},
            {"role": "tool", "tool_call_id": "c", "content": "x"}]),
        json!({}),
    );
    let translated = super::translated_text(PAIR, body.to_string(), ModelFeatures::default());
    let sent = String::from_utf8(translated.body).unwrap();
    assert!(sent.contains(&format!("\"input\":{json}")), "{sent}");
}

#[test]
fn tools_of_free_text_are_functions() {
    let (sent, ledger) = sent(&request(
        &json!([user("a"), {"role": "assistant", "tool_calls": [
                {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "SELECT \"a\"\n"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "1"}]),
        json!({"tools": [{"type": "custom", "custom": {"name": "sql", "description": "Asks.", "format":
                {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: \"a\""}}}}],
            "tool_choice": {"type": "custom", "custom": {"name": "sql"}}}),
    ));
    let expected = json!({"name": "sql",
        "description": "Asks.\n\nThe input must match this grammar in the syntax lark:\nstart: \"a\"",
        "input_schema": {"type": "object", "properties": {"input": {"type": "string"}},
            "required": ["input"], "additionalProperties": false}});
    assert_eq!(sent["tools"][0], expected);
    assert_eq!(sent["tool_choice"], json!({"type": "tool", "name": "sql"}));
    let input = &sent["messages"][1]["content"][0]["input"];
    assert_eq!(*input, json!({"input": "SELECT \"a\"\n"}));
    assert!(
        ledger[0].starts_with("Approximated tools[0] is a function"),
        "{ledger:?}"
    );
}

#[test]
fn functions_of_the_first_form_are_tools() {
    let function = |arguments: &str| {
        json!({"role": "assistant", "content": null,
        "function_call": {"name": "f", "arguments": arguments}})
    };
    let result = json!({"role": "function", "name": "f", "content": "x"});
    let (sent, ledger) = sent(&request(
        &json!([
            user("a"),
            function("{}"),
            result,
            function("{\"b\": 1}"),
            result
        ]),
        json!({"functions": [{"name": "f", "parameters": {}}], "function_call": {"name": "f"}}),
    ));
    assert_eq!(
        sent["tools"],
        json!([{"name": "f", "input_schema": {"type": "object", "properties": {}}}])
    );
    assert_eq!(sent["tool_choice"], json!({"type": "tool", "name": "f"}));
    let id_in =
        |message: usize, member: &str| sent["messages"][message]["content"][0][member].clone();
    assert_eq!(id_in(1, "id"), "f");
    assert_eq!(id_in(2, "tool_use_id"), "f");
    assert_eq!(id_in(3, "id"), id_in(4, "tool_use_id"));
    assert_ne!(id_in(1, "id"), id_in(3, "id"));
    assert_eq!(ledger.len(), 1);
}

#[test]
fn names_and_ids_are_sent_in_letters_that_the_protocol_takes() {
    let body = request(
        &json!([user("a"), {"role": "assistant", "tool_calls": [call("functions.f:0", "fs.read", "{}")]},
            {"role": "tool", "tool_call_id": "functions.f:0", "content": "x"}]),
        json!({"tools": [{"type": "function", "function": {"name": "fs.read"}}],
            "tool_choice": {"type": "function", "function": {"name": "fs.read"}}}),
    );
    let translated = super::translated_text(PAIR, body.to_string(), ModelFeatures::default());
    let sent: Value = serde_json::from_slice(&translated.body).unwrap();
    let name = "fs_read_0c64ab6d43144144";
    assert_eq!(sent["tools"][0]["name"], name);
    assert_eq!(sent["tool_choice"]["name"], name);
    let call = &sent["messages"][1]["content"][0];
    assert_eq!(call["name"], name);
    let id = call["id"].as_str().unwrap();
    assert!(id.starts_with("functions_f_0_"), "{id}");
    assert_eq!(sent["messages"][2]["content"][0]["tool_use_id"], id);
    let renamed = &translated.renamed_tools;
    assert_eq!((&*renamed[0].name, &*renamed[0].sent), ("fs.read", name));
}

#[test]
fn what_changes_the_meaning_is_refused() {
    let calls = |calls: Value| json!({"role": "assistant", "tool_calls": calls});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
    let bad = |arguments: &str| {
        request(
            &json!([
                user("a"),
                calls(json!([call("c", "f", arguments)])),
                result("c")
            ]),
            json!({}),
        )
    };
    let one = json!([user("a")]);
    let no_object = "AlwaysRefused messages[1].tool_calls[0] has arguments that are no JSON object, which the messages protocol demands";
    let cases = [
        (bad("{\"a\":"), no_object),
        (bad("[1]"), no_object),
        (bad("{}{}"), no_object),
        (bad("null"), no_object),
        (
            request(
                &json!([user("a"), {"role": "system", "content": "b"}, user("c")]),
                json!({}),
            ),
            "Refused messages[1] is an instruction in the middle of the conversation, which would move to its start; send it as a user, or first",
        ),
        (
            request(
                &json!([user("a"), {"role": "assistant", "content": "Sure,"}]),
                json!({}),
            ),
            "Refused messages[1] is of the assistant, and the messages protocol continues such a last message instead of answering it; end with a message of the user",
        ),
        (
            request(&json!([user("a"), result("c")]), json!({})),
            "AlwaysRefused messages[1] is the result of no call in the message before it",
        ),
        (
            request(
                &json!([
                    user("a"),
                    calls(json!([call("c", "f", "{}"), call("c", "g", "{}")])),
                    result("c")
                ]),
                json!({}),
            ),
            "AlwaysRefused messages[1].tool_calls[1] is a call with the id of another one of its turn",
        ),
        (
            request(&one, json!({"n": 2})),
            "Refused n asks for several answers, and the messages protocol has one; remove it, or let the route drop it with `on_loss: drop`",
        ),
        (
            request(&json!([{"role": "system", "content": "a"}]), json!({})),
            "AlwaysRefused messages has no message, which the messages protocol demands",
        ),
        (
            request(&one, json!({"reasoning_effort": "extreme"})),
            "Refused reasoning_effort is an effort that no other protocol has",
        ),
        (
            json!("text"),
            "AlwaysRefused  must be an object, not a string",
        ),
        (json!({"model": "m"}), "AlwaysRefused messages is missing"),
    ];
    for (body, entry) in cases {
        let (_, ledger) = sent(&body);
        assert!(ledger.iter().any(|it| it == entry), "{body}: {ledger:#?}");
    }
}

#[test]
fn a_late_instruction_stays_one_if_the_route_lets_it_move() {
    let (sent, _) = sent(&request(
        &json!([{"role": "system", "content": "a"}, user("b"), {"role": "developer", "content": "c"}, user("d")]),
        json!({}),
    ));
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(sent["system"], json!([text("a"), text("c")]));
    assert_eq!(
        sent["messages"],
        json!([{"role": "user", "content": [text("b"), text("d")]}])
    );
}

#[test]
fn members_without_content_are_left_out() {
    let (sent, ledger) = sent(&request(
        &json!([user("a"), {"role": "assistant", "content": ""},
            {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": " \n\t"},
                {"type": "text", "text": "b"}]}]),
        json!({}),
    ));
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        sent["messages"],
        json!([{"role": "user", "content": [text("a"), text("b")]}])
    );
    assert_eq!(
        ledger,
        [
            "Dropped messages[1] says nothing",
            "Dropped messages[2].content[1] is a text without letters, which the messages protocol does not take",
        ]
    );
}
