//! Tests of whole responses.

use super::{context, pair, translated};
use crate::{Ledger, UnreadableResponse, translate_response};
use headgate_protocol::conversation::ConversationFormat::{self, Chat, Messages, Responses};
use serde_json::{Value, json};

fn received(caller: ConversationFormat, body: &Value) -> Result<Value, UnreadableResponse> {
    let mut ledger = Ledger::default();
    let body = translate_response(
        pair(caller),
        &body.to_string().into(),
        &context(),
        &mut ledger,
    )?;
    Ok(serde_json::from_slice(&body).unwrap())
}

fn response(content: &Value, reason: &str) -> Value {
    json!({
        "output": {"message": {"role": "assistant", "content": content}}, "stopReason": reason,
        "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 22, "cacheReadInputTokens": 4, "cacheWriteInputTokens": 3},
        "metrics": {"latencyMs": 1}
    })
}

#[test]
fn reasons_have_the_words_of_each_caller() {
    let content = json!([{"text": "a"}]);
    for (reason, chat, messages) in [
        ("end_turn", "stop", "end_turn"),
        ("max_tokens", "length", "max_tokens"),
        ("stop_sequence", "stop", "stop_sequence"),
        ("guardrail_intervened", "content_filter", "refusal"),
        ("content_filtered", "content_filter", "refusal"),
        (
            "model_context_window_exceeded",
            "length",
            "model_context_window_exceeded",
        ),
    ] {
        let body = response(&content, reason);
        assert_eq!(
            received(Chat, &body).unwrap()["choices"][0]["finish_reason"],
            chat
        );
        assert_eq!(received(Messages, &body).unwrap()["stop_reason"], messages);
    }
    for reason in ["malformed_model_output", "malformed_tool_use", "new"] {
        for caller in ConversationFormat::ALL {
            let error = received(caller, &response(&content, reason)).unwrap_err();
            assert_eq!(error.reason, format!("its stopReason is `{reason}`"));
        }
    }
}

#[test]
fn tokens_of_the_cache_count_as_each_caller_counts_them() {
    let body = response(&json!([{"text": "a"}]), "end_turn");
    let usage = &received(Chat, &body).unwrap()["usage"];
    assert_eq!(usage["prompt_tokens"], 17);
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 4);
    assert_eq!(
        (&usage["completion_tokens"], &usage["total_tokens"]),
        (&json!(5), &json!(22))
    );
    let usage = &received(Messages, &body).unwrap()["usage"];
    assert_eq!(usage["input_tokens"], 10);
    assert_eq!(usage["cache_read_input_tokens"], 4);
    assert_eq!(usage["cache_creation_input_tokens"], 3);
    let usage = &received(Responses, &body).unwrap()["usage"];
    assert_eq!(
        (&usage["input_tokens"], &usage["total_tokens"]),
        (&json!(17), &json!(22))
    );
}

#[test]
fn what_is_no_response_of_the_protocol_is_named() {
    for (body, reason) in [
        (
            json!({"message": "Too many tokens"}),
            "it is an error: Too many tokens",
        ),
        (json!({}), "it has no content"),
        (
            json!({"output": {"message": {"content": "text"}}}),
            "it has no content",
        ),
        (
            response(&json!([{"toolUse": {"name": "f"}}]), "tool_use"),
            "its `output.message.content[0].toolUse` has no text `toolUseId`",
        ),
        (
            response(
                &json!([{"toolUse": {"toolUseId": "t", "name": "f", "input": "{}"}}]),
                "tool_use",
            ),
            "the input of a tool call is a string",
        ),
        (
            response(
                &json!([{"reasoningContent": {"reasoningText": {"signature": "s"}}}]),
                "end_turn",
            ),
            "its `output.message.content[0].reasoningContent.reasoningText` has no text `text`",
        ),
        (json!([]), "it has no content"),
    ] {
        assert_eq!(received(Chat, &body).unwrap_err().reason, reason);
    }
}

/// What a caller sends after a response with a call: its conversation, with the assistant's turn as it was received.
fn next_request(caller: ConversationFormat, received: &Value) -> Value {
    match caller {
        Chat => json!({"model": "m", "messages": [
            {"role": "user", "content": "a"}, received["choices"][0]["message"],
            {"role": "tool", "tool_call_id": "tooluse_1", "content": "sun"}],
            "tools": [{"type": "function", "function": {"name": "f"}}]}),
        Messages => json!({"model": "m", "max_tokens": 9, "messages": [
            {"role": "user", "content": "a"}, {"role": "assistant", "content": received["content"]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tooluse_1", "content": "sun"}]}],
            "tools": [{"name": "f", "input_schema": {"type": "object"}}]}),
        Responses => {
            let mut input = vec![json!({"role": "user", "content": "a"})];
            input.extend(received["output"].as_array().unwrap().clone());
            input.push(
                json!({"type": "function_call_output", "call_id": "tooluse_1", "output": "sun"}),
            );
            json!({"model": "m", "store": false, "input": input, "tools": [{"type": "function", "name": "f"}]})
        }
    }
}

#[test]
fn thoughts_come_back_as_they_were_sent() {
    let content = json!([
        {"reasoningContent": {"reasoningText": {"text": "thought \"1\"", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "c2VhbGVk"}},
        {"text": "text"},
        {"toolUse": {"toolUseId": "tooluse_1", "name": "f", "input": {"a": 1}}}
    ]);
    for caller in ConversationFormat::ALL {
        let response = received(caller, &response(&content, "tool_use")).unwrap();
        assert!(!response.to_string().contains("c2ln"), "{caller:?}");
        let (sent, ledger) = translated(caller, &next_request(caller, &response));
        assert_eq!(sent["messages"][1]["content"], content, "{caller:?}");
        assert!(
            !ledger.iter().any(|entry| entry.contains("thoughts")),
            "{ledger:?}"
        );
    }
}
