//! Responses and streams of messages for callers of this protocol.

use super::{
    ChatStreamClient, block_start, block_stop, delta, ending, message_start, text_delta,
    translated, translated_events, translated_whole,
};
use crate::responses::tests::context;
use serde_json::{Value, json};

/// A stream with a text, and this stop reason and usage.
fn text_stream(stop_reason: &str, start: &Value, end: &Value) -> Vec<Value> {
    let mut events = vec![
        message_start(start),
        block_start(0, &json!({"type": "text", "text": ""})),
        text_delta(0, "a"),
        block_stop(0),
    ];
    events.extend(ending(stop_reason, end));
    events
}

#[test]
fn a_stream_and_a_whole_response_are_the_same_completion() {
    let json_delta = |index, json: &str| {
        delta(
            index,
            &json!({"type": "input_json_delta", "partial_json": json}),
        )
    };
    let call =
        |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let mut events = vec![
        message_start(
            &json!({"input_tokens": 9, "cache_read_input_tokens": 4, "output_tokens": 1}),
        ),
        json!({"type": "ping"}),
        block_start(
            0,
            &json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        delta(0, &json!({"type": "thinking_delta", "thinking": "Let me "})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "think"})),
        delta(0, &json!({"type": "signature_delta", "signature": "EqQ="})),
        block_stop(0),
        block_start(1, &json!({"type": "redacted_thinking", "data": "EmwK"})),
        block_stop(1),
        block_start(2, &json!({"type": "text", "text": ""})),
        text_delta(2, "Two \"calls\""),
        delta(
            2,
            &json!({"type": "citations_delta", "citation": {"type": "char_location"}}),
        ),
        block_stop(2),
        block_start(
            3,
            &json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        ),
        json_delta(3, "{\"query\":\"x\"}"),
        block_stop(3),
        block_start(
            4,
            &json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
        ),
        block_stop(4),
        block_start(5, &call("c0", "f")),
        json_delta(5, ""),
        json_delta(5, "{\"a\":"),
        json_delta(5, "1.50}"),
        block_stop(5),
        block_start(6, &call("c1", "free")),
        json_delta(6, "{\"input\":\"x\\"),
        json_delta(6, "ny\"}"),
        block_stop(6),
        json!({"type": "of_the_future", "index": -1}),
    ];
    let usage = json!({"input_tokens": 11, "cache_creation_input_tokens": 3, "output_tokens": 5,
        "output_tokens_details": {"thinking_tokens": 2}});
    events.extend(ending("tool_use", &usage));
    events.push(text_delta(9, "after the end"));
    let mut usage = usage.clone();
    usage["cache_read_input_tokens"] = 4.into();
    let whole = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "x", "content": [
        {"type": "thinking", "thinking": "Let me think", "signature": "EqQ="},
        {"type": "redacted_thinking", "data": "EmwK"},
        {"type": "text", "text": "Two \"calls\"", "citations": [{"type": "char_location"}]},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "tool_use", "id": "c0", "name": "f", "input": {"a": 1}},
        {"type": "tool_use", "id": "c1", "name": "free", "input": {"input": "x\ny"}}],
        "stop_reason": "tool_use", "stop_sequence": null, "usage": usage});
    let text = whole.to_string().replace("{\"a\":1}", "{\"a\":1.50}");
    let whole = super::translated_text(&text).unwrap();
    assert_eq!(translated(&events).whole(), whole);
    let tool = json!({"name": "f", "arguments": "{\"a\":1.50}"});
    let custom = json!({"name": "free", "input": "x\ny"});
    let message = json!({"role": "assistant", "content": "Two \"calls\"", "refusal": null,
        "reasoning_content": "Let me think", "tool_calls": [
            {"id": "c0", "type": "function", "function": tool},
            {"id": "c1", "type": "custom", "custom": custom}]});
    let expected = json!({"id": "chatcmpl-0a1b", "object": "chat.completion", "created": 1_700_000_000,
        "model": "m", "choices": [{"index": 0, "message": message, "logprobs": null,
            "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 18, "completion_tokens": 5, "total_tokens": 23,
            "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
            "completion_tokens_details": {"reasoning_tokens": 2}}});
    assert_eq!(whole, expected);
}

#[test]
fn usage_is_sent_to_callers_who_asked_for_it() {
    let usage = json!({"input_tokens": 1, "output_tokens": 2});
    let mut silent = context();
    silent.includes_usage = false;
    let events = text_stream("end_turn", &usage, &json!({"output_tokens": 7}));
    let (written, _) = translated_events(&silent, &events);
    assert_eq!(ChatStreamClient::from_events(&written, &silent).usage, None);
    let usage = translated(&events).usage.unwrap();
    assert_eq!(usage["prompt_tokens"], 1);
    assert_eq!(usage["completion_tokens"], 7);
    let unknown = text_stream("end_turn", &Value::Null, &Value::Null);
    assert_eq!(translated(&unknown).usage, None);
}

#[test]
fn reasons_for_the_end_have_their_words() {
    for (stop, finish) in [
        ("end_turn", Ok("stop")),
        ("stop_sequence", Ok("stop")),
        ("max_tokens", Ok("length")),
        ("model_context_window_exceeded", Ok("length")),
        ("tool_use", Ok("tool_calls")),
        ("refusal", Ok("content_filter")),
        ("pause_turn", Err("the provider paused the turn")),
    ] {
        let client = translated(&text_stream(stop, &Value::Null, &Value::Null));
        let message = client.error.as_ref().map(|error| &error["message"]);
        assert_eq!(message, finish.err().map(Value::from).as_ref());
        assert_eq!(client.finish, finish.ok().map(Value::from));
        assert_eq!(client.is_done, finish.is_ok());
        let whole = json!({"content": [{"type": "text", "text": "a"}], "stop_reason": stop});
        let whole = translated_whole(&whole);
        let whole = whole
            .as_ref()
            .map(|it| it["choices"][0]["finish_reason"].as_str().unwrap());
        assert_eq!(whole.map_err(String::as_str), finish);
    }
    let (_, read) = translated_events(
        &context(),
        &text_stream("tired", &Value::Null, &Value::Null),
    );
    assert_eq!(read.unwrap_err().reason, "its stop_reason is `tired`");
}

#[test]
fn no_end_is_invented() {
    let mut events = text_stream("end_turn", &Value::Null, &Value::Null);
    events.pop();
    let cut = translated(&events);
    assert!(!cut.is_done && cut.finish.is_none() && cut.error.is_none());
    events.pop();
    events.push(json!({"type": "message_stop"}));
    let unnamed = translated(&events);
    assert!(!unnamed.is_done && unnamed.finish.is_none());
    let message = &unnamed.error.unwrap()["message"];
    assert_eq!(message, "the provider's stream ended without a reason");
    let whole = json!({"content": [], "stop_reason": null});
    assert_eq!(
        translated_whole(&whole).unwrap_err(),
        "it has no reason for its end"
    );
}

#[test]
fn an_error_ends_the_stream() {
    let error = |error: Value| json!({"type": "error", "error": error});
    let cases = [
        (
            error(json!({"type": "overloaded_error", "message": "Over\"loaded\""})),
            json!({"message": "Over\"loaded\"", "type": "server_error", "param": null,
                "code": "server_is_overloaded"}),
        ),
        (
            error(json!({"type": "rate_limit_error", "message": "Slow"})),
            json!({"message": "Slow", "type": "rate_limit_error", "param": null,
                "code": "rate_limit_exceeded"}),
        ),
        (
            error(json!("Gone")),
            json!({"message": "Gone", "type": "server_error", "param": null, "code": null}),
        ),
        (
            json!({"error": {"message": "Gone", "type": "api_error"}}),
            json!({"message": "Gone", "type": "server_error", "param": null, "code": null}),
        ),
    ];
    for (event, expected) in cases {
        let mut events = text_stream("end_turn", &Value::Null, &Value::Null);
        events.insert(3, event);
        let client = translated(&events);
        assert_eq!(client.error, Some(expected));
        assert_eq!(client.message["content"], "a");
        assert!(!client.is_done && client.finish.is_none());
    }
    let whole = json!({"type": "error", "error": {"type": "api_error", "message": "Gone"}});
    assert_eq!(
        translated_whole(&whole).unwrap_err(),
        "it is an error: Gone"
    );
}
