//! What is read and written in one protocol is the same.
//!
//! Except for `model`, which is the channel's, and `stream_options`, which always asks for usage. A chat request with
//! several messages of one author, or a text in a list, has them as one message and as a string.

use super::{pair, translated_text};
use crate::{ModelFeatures, ProtocolPair, chat, messages};
use headgate_protocol::conversation::ConversationFormat::{self, Chat, Messages};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::{Value, json};

/// What a body is after it was read and written; the ledger must be empty.
fn rewritten(protocol: ConversationFormat, body: &Value) -> Value {
    let document = JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).unwrap();
    let mut ledger = crate::Ledger::default();
    let channel = super::channel(super::with_cache_marks());
    let written = match protocol {
        Chat => {
            let request = chat::read_request(&document, &mut ledger);
            chat::write_request(&request, &channel, &mut ledger)
        }
        _ => {
            let request = messages::read_request(&document, &mut ledger);
            messages::write_request(&request, &channel, &mut ledger)
        }
    };
    assert!(ledger.is_empty(), "{ledger:?}");
    serde_json::from_slice(&written).unwrap()
}

const MODEL: &str = "provider's model";

#[test]
fn a_chat_request_is_written_as_it_was_read() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let mark = json!({"mode": "explicit", "ttl": "30m"});
    let bodies = [
        json!({"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]}),
        json!({"model": MODEL, "stream": true, "stream_options": {"include_usage": true},
            "temperature": 0.70, "top_p": 1e-1, "max_completion_tokens": 512, "stop": "END", "n": 1, "seed": 42,
            "frequency_penalty": 0.5, "presence_penalty": -0.5, "logit_bias": {"1": 2}, "logprobs": true,
            "top_logprobs": 3, "prompt_cache_key": "k", "prompt_cache_retention": "24h",
            "prompt_cache_options": {"mode": "explicit"}, "safety_identifier": "s", "service_tier": "flex",
            "reasoning_effort": "max", "verbosity": "low", "modalities": ["text"], "metadata": {"a": "b"},
            "store": true, "user": "u", "response_format": {"type": "json_schema", "json_schema": {
                "name": "Out", "description": "d", "schema": {"type": "object"}, "strict": true}},
            "messages": [{"role": "user", "content": "Hello"}]}),
        json!({"model": MODEL, "parallel_tool_calls": true, "response_format": {"type": "json_object"},
            "tools": [
                {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}, "strict": false}},
                {"type": "custom", "custom": {"name": "g", "format": {"type": "grammar",
                    "grammar": {"syntax": "regex", "definition": "a+"}}}}],
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
                {"type": "function", "function": {"name": "f"}}, {"type": "custom", "custom": {"name": "g"}}]}},
            "messages": [
                {"role": "system", "content": [{"type": "text", "text": "Be brief.", "prompt_cache_breakpoint": mark}]},
                {"role": "user", "content": [
                    {"type": "text", "text": "Look:"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
                    {"type": "image_url", "image_url": {"url": "https://a.example/b"}},
                    {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
                    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="},
                        "prompt_cache_breakpoint": mark}]},
                {"role": "assistant", "content": null, "tool_calls": [
                    call("c1", "{\"a\": 1.0}"), call("c2", "not JSON"),
                    {"id": "c3", "type": "custom", "custom": {"name": "g", "input": "aa\n"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "one"},
                {"role": "tool", "tool_call_id": "c2", "content": ""},
                {"role": "tool", "tool_call_id": "c3", "content": "three"},
                {"role": "assistant", "content": "Well.", "reasoning_content": "Hm."},
                {"role": "user", "content": "And?"},
                {"role": "assistant", "content": null, "refusal": "No."},
                {"role": "user", "content": "Please."}]}),
    ];
    for body in bodies {
        assert_eq!(rewritten(Chat, &body), body);
    }
}

#[test]
fn a_messages_request_is_written_as_it_was_read() {
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    let text = |text: &str| json!({"type": "text", "text": text});
    let thinking = [
        json!({"type": "enabled", "budget_tokens": 2048}),
        json!({"type": "adaptive"}),
        json!({"type": "disabled"}),
    ];
    for thinking in thinking {
        let body = json!({"model": MODEL, "max_tokens": 1024, "stream": true, "temperature": 0.5, "top_p": 0.9,
            "top_k": 5, "stop_sequences": ["a"], "metadata": {"user_id": "u"}, "service_tier": "standard_only",
            "thinking": thinking, "output_config": {"effort": "high", "format": {"type": "json_schema",
                "schema": {"type": "object", "properties": {}, "additionalProperties": false}}},
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}, "cache_control": mark},
                {"name": "g", "input_schema": {"type": "object", "additionalProperties": false}, "strict": true}],
            "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true},
            "messages": [
                {"role": "user", "content": [text("Look:"),
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                    {"type": "image", "source": {"type": "url", "url": "https://a.example"}, "cache_control": mark},
                    {"type": "document", "title": "t", "source": {"type": "url", "url": "https://a.example"}},
                    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="}},
                    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "EqQ="},
                    {"type": "redacted_thinking", "data": "EmwK"},
                    text("I look."),
                    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1.0}, "cache_control": mark},
                    {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "one", "is_error": true, "cache_control": mark},
                    {"type": "tool_result", "tool_use_id": "toolu_2", "content": [text("two"),
                        {"type": "image", "source": {"type": "url", "url": "https://a.example"}}]},
                    text("Go on.")]}]});
        assert_eq!(rewritten(Messages, &body), body);
    }
}

/// A chat request by way of the messages protocol.
fn round_trip(there: ProtocolPair, back: ProtocolPair, body: &Value) -> Value {
    let features = ModelFeatures::default();
    let sent = translated_text(there, body.to_string(), features.clone());
    assert!(sent.ledger.is_empty(), "{:?}", sent.ledger);
    let sent = translated_text(back, String::from_utf8(sent.body).unwrap(), features);
    assert!(sent.ledger.is_empty(), "{:?}", sent.ledger);
    serde_json::from_slice(&sent.body).unwrap()
}

#[test]
fn what_both_protocols_have_survives_the_way_there_and_back() {
    let call = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1.0}"}});
    let chat = json!({"model": MODEL, "stream": true, "stream_options": {"include_usage": true},
        "temperature": 0.5, "top_p": 0.9, "max_completion_tokens": 9, "stop": ["a"], "user": "u",
        "parallel_tool_calls": false, "tool_choice": "required",
        "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "a"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                {"type": "image_url", "image_url": {"url": "https://a.example"}}]},
            {"role": "assistant", "content": "b", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "one"},
            {"role": "user", "content": "c"}]});
    let (there, back) = (pair(Chat, Messages), pair(Messages, Chat));
    assert_eq!(round_trip(there, back, &chat), chat);
}
