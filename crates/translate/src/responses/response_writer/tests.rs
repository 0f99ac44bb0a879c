//! Tests of the writer. That whole responses equal streamed ones is a test of streams.

use crate::escaped_text::EscapedText;
use crate::responses::tests::context;
use crate::responses::write_response;
use crate::superset::{Arguments, FinishReason, OutputPart, Response};
use serde_json::{Value, json};

#[test]
fn parts_are_items() {
    let text = EscapedText::literal;
    let response = Response {
        id: Some(text("chatcmpl-1")),
        parts: vec![
            OutputPart::Thinking {
                text: text("Hm"),
                signature: None,
            },
            OutputPart::SealedThinking(text("sealed")),
            OutputPart::Text(text(r"caf\u00e9 \/ 1")),
            OutputPart::Text(text("two")),
            OutputPart::ToolCall {
                id: text("c1"),
                name: text("f"),
                arguments: Arguments::Object(r#"{"a": 1.0}"#),
            },
            OutputPart::ToolCall {
                id: text("c2"),
                name: text("free"),
                arguments: Arguments::Object(r#"{"input":"a\n\"b\""}"#),
            },
            OutputPart::Text(text("three")),
        ],
        finish: Some(FinishReason::Length),
        stop_sequence: None,
        usage: None,
    };
    let body = write_response(&response, &context()).unwrap();
    let written = std::str::from_utf8(&body).unwrap();
    assert!(
        written.contains(r#""text":"caf\u00e9 \/ 1""#),
        "escapes stay as they are"
    );
    let body: Value = serde_json::from_slice(&body).unwrap();
    let part =
        |text| json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
    let expected = json!([
        {"id": "rs_0a1b_0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"id": "rs_0a1b_1", "type": "reasoning", "summary": [], "encrypted_content": "sealed"},
        {"id": "msg_0a1b_2", "type": "message", "role": "assistant", "status": "completed",
            "content": [part("café / 1"), part("two")]},
        {"id": "fc_0a1b_3", "type": "function_call", "status": "completed", "call_id": "c1", "name": "f",
            "arguments": "{\"a\": 1.0}"},
        {"id": "ctc_0a1b_4", "type": "custom_tool_call", "status": "completed", "call_id": "c2", "name": "free",
            "input": "a\n\"b\""},
        {"id": "msg_0a1b_5", "type": "message", "role": "assistant", "status": "incomplete",
            "content": [part("three")]},
    ]);
    assert_eq!(body["output"], expected);
    assert_eq!(
        body["incomplete_details"],
        json!({"reason": "max_output_tokens"})
    );
}

#[test]
fn a_response_without_a_reason_for_its_end_is_an_error() {
    let error = write_response(&Response::default(), &context()).unwrap_err();
    assert_eq!(error, "it has no reason for its end");
}
