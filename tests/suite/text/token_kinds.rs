//! Tests of all kinds of tokens that a provider counts: in the log, and in the metric with the protocol's name.

use crate::harness::http_response::{json_response, typed_response};
use crate::harness::{Gateway, Request, ScriptedProvider, config};
use headgate_protocol::Protocol;
use serde_json::json;

/// The names in the log and in the metric, and the expected count.
type Counts = &'static [(&'static str, &'static str, u64)];

#[tokio::test]
async fn every_kind_of_tokens_is_logged_and_counted_under_the_protocols_name() {
    let chat = json!({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
        "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 7},
        "completion_tokens_details": {"reasoning_tokens": 20}});
    let messages = json!({"input_tokens": 100, "output_tokens": 50,
        "cache_read_input_tokens": 30, "cache_creation_input_tokens": 7,
        "output_tokens_details": {"thinking_tokens": 20}});
    let responses = json!({"input_tokens": 100, "output_tokens": 50, "total_tokens": 150,
        "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 7},
        "output_tokens_details": {"reasoning_tokens": 20}});
    let of_chat: Counts = &[
        ("input_tokens", "input", 100),
        ("output_tokens", "output", 50),
        ("cached_input_tokens", "cached_tokens", 30),
        ("cache_write_tokens", "cache_write_tokens", 7),
        ("reasoning_tokens", "reasoning_tokens", 20),
        ("total_tokens", "", 150),
    ];
    let of_messages: Counts = &[
        ("input_tokens", "input", 100),
        ("output_tokens", "output", 50),
        ("cached_input_tokens", "cache_read_input_tokens", 30),
        ("cache_write_tokens", "cache_creation_input_tokens", 7),
        ("reasoning_tokens", "thinking_tokens", 20),
    ];
    let cases = [
        (
            Protocol::Chat,
            json!({"object": "chat.completion", "choices": [], "usage": chat}),
            vec![
                json!({"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": chat}),
            ],
            of_chat,
        ),
        (
            Protocol::Messages,
            json!({"type": "message", "content": [], "usage": messages}),
            vec![
                json!({"type": "message_start", "message": {"usage": {"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 7}}}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 50, "output_tokens_details": {"thinking_tokens": 20}}}),
                json!({"type": "message_stop"}),
            ],
            of_messages,
        ),
        (
            Protocol::Responses,
            json!({"object": "response", "id": "resp_1", "usage": responses}),
            vec![
                json!({"type": "response.completed", "response": {"id": "resp_1", "usage": responses}}),
            ],
            of_chat,
        ),
    ];
    for (protocol, whole, events, counts) in cases {
        let events: Vec<String> = events
            .iter()
            .map(|event| match event["type"].as_str() {
                Some(name) => format!("event: {name}\ndata: {event}\n\n"),
                None => format!("data: {event}\n\n"),
            })
            .chain((protocol == Protocol::Chat).then(|| "data: [DONE]\n\n".to_string()))
            .collect();
        for (streamed, answer) in [
            (false, json_response(200, whole)),
            (
                true,
                typed_response(200, "text/event-stream", events.concat()),
            ),
        ] {
            let gateway = Gateway::start(&config::standard(
                &ScriptedProvider::answering(answer).await.url(),
            ))
            .await;
            let request = match streamed {
                false => Request::ask(protocol),
                true => Request::ask_stream(protocol),
            };
            let line = gateway.log_of(&gateway.ask(&request).await).await;
            let metrics = gateway.metrics().await;
            for (field, kind, count) in counts {
                assert_eq!(
                    line[field], *count,
                    "{protocol:?} {streamed} {field}: {line}"
                );
                if !kind.is_empty() {
                    let counted = metrics.sum("headgate_tokens_total", &[("kind", kind)]);
                    assert_eq!(counted, *count as f64, "{protocol:?} {streamed} {kind}");
                }
            }
        }
    }
}
