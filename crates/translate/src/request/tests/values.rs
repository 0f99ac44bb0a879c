//! Values of wrong types in all places of requests.

use super::{pair, translated, with_cache_marks};
use crate::ProtocolPair;
use crate::responses::tests::{odd_values, pointers};
use headgate_protocol::conversation::ConversationFormat::{Chat, Messages, Responses};
use headgate_protocol::conversation::ProviderFormat;
use serde_json::{Value, json};
use std::mem::discriminant;

fn chat() -> Value {
    json!({"model": "m", "stream": true, "stream_options": {"include_usage": true},
        "temperature": 0.5, "top_p": 0.5, "max_completion_tokens": 9, "stop": ["a"], "user": "u",
        "reasoning_effort": "none", "parallel_tool_calls": false,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
        "tools": [
            {"type": "function", "function": {"name": "f", "description": "d", "strict": true,
                "parameters": {"type": "object"}}},
            {"type": "custom", "custom": {"name": "g", "description": "e", "format":
                {"type": "grammar", "grammar": {"syntax": "lark", "definition": "x"}}}}],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [
            {"type": "function", "function": {"name": "f"}}, {"type": "custom", "custom": {"name": "g"}}]}},
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "t",
                    "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}},
                {"type": "image_url", "image_url": {"url": "https://a.example", "detail": "low"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}}]},
            {"role": "assistant", "content": "c", "refusal": "r", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}},
                {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "i"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "one"},
            {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "two"}]}]})
}

fn messages() -> Value {
    json!({"model": "m", "stream": true, "max_tokens": 9, "temperature": 0.5, "top_p": 0.5,
        "stop_sequences": ["a"], "metadata": {"user_id": "u"}, "service_tier": "standard_only",
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "string"}}},
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "tools": [{"type": "custom", "name": "f", "description": "d", "strict": true,
            "input_schema": {"type": "string"}}],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "t"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
                {"type": "image", "source": {"type": "url", "url": "https://a.example"}},
                {"type": "document", "title": "a.pdf",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="}},
                {"type": "document", "title": "b", "source": {"type": "text", "data": "x"}},
                {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "y"}]}},
                {"type": "search_result", "source": "z", "title": "q", "content": [{"type": "text", "text": "w"}]}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "h", "signature": "g"},
                {"type": "redacted_thinking", "data": "d"},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "is_error": true,
                "content": [{"type": "text", "text": "one"},
                    {"type": "image", "source": {"type": "url", "url": "https://b.example"}}]}]}]})
}

/// Members that say nothing to the other side, as the tables have them.
const FORMAL: [&str; 3] = ["/model", "/prompt_cache_breakpoint/mode", "/media_type"];

fn silent_losses(pair: ProtocolPair, body: &Value) -> Vec<String> {
    let features = with_cache_marks();
    let as_it_is = translated(pair, body, features.clone());
    let mut silent = Vec::new();
    for pointer in pointers(body) {
        let value = body.pointer(&pointer).unwrap();
        for odd in odd_values() {
            let mut changed = body.clone();
            *changed.pointer_mut(&pointer).unwrap() = odd.clone();
            let of_changed = translated(pair, &changed, features.clone());
            let is_formal = FORMAL.iter().any(|formal| pointer.ends_with(formal));
            // Null is a member that is not there.
            let is_other_type = !odd.is_null() && discriminant(&odd) != discriminant(value);
            if is_other_type && of_changed == as_it_is && !is_formal {
                silent.push(format!("{pointer}: {odd}"));
            }
        }
    }
    silent
}

#[test]
fn a_wrong_value_changes_the_request_or_the_ledger() {
    let mut silent = Vec::new();
    for (pair, body) in [
        (pair(Chat, Messages), chat()),
        (pair(Messages, Chat), messages()),
    ] {
        let losses = silent_losses(pair, &body);
        silent.extend(
            losses
                .iter()
                .map(|loss| format!("{}: {loss}", pair.caller.name())),
        );
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

#[test]
fn a_file_url_that_is_a_data_uri_is_sent_and_an_address_is_refused() {
    let file = |url: &str| json!({"type": "input_file", "filename": "a.pdf", "file_url": url});
    let ask = |url: &str| {
        let content = json!([{"type": "input_text", "text": "a"}, file(url)]);
        json!({"model": "m", "input": [{"role": "user", "content": content}]})
    };
    let converse = ProtocolPair {
        caller: Responses,
        channel: ProviderFormat::Converse,
    };
    for (pair, data_at) in [
        (
            pair(Responses, Chat),
            "/messages/0/content/1/file/file_data",
        ),
        (converse, "/messages/0/content/1/document/source/bytes"),
    ] {
        let uri = "data:application/pdf;base64,AA==";
        let (sent, ledger) = translated(pair, &ask(uri), with_cache_marks());
        let data = sent.pointer(data_at).and_then(Value::as_str).unwrap();
        assert!(uri.ends_with(data), "{sent}");
        let is_lost =
            |line: &&String| line.contains("content[1]") && !line.starts_with("Approximated");
        assert_eq!(ledger.iter().find(is_lost), None);
        let (sent, ledger) = translated(pair, &ask("https://a.example/b.pdf"), with_cache_marks());
        assert!(!sent.to_string().contains("a.example"), "{sent}");
        assert!(
            ledger
                .iter()
                .any(|line| line.starts_with("Refused input[0].content[1]")),
            "{ledger:?}"
        );
    }
}
