//! Tests that a forbidden word never reaches the caller of a stream, wherever the word is cut.

use crate::harness::error_shape::assert_error_event;
use crate::harness::service::{FORBIDDEN, STREAM_HEAD, gateway_with_checks, moderation};
use crate::harness::{
    Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, WholeResponse,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;

struct Setup {
    gateway: Gateway,
    provider: ScriptedProvider,
    _service: ScriptedProvider,
}

impl Setup {
    /// A gateway whose text routes hold streams in this window.
    async fn with(hold: &Value) -> Self {
        let service = moderation().await;
        let provider = ScriptedProvider::answering("").await;
        let settings = json!({"hold": hold});
        let limits = json!({"timeout": "10s"});
        Self {
            gateway: gateway_with_checks(&provider, &service, limits, &settings).await,
            provider,
            _service: service,
        }
    }

    /// The response to a request for a stream that the provider sends in these pieces.
    async fn stream(&self, protocol: Protocol, pieces: &[&str]) -> WholeResponse {
        let mut script = vec![ScriptedResponse::Send(STREAM_HEAD.into())];
        for piece in pieces {
            script.push(ScriptedResponse::Send((*piece).into()));
            script.push(ScriptedResponse::Wait(Duration::from_millis(2)));
        }
        script.push(ScriptedResponse::Close);
        self.provider.next(script);
        self.gateway.ask(&Request::ask_stream(protocol)).await
    }
}

/// An event with a piece of text.
fn delta(protocol: Protocol, text: &str) -> String {
    match protocol {
        Protocol::Chat => {
            let data = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
            format!("data: {data}\n\n")
        }
        Protocol::Messages => {
            let data = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
            format!("event: content_block_delta\ndata: {data}\n\n")
        }
        _ => {
            let data = json!({"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": text});
            format!("event: response.output_text.delta\ndata: {data}\n\n")
        }
    }
}

/// The events that end a stream.
fn end(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Chat => {
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
        }
        Protocol::Messages => "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        _ => {
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"output\":[]}}\n\n"
        }
    }
}

/// The text of the events that arrived.
fn text_of(received: &str) -> String {
    let data = received
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let events = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let texts = events.map(|event| {
        let texts = [
            &event["choices"][0]["delta"]["content"],
            &event["delta"]["text"],
            &event["delta"],
        ];
        let text = texts.into_iter().find_map(Value::as_str);
        text.unwrap_or_default().to_owned()
    });
    texts.collect()
}

fn assert_denied(protocol: Protocol, answer: &WholeResponse, what: &str) {
    let received = answer.text();
    assert!(
        !text_of(&received).contains(FORBIDDEN),
        "{what}: {received}"
    );
    assert_eq!(
        (answer.status, answer.whole),
        (200, false),
        "{what}: {received}"
    );
    assert_error_event(protocol, answer);
    assert!(received.contains("not here"), "{what}: {received}");
    for last in ["[DONE]", "message_stop", "response.completed"] {
        assert!(!received.contains(last), "{what}: {received}");
    }
}

#[tokio::test]
async fn a_word_that_is_cut_across_events_is_found_in_every_window() {
    for hold in [
        json!({"events": 1}),
        json!({"events": 2}),
        json!({"events": 3, "overlap": "16"}),
        json!({"bytes": "64", "overlap": "9"}),
        json!({"time": "1ms"}),
        json!({}),
    ] {
        let setup = Setup::with(&hold).await;
        for protocol in PROTOCOLS {
            for cut in 0..=FORBIDDEN.len() {
                let (start, rest) = FORBIDDEN.split_at(cut);
                let events = [
                    delta(protocol, "a good start"),
                    delta(protocol, &format!("and then {start}")),
                    delta(protocol, &format!("{rest} after")),
                    end(protocol).to_owned(),
                ];
                let pieces: Vec<&str> = events.iter().map(String::as_str).collect();
                let answer = setup.stream(protocol, &pieces).await;
                assert_denied(protocol, &answer, &format!("{hold}, cut at {cut}"));
            }
        }
    }
}

#[tokio::test]
async fn a_word_of_one_letter_for_each_event_is_found() {
    for hold in [json!({"events": 1}), json!({"events": 4}), json!({})] {
        let setup = Setup::with(&hold).await;
        for protocol in PROTOCOLS {
            let mut events: Vec<String> = FORBIDDEN
                .chars()
                .map(|letter| delta(protocol, &letter.to_string()))
                .collect();
            events.push(end(protocol).to_owned());
            let pieces: Vec<&str> = events.iter().map(String::as_str).collect();
            let answer = setup.stream(protocol, &pieces).await;
            assert_denied(protocol, &answer, &hold.to_string());
        }
    }
}

#[tokio::test]
async fn a_word_is_found_wherever_the_bytes_of_the_stream_are_cut() {
    let setup = Setup::with(&json!({"events": 1})).await;
    for protocol in PROTOCOLS {
        let (start, rest) = FORBIDDEN.split_at(4);
        let stream = [
            delta(protocol, start),
            delta(protocol, rest),
            end(protocol).to_owned(),
        ]
        .concat();
        for cut in 1..stream.len() {
            let (first, second) = stream.split_at(cut);
            let answer = setup.stream(protocol, &[first, second]).await;
            assert_denied(protocol, &answer, &format!("cut at byte {cut}"));
        }
    }
}

#[tokio::test]
async fn escapes_and_other_choices_between_the_pieces_hide_nothing() {
    let setup = Setup::with(&json!({"events": 1})).await;
    let escaped = delta(Protocol::Chat, FORBIDDEN).replace("forb", "\\u0066\\u006Frb");
    let tool = |index: u64, text: &str| {
        let call = json!({"index": 0, "function": {"arguments": text}});
        let data = json!({"choices": [{"index": index, "delta": {"tool_calls": [call]}}]});
        format!("data: {data}\n\n")
    };
    let other = json!({"choices": [{"index": 1, "delta": {"content": "between"}}]});
    let other = format!("data: {other}\n\n");
    for events in [
        vec![escaped],
        vec![
            delta(Protocol::Chat, "forb"),
            other.clone(),
            delta(Protocol::Chat, "idden"),
        ],
        vec![tool(0, "forb"), tool(1, "x"), tool(0, "idden")],
        vec![
            delta(Protocol::Chat, "forb"),
            ": comment\n\n".into(),
            delta(Protocol::Chat, "idden"),
        ],
    ] {
        let end = end(Protocol::Chat);
        let mut pieces: Vec<&str> = events.iter().map(String::as_str).collect();
        pieces.push(end);
        let answer = setup.stream(Protocol::Chat, &pieces).await;
        let received = answer.text();
        assert!(!answer.whole && received.contains("not here"), "{received}");
        assert!(!received.contains("idden"), "{received}");
        assert!(!received.contains("[DONE]"), "{received}");
    }
}

#[tokio::test]
async fn a_response_that_only_repeats_its_text_at_the_end_is_checked_too() {
    let setup = Setup::with(&json!({})).await;
    for data in [
        json!({"type": "response.output_text.done", "item_id": "i", "output_index": 0, "content_index": 0, "text": FORBIDDEN}),
        json!({"type": "response.completed", "response": {"id": "r", "output": [], "note": FORBIDDEN}}),
        json!({"type": "response.completed", "response": {"id": "r", "output": []}, "note": FORBIDDEN}),
        json!({"type": "response.completed", "response": {"id": "r", "output": [{"type": "message", "content": [{"type": "output_text", "text": FORBIDDEN}]}]}}),
    ] {
        let event = format!(
            "event: {}\ndata: {data}\n\n",
            data["type"].as_str().unwrap()
        );
        let pieces = [
            &delta(Protocol::Responses, "fine"),
            &*event,
            end(Protocol::Responses),
        ];
        let answer = setup.stream(Protocol::Responses, &pieces).await;
        assert!(!answer.text().contains(FORBIDDEN), "{}", answer.text());
        assert!(answer.text().contains("not here"), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_word_that_is_escaped_in_arguments_of_a_tool_is_found_wherever_it_is_cut() {
    let setup = Setup::with(&json!({"events": 1})).await;
    let arguments = r#"{"id":"\u0066orbi\u0064den"}"#;
    for protocol in PROTOCOLS {
        let piece = |text: &str| {
            let data = match protocol {
                Protocol::Chat => {
                    let call = json!({"index": 0, "function": {"arguments": text}});
                    json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
                }
                Protocol::Messages => json!({
                    "type": "content_block_delta", "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": text},
                }),
                _ => json!({
                    "type": "response.function_call_arguments.delta", "item_id": "i",
                    "output_index": 0, "delta": text,
                }),
            };
            match data["type"].as_str() {
                Some(class) => format!("event: {class}\ndata: {data}\n\n"),
                None => format!("data: {data}\n\n"),
            }
        };
        for cut in 1..arguments.len() {
            let (first, second) = arguments.split_at(cut);
            let pieces = [&*piece(first), &*piece(second), end(protocol)];
            let received = setup.stream(protocol, &pieces).await.text();
            assert!(received.contains("not here"), "cut at {cut}: {received}");
        }
    }
}
