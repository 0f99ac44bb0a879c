//! Tests of the writer: each event of a stream, and streams of random pieces.

use super::*;
use crate::responses::tests::{Mixing, Random, ResponsesStreamClient, context, streamed};
use crate::responses::write_response;
use serde_json::{Value, json};

fn text(text: &'static str) -> EscapedText<'static> {
    EscapedText::plain(text)
}

/// The end of a stream.
fn end(reason: FinishReason) -> [StreamPiece<'static>; 2] {
    let stop_sequence = None;
    [
        StreamPiece::Finish {
            reason,
            stop_sequence,
        },
        StreamPiece::End,
    ]
}

fn client(context: ResponseContext, pieces: &[StreamPiece<'_>]) -> ResponsesStreamClient {
    let mut writer = ResponsesStreamWriter::new(context);
    let mut events = Vec::new();
    for piece in pieces {
        writer.write(piece, &mut events);
    }
    let mut client = ResponsesStreamClient::default();
    events.iter().for_each(|event| client.take(event));
    client
}

#[test]
fn each_part_has_its_events() {
    let usage = Usage {
        input: 9,
        cache_read: 4,
        cache_write: 1,
        output: 5,
        reasoning: Some(2),
    };
    let client = client(
        context(),
        &[
            StreamPiece::Start {
                id: None,
                usage: None,
            },
            StreamPiece::Thinking {
                part: 0,
                text: text("Hm"),
            },
            StreamPiece::Signature {
                part: 0,
                signature: text("proof"),
            },
            StreamPiece::PartEnd { part: 0 },
            StreamPiece::Text {
                part: 1,
                text: text(""),
            },
            StreamPiece::Text {
                part: 1,
                text: text("Let me "),
            },
            StreamPiece::Text {
                part: 1,
                text: text("see"),
            },
            StreamPiece::PartEnd { part: 1 },
            StreamPiece::Refusal {
                part: 2,
                text: text("No"),
            },
            StreamPiece::PartEnd { part: 2 },
            StreamPiece::ToolCall {
                part: 3,
                id: text("c1"),
                name: text("f"),
            },
            StreamPiece::ToolCall {
                part: 4,
                id: text("c2"),
                name: text("free"),
            },
            StreamPiece::Arguments {
                part: 4,
                json: text("{\"input\":\"one\\n"),
            },
            StreamPiece::Arguments {
                part: 3,
                json: text("{\"a\""),
            },
            StreamPiece::Arguments {
                part: 3,
                json: text(":1}"),
            },
            StreamPiece::PartEnd { part: 3 },
            StreamPiece::Arguments {
                part: 4,
                json: text("two\"}"),
            },
            StreamPiece::PartEnd { part: 4 },
            StreamPiece::Finish {
                reason: FinishReason::ToolCalls,
                stop_sequence: None,
            },
            StreamPiece::Usage(usage),
            StreamPiece::End,
            StreamPiece::End,
        ],
    );
    let names = client.names();
    let names: Vec<&str> = names
        .iter()
        .map(|name| &name["response.".len()..])
        .collect();
    let expected = "created in_progress \
        output_item.added reasoning_summary_part.added reasoning_summary_text.delta \
        reasoning_summary_text.done reasoning_summary_part.done output_item.done \
        output_item.added content_part.added output_text.delta output_text.delta output_text.done content_part.done \
        content_part.added refusal.delta refusal.done content_part.done output_item.done \
        output_item.added function_call_arguments.delta function_call_arguments.delta \
        function_call_arguments.done output_item.done \
        output_item.added custom_tool_call_input.delta custom_tool_call_input.done output_item.done completed";
    assert_eq!(names.join(" "), expected);
    let response = client.response.unwrap();
    let expected = json!([
        {"type": "reasoning", "id": "rs_0a1b_0", "encrypted_content": "proof",
            "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"type": "message", "id": "msg_0a1b_1", "status": "completed", "role": "assistant", "content": [
            {"type": "output_text", "text": "Let me see", "annotations": [], "logprobs": []},
            {"type": "refusal", "refusal": "No"}]},
        {"type": "function_call", "id": "fc_0a1b_2", "status": "completed", "call_id": "c1", "name": "f",
            "arguments": "{\"a\":1}"},
        {"type": "custom_tool_call", "id": "ctc_0a1b_3", "status": "completed", "call_id": "c2", "name": "free",
            "input": "one\ntwo"},
    ]);
    assert_eq!(response["output"], expected);
    let expected = json!({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 14});
    assert_eq!(response["usage"], expected);
}

#[test]
fn a_response_has_what_its_types_demand_and_repeats_the_request() {
    let mut repeating = context();
    repeating.repeated = vec![
        ("instructions", "\"Be brief.\"".into()),
        ("tools", "[\n{\"type\": \"web_search\"}\n]".into()),
        ("text", "{\"verbosity\": \"low\"}".into()),
    ];
    let pieces = end(FinishReason::Stop);
    let bare = client(context(), &pieces).response.unwrap();
    let mut expected = json!({"id": "resp_0a1b", "object": "response", "created_at": 1_700_000_000,
        "status": "completed", "background": false, "error": null, "incomplete_details": null, "model": "m",
        "output": [], "previous_response_id": null, "store": false, "usage": null, "instructions": null,
        "metadata": {}, "parallel_tool_calls": true, "temperature": null, "tool_choice": "auto", "tools": [],
        "top_p": null});
    assert_eq!(bare, expected);
    let repeated = client(repeating, &pieces).response.unwrap();
    expected["instructions"] = "Be brief.".into();
    expected["tools"] = json!([{"type": "web_search"}]);
    expected["text"] = json!({"verbosity": "low"});
    assert_eq!(repeated, expected);
}

#[test]
fn a_paused_turn_fails_since_nobody_would_continue_it() {
    let response = streamed(&end(FinishReason::Pause));
    assert_eq!(response["status"], "failed");
    let message = &response["error"]["message"];
    assert_eq!(message, "the provider paused the turn");
}

#[test]
fn a_stream_ends_as_its_response() {
    let cases = [
        (FinishReason::Stop, "completed", json!(null)),
        (FinishReason::StopSequence, "completed", json!(null)),
        (FinishReason::ToolCalls, "completed", json!(null)),
        (
            FinishReason::Length,
            "incomplete",
            json!({"reason": "max_output_tokens"}),
        ),
        (
            FinishReason::ContextWindow,
            "incomplete",
            json!({"reason": "max_output_tokens"}),
        ),
        (
            FinishReason::ContentFilter,
            "incomplete",
            json!({"reason": "content_filter"}),
        ),
    ];
    for (finish, status, details) in cases {
        let mut pieces = vec![
            StreamPiece::ToolCall {
                part: 0,
                id: text("c"),
                name: text("f"),
            },
            StreamPiece::PartEnd { part: 0 },
            StreamPiece::Text {
                part: 1,
                text: text("a"),
            },
            StreamPiece::PartEnd { part: 1 },
        ];
        pieces.extend(end(finish));
        let response = streamed(&pieces);
        assert_eq!(response["status"], status);
        assert_eq!(response["incomplete_details"], details);
        assert_eq!(response["output"][0]["status"], "completed");
        assert_eq!(response["output"][1]["status"], status);
    }
}

#[test]
fn an_error_ends_the_stream_with_what_came_before_it() {
    let codes = [
        (None, "server_error"),
        (Some("overloaded_error"), "server_error"),
        (Some("rate_limit_error"), "rate_limit_exceeded"),
        (Some("invalid_request_error"), "invalid_prompt"),
        (Some("insufficient_quota"), "insufficient_quota"),
    ];
    for (code, expected) in codes {
        let response = streamed(&[
            StreamPiece::Text {
                part: 0,
                text: text("a"),
            },
            StreamPiece::ToolCall {
                part: 1,
                id: text("c"),
                name: text("f"),
            },
            StreamPiece::PartEnd { part: 1 },
            StreamPiece::Error {
                message: text("so \"sorry\""),
                code: code.map(text),
            },
            StreamPiece::Text {
                part: 0,
                text: text("b"),
            },
            StreamPiece::End,
        ]);
        assert_eq!(response["status"], "failed");
        assert_eq!(
            response["error"],
            json!({"code": expected, "message": "so \"sorry\""})
        );
        assert_eq!(response["output"][0]["content"][0]["text"], "a");
        assert_eq!(response["output"][0]["status"], "incomplete");
        assert_eq!(response["output"][1]["status"], "completed");
    }
}

#[test]
fn a_stream_without_a_reason_for_its_end_is_an_error() {
    let response = streamed(&[
        StreamPiece::Text {
            part: 0,
            text: text("a"),
        },
        StreamPiece::End,
    ]);
    assert_eq!(response["status"], "failed");
    let message = "the provider's stream ended without a reason";
    assert_eq!(
        response["error"],
        json!({"code": "server_error", "message": message})
    );
    assert_eq!(response["output"][0]["status"], "incomplete");
}

#[test]
fn a_response_that_cannot_be_repeated_is_an_error() {
    let signature = EscapedText::plain(&"x".repeat(1 << 20));
    let part = 0;
    let mut pieces = vec![StreamPiece::Signature { part, signature }; 65];
    pieces.push(StreamPiece::End);
    let response = streamed(&pieces);
    assert_eq!(response["status"], "failed");
    assert_eq!(response["error"]["code"], "server_error");
}

#[test]
fn a_stream_gives_the_same_response_as_a_whole_one() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let response = random.response();
        let pieces = random.pieces(&response, Mixing::All);
        let streamed = streamed(&pieces);
        let whole: Value =
            serde_json::from_slice(&write_response(&response, &context()).unwrap()).unwrap();
        assert_eq!(streamed, whole, "seed {seed}: {pieces:?}");
    }
}

#[test]
fn a_thousand_mixed_calls_take_linear_time() {
    let mut pieces = Vec::new();
    for part in 0..1000 {
        pieces.push(StreamPiece::ToolCall {
            part,
            id: text("c"),
            name: text("f"),
        });
    }
    for _ in 0..20 {
        pieces.extend((0..1000).map(|part| StreamPiece::Arguments {
            part,
            json: text("[]"),
        }));
    }
    pieces.extend(end(FinishReason::ToolCalls));
    let response = streamed(&pieces);
    let output = response["output"].as_array().unwrap();
    assert_eq!(output.len(), 1000);
    assert!(
        output
            .iter()
            .all(|item| item["arguments"].as_str().unwrap().len() == 40)
    );
}

#[test]
fn pieces_in_any_order_give_a_stream_that_clients_can_read() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let response = random.response();
        let mut pieces = random.pieces(&response, Mixing::All);
        for end in (1..pieces.len()).rev() {
            pieces.swap(end, random.below(end + 1));
        }
        pieces.push(StreamPiece::End);
        let response = streamed(&pieces);
        assert!(response["output"].is_array());
    }
}

#[test]
fn calls_that_come_at_once_are_items_one_after_the_other() {
    let call = |part: u32| StreamPiece::ToolCall {
        part,
        id: EscapedText::plain(&format!("call_{part}")),
        name: text("look"),
    };
    let arguments = |part: u32, json: &'static str| StreamPiece::Arguments {
        part,
        json: text(json),
    };
    let part_end = |part: u32| StreamPiece::PartEnd { part };
    let pieces = [
        call(0),
        call(1),
        arguments(0, "{"),
        arguments(1, "{"),
        call(2),
        arguments(2, "{}"),
        arguments(0, "}"),
        arguments(1, "}"),
        part_end(2),
        part_end(0),
        part_end(1),
    ];
    let mut pieces = pieces.to_vec();
    pieces.extend(end(FinishReason::ToolCalls));
    let mut writer = ResponsesStreamWriter::new(context());
    let mut events = Vec::new();
    for piece in &pieces {
        writer.write(piece, &mut events);
    }
    let events: Vec<Value> = events
        .iter()
        .map(|event| serde_json::from_slice(event.data()).unwrap())
        .collect();
    let indexes = events
        .iter()
        .filter_map(|event| event["output_index"].as_u64());
    let indexes: Vec<_> = indexes.collect();
    assert!(indexes.is_sorted(), "{indexes:?}");
    let output = events.last().unwrap()["response"]["output"]
        .as_array()
        .unwrap();
    let calls: Vec<_> = output
        .iter()
        .map(|item| (&item["call_id"], &item["arguments"], &item["status"]))
        .map(|(id, arguments, status)| json!([id, arguments, status]))
        .collect();
    let expected = ["call_0", "call_1", "call_2"].map(|id| json!([id, "{}", "completed"]));
    assert_eq!(calls, expected);
}
