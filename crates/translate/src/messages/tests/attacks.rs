//! Streams that try to break the translation.

use super::{FROM_CHAT, MessagesStreamClient, chunk, ending, translated, translated_events};
use crate::responses::tests::{odd_values, pointers};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn begin(index: usize, id: &str) -> String {
    let function = json!({"name": "f", "arguments": ""});
    let call = json!({"index": index, "id": id, "function": function});
    chunk(&json!({"tool_calls": [call]}))
}

/// Several calls, of which each chunk has a piece of another one.
fn interleaved(calls: usize, arguments: &[&str]) -> Vec<String> {
    let begin = |index| begin(index, &format!("c{index}"));
    let mut events: Vec<String> = (0..calls).map(begin).collect();
    for arguments in arguments {
        for index in 0..calls {
            let call = json!({"index": index, "function": {"arguments": arguments}});
            events.push(chunk(&json!({"tool_calls": [call]})));
        }
    }
    events.extend(ending("tool_calls"));
    events
}

#[test]
fn a_thousand_interleaved_calls_are_put_in_order() {
    let message = translated(&interleaved(1000, &["{\"a\":", "[1", "]}"])).whole();
    let content = message["content"].as_array().unwrap();
    assert_eq!(content.len(), 1000);
    for (index, block) in content.iter().enumerate() {
        assert_eq!(block["id"], format!("c{index}"));
        assert_eq!(block["input"], json!({"a": [1]}));
    }
}

#[test]
fn large_arguments_take_linear_time() {
    let start = Instant::now();
    let large = "x".repeat(10 << 20);
    let message = translated(&interleaved(1, &["{\"a\":\"", &large, "\"}"])).whole();
    assert_eq!(message["content"][0]["input"]["a"], large);
    let small = "x".repeat(1 << 12);
    let mut pieces = vec!["{\"a\":\""];
    pieces.extend([small.as_str(); 1000]);
    pieces.push("\"}");
    let message = translated(&interleaved(2, &pieces)).whole();
    let text = message["content"][1]["input"]["a"].as_str().unwrap();
    assert_eq!(text.len(), 1000 << 12);
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn what_waits_is_bounded() {
    let large = "x".repeat(1 << 20);
    let client = translated(&interleaved(2, &[large.as_str(); 17]));
    assert_eq!(
        client.error.unwrap()["message"],
        "the provider sends more at once than can be put in order"
    );
    assert!(!client.has_stopped);
    let id = "c".repeat(1 << 16);
    let many: Vec<String> = (0..257).map(|index| begin(index, &id)).collect();
    let (_, read) = translated_events(FROM_CHAT, &many);
    assert_eq!(read.unwrap_err().reason, "there are too many tool calls");
}

#[test]
fn what_is_not_of_the_protocol_is_unreadable() {
    let call =
        |call: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}}}}]}}"#);
    let events = [
        // A character that is cut in halves.
        r#"{"choices":[{"index":0,"delta":{"content":"\ud83d"}}]}"#.to_owned(),
        r#"{"choices":[{"index":0,"delta":{"content":"\ude00"}}]}"#.to_owned(),
        "[1, 2".to_owned(),
        "[]".to_owned(),
        "\"x\"".to_owned(),
        r#"{"choices":{}}"#.to_owned(),
        r#"{"choices":[{"index":0,"delta":{"content":7}}]}"#.to_owned(),
        r#"{"choices":[{"index":0,"delta":{"tool_calls":{}}}]}"#.to_owned(),
        call(r#"{"index":-1,"function":{"name":"f"}}"#),
        call(r#"{"index":1e300,"function":{"name":"f"}}"#),
        call(r#"{"index":"0","function":{"name":"f"}}"#),
        call(r#"{"index":3,"function":{"arguments":"{}"}}"#),
        call(r#"{"index":0,"function":{"name":"f","arguments":7}}"#),
    ];
    for event in events {
        let (_, read) = translated_events(FROM_CHAT, std::slice::from_ref(&event));
        assert!(read.is_err(), "{event}");
    }
}

#[test]
fn the_greatest_index_is_one_as_any_other() {
    let function = json!({"name": "f", "arguments": "{}"});
    let call = json!({"index": u64::MAX, "id": "c", "function": function});
    let [finish, done] = ending("tool_calls");
    let events = [chunk(&json!({"tool_calls": [call]})), finish, done];
    assert_eq!(translated(&events).whole()["content"][0]["id"], "c");
}

#[test]
fn values_of_wrong_types_do_no_harm() {
    let function = json!({"name": "f", "arguments": "{}"});
    let delta = json!({"role": "assistant", "reasoning_content": "a", "refusal": "c",
        "reasoning_details": [{"text": "b"}], "function_call": function,
        "content": [{"type": "text", "text": "d"}, {"thinking": [{"text": "e"}]}],
        "tool_calls": [{"index": 0, "id": "c", "function": function},
            {"index": 1, "id": "d", "custom": {"name": "f", "input": "{}"}}]});
    let event = json!({"id": "chatcmpl-1", "object": "error", "error": null,
        "choices": [{"index": 0, "finish_reason": "stop", "delta": delta, "message": delta}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 1}}});
    for pointer in pointers(&event) {
        for value in odd_values() {
            let mut odd: Value = event.clone();
            *odd.pointer_mut(&pointer).unwrap() = value;
            let (events, _) = translated_events(FROM_CHAT, &[odd.to_string(), "[DONE]".into()]);
            MessagesStreamClient::from_events(&events);
            if let Ok(message) = super::translated_whole(&odd) {
                assert_eq!(message["type"], "message");
            }
        }
    }
}
