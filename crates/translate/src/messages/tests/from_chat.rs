//! Responses and streams of chat for callers of this protocol.

use super::{FROM_CHAT, chunk, ending, translated, translated_events, translated_whole};
use serde_json::{Value, json};

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn thinking(text: &str) -> Value {
    json!({"type": "thinking", "thinking": text, "signature": ""})
}

fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn streamed(deltas: &[Value], finish: &str) -> Value {
    let mut events: Vec<String> = deltas.iter().map(chunk).collect();
    events.extend(ending(finish));
    translated(&events).whole()
}

#[test]
fn a_stream_and_a_whole_response_are_the_same_message() {
    let begin = |index: u64, id: &str, name: &str, arguments: &str| {
        json!({"tool_calls": [{"index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": arguments}}]})
    };
    let more = |index: u64, arguments: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]});
    let deltas = [
        json!({"role": "assistant", "content": "", "refusal": null}),
        json!({"content": "", "reasoning_content": "Let me "}),
        json!({"content": null, "reasoning_content": "think"}),
        json!({"content": "Two \"calls\""}),
        begin(0, "c0", "f", ""),
        more(0, "{\"a\""),
        begin(1, "c1", "g", "{\"b\":"),
        more(0, ":1.0}"),
        more(1, "[1e3]}"),
    ];
    let mut events: Vec<String> = deltas.iter().map(chunk).collect();
    let usage = json!({"prompt_tokens": 19, "completion_tokens": 5, "total_tokens": 24,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2}});
    let [finish, done] = ending("tool_calls");
    events.push(finish);
    events.push(json!({"choices": [], "usage": usage}).to_string());
    events.push(done);
    let message = translated(&events).whole();
    let tool = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let calls = [
        tool("c0", "f", "{\"a\":1.0}"),
        tool("c1", "g", "{\"b\":[1e3]}"),
    ];
    let whole = json!({"id": "chatcmpl-1", "usage": usage, "choices": [{"index": 0,
        "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": calls,
        "reasoning_content": "Let me think", "content": "Two \"calls\""}}]});
    assert_eq!(message, translated_whole(&whole).unwrap());
    let expected = json!({"id": "msg_0a1b", "type": "message", "role": "assistant", "model": "m",
        "content": [thinking("Let me think"), text("Two \"calls\""),
            call("c0", "f", &json!({"a": 1.0})), call("c1", "g", &json!({"b": [1e3]}))],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 12, "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": 4, "output_tokens": 5,
            "output_tokens_details": {"thinking_tokens": 2}}});
    assert_eq!(message, expected);
}

#[test]
fn thoughts_come_in_the_ways_of_many_providers() {
    let details = json!([{"type": "reasoning.text", "text": "a", "signature": "s", "index": 0},
        {"type": "reasoning.summary", "summary": "b", "index": 1}]);
    let (joined, apart) = (vec!["ab"], vec!["a", "b"]);
    let in_content = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "ab"}]}]);
    let cases = [
        (json!({"reasoning_content": "ab"}), &joined),
        (json!({"reasoning": "ab"}), &joined),
        (
            json!({"reasoning_content": "ab", "reasoning": "ab"}),
            &joined,
        ),
        (
            json!({"reasoning": "ab", "reasoning_details": details}),
            &apart,
        ),
        (json!({"reasoning_details": details}), &apart),
        (
            json!({"reasoning": "ab", "reasoning_details": [{"type": "reasoning.encrypted"}]}),
            &joined,
        ),
        (json!({"content": in_content}), &joined),
    ];
    for (delta, thoughts) in cases {
        let thoughts: Vec<Value> = thoughts.iter().map(|one| thinking(one)).collect();
        let message = streamed(&[delta.clone(), json!({"content": "c"})], "stop");
        let expected = [thoughts.clone(), vec![text("c")]].concat();
        assert_eq!(message["content"], json!(expected), "{delta}");
        let whole = json!({"choices": [{"message": delta, "finish_reason": "stop"}]});
        let whole = translated_whole(&whole).unwrap();
        assert_eq!(whole["content"], json!(thoughts), "{delta}");
    }
}

#[test]
fn reasons_for_the_end_have_their_words() {
    for (finish, stop) in [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("tool_calls", "tool_use"),
        ("function_call", "tool_use"),
    ] {
        let message = streamed(&[json!({"content": "a"})], finish);
        assert_eq!(message["stop_reason"], stop);
    }
    let refusal = [json!({"refusal": "I "}), json!({"refusal": "won't"})];
    let refused = streamed(&refusal, "stop");
    assert_eq!(refused["content"], json!([text("I won't")]));
    assert_eq!(refused["stop_reason"], "refusal");
    let call = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}]});
    assert_eq!(streamed(&[call], "stop")["stop_reason"], "tool_use");
}

#[test]
fn an_unknown_reason_for_the_end_is_no_response() {
    let mut events = vec![chunk(&json!({"content": "a"}))];
    events.extend(ending("error"));
    let (_, read) = translated_events(FROM_CHAT, &events);
    assert_eq!(read.unwrap_err().reason, "its finish_reason is `error`");
    for (finish, reason) in [
        (json!("error"), "its finish_reason is `error`"),
        (Value::Null, "it has no reason for its end"),
    ] {
        let whole = json!({"choices": [{"message": {"content": "a"}, "finish_reason": finish}]});
        assert_eq!(translated_whole(&whole).unwrap_err(), reason);
    }
}

#[test]
fn content_after_the_reason_for_the_end_is_not_cut() {
    let [finish, done] = ending("stop");
    let filtered = json!({"choices": [{"index": 0, "content_filter_offsets": {"end_offset": 3},
        "finish_reason": null}]});
    let events = [
        json!({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}).to_string(),
        chunk(&json!({"content": "a"})),
        finish,
        filtered.to_string(),
        chunk(&json!({"content": "b"})),
        done,
    ];
    let message = translated(&events).whole();
    assert_eq!(message["content"], json!([text("a"), text("b")]));
}

#[test]
fn the_newest_usage_counts() {
    let usage = |output: u64, more: &Value| {
        let mut usage = json!({"prompt_tokens": 9, "completion_tokens": output});
        let more = more.as_object().unwrap().clone();
        usage.as_object_mut().unwrap().extend(more);
        json!({"usage": usage})
    };
    let details = json!({"prompt_tokens_details": {"cached_tokens": 12}});
    let in_choice = usage(7, &json!({"cached_tokens": 3}))["usage"].clone();
    let cases = [
        (vec![usage(1, &json!({})), usage(7, &json!({}))], 9, 0),
        (vec![usage(7, &details)], 0, 12),
        (
            vec![
                usage(7, &json!({"prompt_cache_hit_tokens": 2})),
                json!({"usage": null}),
            ],
            7,
            2,
        ),
        (
            vec![json!({"choices": [{"index": 0, "delta": {}, "usage": in_choice}]})],
            6,
            3,
        ),
    ];
    for (chunks, input, cached) in cases {
        let mut events = vec![chunk(&json!({"content": "a"}))];
        events.extend(chunks.iter().map(Value::to_string));
        events.extend(ending("stop"));
        let usage = &translated(&events).whole()["usage"];
        assert_eq!(usage["input_tokens"], input, "{chunks:?}");
        assert_eq!(usage["cache_read_input_tokens"], cached, "{chunks:?}");
        assert_eq!(usage["output_tokens"], 7, "{chunks:?}");
    }
}

#[test]
fn an_error_ends_the_stream() {
    let unnamed = "the provider reports an error without a message";
    let limited = json!({"error": {"message": "Slow \"down\"", "code": "rate_limit_exceeded"}});
    let with_choices = json!({"error": {"code": 502, "message": "Gone"},
        "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]});
    let cases = [
        (limited, "rate_limit_error", "Slow \"down\""),
        (with_choices, "api_error", "Gone"),
        (json!({"error": "Gone"}), "api_error", "Gone"),
        (
            json!({"object": "error", "message": "Gone", "code": 400}),
            "api_error",
            "Gone",
        ),
        (json!({"error": {}}), "api_error", unnamed),
    ];
    for (error, kind, message) in cases {
        let mut events = vec![chunk(&json!({"content": "a"})), error.to_string()];
        events.push(chunk(&json!({"content": "b"})));
        events.extend(ending("stop"));
        let client = translated(&events);
        let expected = json!({"type": kind, "message": message});
        assert_eq!(client.error, Some(expected));
        assert!(!client.has_stopped);
        assert_eq!(client.message["content"], json!([text("a")]));
    }
}

#[test]
fn no_end_is_invented() {
    let events = [chunk(&json!({"content": "a"})), "[DONE]".to_owned()];
    let client = translated(&events);
    assert_eq!(
        client.error.unwrap()["message"],
        "the provider's stream ended without a reason"
    );
    assert_eq!(client.message["stop_reason"], Value::Null);
    let [finish, _] = ending("stop");
    let client = translated(&[chunk(&json!({"content": "a"})), finish]);
    assert!(!client.has_stopped && client.error.is_none());
    assert_eq!(client.message["stop_reason"], Value::Null);
}

#[test]
fn arguments_that_are_no_object_are_no_response() {
    for arguments in ["{\"a\":", "[]", "1", "{}{}"] {
        let call = json!({"id": "c", "function": {"name": "f", "arguments": arguments}});
        let message = json!({"tool_calls": [call]});
        let whole = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
        assert_eq!(translated_whole(&whole).unwrap_err(), BROKEN);
        let call = json!({"index": 0, "id": "c",
            "function": {"name": "f", "arguments": arguments}});
        for (finish, is_error) in [("tool_calls", true), ("stop", true), ("length", false)] {
            let [finish, done] = ending(finish);
            let client = translated(&[chunk(&json!({"tool_calls": [call]})), finish, done]);
            assert_eq!(client.has_stopped, !is_error);
            let error = client.error.map(|error| error["message"].clone());
            assert_eq!(error, is_error.then(|| json!(BROKEN)));
        }
    }
}

const BROKEN: &str = "the arguments of the call of `f` are no JSON object";

#[test]
fn only_the_first_choice_is_read() {
    let other = json!({"index": 1, "delta": {"content": "b"}, "finish_reason": "length"});
    let other = json!({"choices": [other]}).to_string();
    let [finish, done] = ending("stop");
    let message = translated(&[chunk(&json!({"content": "a"})), other, finish, done]).whole();
    assert_eq!(message["content"], json!([text("a")]));
    assert_eq!(message["stop_reason"], "end_turn");
    let choice = |index: u64, content: &str| json!({"index": index, "message": {"content": content}, "finish_reason": "stop"});
    let whole = json!({"choices": [choice(1, "b"), choice(0, "a")]});
    let message = translated_whole(&whole).unwrap();
    assert_eq!(message["content"], json!([text("a")]));
}

#[test]
fn a_call_that_the_limit_has_cut_is_left_out() {
    let function = |arguments: &str| {
        json!({"type": "function", "id": "c",
            "function": {"name": "f", "arguments": arguments}})
    };
    let response = |finish: &str| {
        json!({"choices": [{"finish_reason": finish, "message": {"role": "assistant",
            "content": "a", "tool_calls": [function("{}"), function("{\"b\": \"Par")]}}]})
    };
    let cut = translated_whole(&response("length")).unwrap();
    assert_eq!(cut["stop_reason"], "max_tokens");
    assert_eq!(
        cut["content"],
        json!([text("a"), call("c", "f", &json!({}))])
    );
    assert!(translated_whole(&response("tool_calls")).is_err());
}
