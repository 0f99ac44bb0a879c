//! Tests of the reader.

use super::*;
use crate::responses::tests::{Random, context, odd_values, parse, pointers};
use crate::responses::write_response;
use crate::superset::Usage;
use serde_json::{Value, json};

fn whole() -> Value {
    json!({"id": "resp_1", "object": "response", "status": "completed", "error": null, "incomplete_details": null,
        "output": [
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed", "summary": [
                {"type": "summary_text", "text": "One"}, {"type": "summary_text", "text": "Two"}],
                "content": [{"type": "reasoning_text", "text": "Three"}]},
            {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "sealed too"},
            {"type": "reasoning", "id": "rs_3", "summary": []},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "Hi", "annotations": []}, {"type": "output_text", "text": ""},
                {"type": "refusal", "refusal": "No"}, {"type": "output_audio"}]},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{\"a\":1}"},
            {"type": "function_call", "id": "fc_2", "call_id": "", "name": "f", "arguments": {"a": 1.0}},
            {"type": "function_call", "id": "fc_3", "call_id": "c3", "name": "f", "arguments": null},
            {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c4", "name": "g", "input": "free"}],
        "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
            "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 14}})
}

#[test]
fn items_are_parts() {
    let document = parse(&whole());
    let response = read_response(document.root()).unwrap();
    assert_eq!(
        format!("{:?}", response.parts).replace("EscapedText", ""),
        [
            r#"[Thinking { text: ("One\\n\\nTwo\\n\\nThree"), signature: Some(("sealed")) }, "#,
            r#"SealedThinking(("sealed too")), Text(("Hi")), Refusal(("No")), "#,
            r#"ToolCall { id: ("c1"), name: ("f"), arguments: Text(("{\\\"a\\\":1}")) }, "#,
            r#"ToolCall { id: ("fc_2"), name: ("f"), arguments: Object("{\"a\":1.0}") }, "#,
            r#"ToolCall { id: ("c3"), name: ("f"), arguments: Text(("")) }, "#,
            r#"ToolCall { id: ("c4"), name: ("g"), arguments: FreeText(("free")) }]"#,
        ]
        .concat()
    );
    assert_eq!(response.id.unwrap().decoded(), "resp_1");
    assert_eq!(response.finish, Some(FinishReason::ToolCalls));
    let usage = Usage {
        input: 9,
        cache_read: 4,
        cache_write: 1,
        output: 5,
        reasoning: Some(2),
    };
    assert_eq!(response.usage, Some(usage));
}

#[test]
fn the_status_is_why_a_response_ends() {
    let incomplete =
        |reason: Value| json!({"status": "incomplete", "output": [], "incomplete_details": reason});
    let cases = [
        (
            json!({"status": "completed", "output": []}),
            Ok(FinishReason::Stop),
        ),
        (
            incomplete(json!({"reason": "max_output_tokens"})),
            Ok(FinishReason::Length),
        ),
        (
            incomplete(json!({"reason": "max_messages"})),
            Ok(FinishReason::Length),
        ),
        (
            incomplete(json!({"reason": "content_filter"})),
            Ok(FinishReason::ContentFilter),
        ),
        (
            incomplete(json!({"reason": "steered"})),
            Ok(FinishReason::Pause),
        ),
        (incomplete(json!(null)), Ok(FinishReason::Length)),
        (
            json!({"status": "failed", "output": [], "error": {"code": "server_error", "message": "Sorry"}}),
            Err("the response failed: server_error: Sorry"),
        ),
        (
            json!({"status": "queued", "output": []}),
            Err("its status is `queued`"),
        ),
        (json!({"output": []}), Err("its status is ``")),
        (json!({"status": "completed"}), Err("it has no `output`")),
        (json!([]), Err("it has no `output`")),
        (
            json!({"status": "completed", "output": [{"type": "function_call", "call_id": "c"}]}),
            Err("its `output[0]` has no text `name`"),
        ),
        (
            json!({"status": "completed", "output": [7]}),
            Err("its `output[0]` has no text `type`"),
        ),
    ];
    for (body, expected) in cases {
        let document = parse(&body);
        let finish = read_response(document.root()).map(|response| response.finish.unwrap());
        assert_eq!(finish, expected.map_err(str::to_owned), "{body}");
    }
}

#[test]
fn a_response_that_is_read_and_written_again_is_the_same() {
    for seed in 0..300 {
        let response = Random::new(seed).response();
        let written = write_response(&response, &context()).unwrap();
        let document = parse(&serde_json::from_slice(&written).unwrap());
        let read = read_response(document.root()).unwrap();
        let again = write_response(&read, &context()).unwrap();
        let as_json = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap();
        assert_eq!(as_json(&again), as_json(&written), "seed {seed}");
    }
}

#[test]
fn a_value_of_any_type_in_any_place_is_no_panic() {
    let body = whole();
    for pointer in pointers(&body) {
        for value in odd_values() {
            let mut changed = body.clone();
            *changed.pointer_mut(&pointer).unwrap() = value;
            let document = parse(&changed);
            if let Ok(response) = read_response(document.root()) {
                drop(write_response(&response, &context()));
            }
        }
    }
}
