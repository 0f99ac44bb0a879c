//! Tests of what a request costs of which a provider reports nothing that can be believed, and of requests whose cost has no bound.

use super::budgets::{NANOS, budget_config, chat, key};
use crate::harness::config::{CREDENTIALS, channel, without_cool_downs};
use crate::harness::error_shape::assert_error_body;
use crate::harness::forms::form;
use crate::harness::http_response::json_response;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, WholeResponse};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// What a token of output costs, in billionths; input is free.
const TOKEN: u64 = 10_000;
/// The tokens that a request reserves.
const RESERVED: u64 = 1_000;
const BUDGET: u64 = 1_000_000_000;

/// A gateway whose caller has a budget, before a provider that responds with this.
async fn gateway(acts: Vec<ScriptedResponse>) -> (Gateway, ScriptedProvider) {
    let provider = ScriptedProvider::start(acts).await;
    let mut config = budget_config(&provider.url(), &json!("memory"), 1, BUDGET);
    without_cool_downs(&mut config);
    (Gateway::start(&config).await, provider)
}

/// The tokens of output that a response was charged.
async fn charge(gateway: &Gateway, response: &WholeResponse) -> u64 {
    let line = gateway.log_of(response).await;
    let charge = line["budget_charge"].as_f64();
    (charge.unwrap_or(0.0) * NANOS).round() as u64 / TOKEN
}

fn whole(usage: &Value) -> Vec<ScriptedResponse> {
    whole_with("one two three", usage)
}

fn whole_with(text: &str, usage: &Value) -> Vec<ScriptedResponse> {
    let message = json!({"role": "assistant", "content": text});
    let mut body = json!({
        "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    });
    if !usage.is_null() {
        body["usage"] = usage.clone();
    }
    vec![ScriptedResponse::Send(json_response(200, body))]
}

fn event(delta: &Value, finish: &Value) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    let chunk = json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice],
    });
    format!("data: {chunk}\n\n")
}

fn streamed(events: &str) -> ScriptedResponse {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    ScriptedResponse::Send(format!("{head}{events}").into_bytes())
}

fn stream() -> Request {
    let chat = chat("demo-large", 0, RESERVED).body.unwrap();
    let mut body: Value = serde_json::from_slice(&chat).unwrap();
    body["stream"] = true.into();
    Request::to(Protocol::Chat, body.to_string()).key(&key(0))
}

#[tokio::test]
async fn a_whole_response_costs_what_was_reserved_unless_its_usage_is_whole_and_possible() {
    for (usage, expected) in [
        (
            json!({"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}),
            7,
        ),
        (
            json!({"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9}),
            0,
        ),
        (Value::Null, RESERVED),
        (json!({}), RESERVED),
        // Input has no price.
        (json!({"completion_tokens": 7}), 7),
        (json!({"prompt_tokens": 9}), RESERVED),
        (
            json!({"prompt_tokens": 9, "completion_tokens": -1000}),
            RESERVED,
        ),
        (
            json!({"prompt_tokens": "9", "completion_tokens": "7"}),
            RESERVED,
        ),
        (
            json!({"prompt_tokens": 9, "completion_tokens": 900_000_000, "total_tokens": 900_000_009}),
            RESERVED,
        ),
    ] {
        let (gateway, _provider) = gateway(whole(&usage)).await;
        let response = gateway.ask(&chat("demo-large", 0, RESERVED)).await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(charge(&gateway, &response).await, expected, "{usage}");
    }
}

#[tokio::test]
async fn no_output_beside_much_text_is_no_report() {
    let text = "one ".repeat(5_000);
    for (usage, expected) in [
        (json!({"prompt_tokens": 9, "completion_tokens": 7}), 7),
        (
            json!({"prompt_tokens": 9, "completion_tokens": 0}),
            RESERVED,
        ),
        (
            json!({"prompt_tokens": 0, "completion_tokens": 0}),
            RESERVED,
        ),
    ] {
        let (gateway, _provider) = gateway(whole_with(&text, &usage)).await;
        let response = gateway.ask(&chat("demo-large", 0, RESERVED)).await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(charge(&gateway, &response).await, expected, "{usage}");
    }
}

#[tokio::test]
async fn no_input_of_a_conversation_is_no_report_where_input_has_a_price() {
    for (input, is_reported) in [(9, true), (0, false)] {
        let usage = json!({"prompt_tokens": input, "completion_tokens": 7});
        let (gateway, _provider) = gateway(whole(&usage)).await;
        let response = gateway.ask(&chat("demo-small", 0, RESERVED)).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let charged = charge(&gateway, &response).await;
        assert_eq!(charged < RESERVED, is_reported, "{input}: {charged}");
    }
}

#[tokio::test]
async fn usage_of_a_stream_costs_what_was_reserved_if_much_text_follows_it_or_it_has_no_output() {
    let text = |count| event(&json!({"content": "one"}), &Value::Null).repeat(count);
    let usage = |output: u64| {
        let usage =
            json!({"prompt_tokens": 9, "completion_tokens": output, "total_tokens": 9 + output});
        let chunk = json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [], "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let end = event(&json!({}), &json!("stop"));
    let done = "data: [DONE]\n\n";
    for (events, expected) in [
        (format!("{}{end}{}{done}", text(50), usage(40)), 40),
        // Before the end, as some send it.
        (format!("{}{}{end}{done}", text(50), usage(40)), 40),
        (
            format!("{}{}{end}{}{done}", usage(0), text(50), usage(50)),
            50,
        ),
        (format!("{end}{}{done}", usage(0)), 0),
        (format!("{}{}{end}{done}", usage(1), text(50)), RESERVED),
        (
            format!("{}{}{}{end}{done}", text(20), usage(20), text(50)),
            RESERVED,
        ),
        (format!("{}{end}{}{done}", text(50), usage(0)), RESERVED),
    ] {
        let acts = vec![streamed(&events), ScriptedResponse::Close];
        let (gateway, _provider) = gateway(acts).await;
        let response = gateway.ask(&stream()).await;
        assert!(response.whole, "{}", response.text());
        assert_eq!(charge(&gateway, &response).await, expected, "{events}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_without_usage_costs_what_was_reserved() {
    let text = event(&json!({"content": "one"}), &Value::Null);
    let end = event(&json!({}), &json!("stop"));
    let acts = vec![
        streamed(&format!("{text}{end}data: [DONE]\n\n")),
        ScriptedResponse::Close,
    ];
    let (gateway, _provider) = gateway(acts).await;
    let response = gateway.ask(&stream()).await;
    assert!(response.whole, "{}", response.text());
    assert_eq!(charge(&gateway, &response).await, RESERVED);
}

#[tokio::test]
async fn a_stream_that_breaks_off_costs_a_token_for_each_event_or_for_each_4_bytes_of_large_ones() {
    let small = event(&json!({"content": "one"}), &Value::Null).repeat(5);
    let large = event(&json!({"content": "one ".repeat(600)}), &Value::Null);
    let larger = event(&json!({"content": "one ".repeat(60_000)}), &Value::Null);
    let request = 2 * stream().body.unwrap().len() as u64;
    let of_large = (large.trim_end().len() as u64 - 1024 - request) / 4;
    for (events, expected) in [(small, 5), (large, of_large), (larger, RESERVED)] {
        let acts = vec![streamed(&events), ScriptedResponse::Close];
        let (gateway, _provider) = gateway(acts).await;
        let response = gateway.ask(&stream()).await;
        assert!(!response.whole);
        let charged = charge(&gateway, &response).await;
        // An event's bytes count with its end or without.
        assert!(charged.abs_diff(expected) <= 1, "{charged} {expected}");
    }
}

#[tokio::test]
async fn comments_and_pings_of_a_stream_that_breaks_off_cost_nothing() {
    let idle = ": PROCESSING\n\n".repeat(300);
    let acts = vec![
        streamed(&format!(
            "{idle}{}",
            event(&json!({"content": "one"}), &Value::Null)
        )),
        ScriptedResponse::Close,
    ];
    let (gateway, _provider) = gateway(acts).await;
    let response = gateway.ask(&stream()).await;
    assert_eq!(charge(&gateway, &response).await, 1);
}

#[tokio::test]
async fn a_whole_response_that_its_caller_leaves_costs_what_was_reserved() {
    let message = json!({"role": "assistant", "content": "one ".repeat(100_000)});
    let body = json!({"id": "c1", "object": "chat.completion", "choices": [{"message": message}]});
    let mut sent = json_response(200, body);
    sent.truncate(sent.len() - 100);
    let acts = vec![ScriptedResponse::Send(sent), ScriptedResponse::Hang];
    let (gateway, _provider) = gateway(acts).await;
    let mut open = gateway.open(&chat("demo-large", 0, RESERVED)).await;
    open.until("one one").await;
    drop(open);
    let line = gateway
        .log_line(|line| line["settlement"] == "client_cancelled")
        .await;
    let charged = line["budget_charge"].as_f64().unwrap_or(0.0) * NANOS;
    assert_eq!(charged.round() as u64 / TOKEN, RESERVED, "{line}");
}

#[tokio::test]
async fn sound_whose_length_nobody_knows_is_refused_and_reported_cost_is_always_settled() {
    let report = json!({"text": "hi", "usage": {"type": "duration", "seconds": 600}});
    let body = json_response(200, report);
    let provider = ScriptedProvider::start(vec![ScriptedResponse::Send(body)]).await;
    let mut config = budget_config(&provider.url(), &json!("memory"), 1, BUDGET);
    config["prices"] = json!({"models": {"demo-large": {"audio_minute": 0.1}}});
    config["channels"] = json!({
        "other": channel(&provider.url(), &["transcription"], json!({"bearer": CREDENTIALS[0]})),
    });
    config["routes"] = json!([{
        "name": "transcripts", "match": "POST /v1/audio/transcriptions", "protocol": "transcription",
        "request": ["authenticate", "require_form", "route_model", "rate_limit"],
        "response": ["meter_usage"],
    }]);
    let gateway = Gateway::start(&config).await;
    let ask = async |fields: &[(&str, &[u8])]| {
        let fields = [&[("model", b"demo-large".as_slice())], fields].concat();
        let request = form("/v1/audio/transcriptions", &fields).key(&key(0));
        gateway.ask(&request).await
    };
    let sound = [b'x'; 6000];
    for fields in [
        &[("url", b"https://sounds.example/long.mp3".as_slice())][..],
        &[("file!", b"")],
        &[],
        &[
            ("file!", &sound),
            ("url", b"https://sounds.example/long.mp3"),
        ],
    ] {
        let refused = ask(fields).await;
        let message = assert_error_body(Protocol::Chat, &refused, 400);
        assert!(
            message.starts_with("upload the sound as `file`"),
            "{message}"
        );
    }
    assert_eq!(provider.requests().len(), 0);
    let response = ask(&[("file!", &sound)]).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let line = gateway.log_of(&response).await;
    assert_eq!(
        line["budget_charge"], 1,
        "what the provider reported: {line}"
    );
}
