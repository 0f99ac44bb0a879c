//! Tests of what attempts cost of a budget: those that failed before another channel served, and those that the operator's edits
//! change.

use super::budgets::{NANOS, OUTPUT, OUTPUT_COST, budget_config, chat, key, left};
use crate::harness::http_response::json_response;
use crate::harness::scripted::ScriptedProvider;
use crate::harness::scripted::ScriptedResponse::{Close, Send};
use crate::harness::{Gateway, Request, Simulator, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// The price of a token of input and of output of `demo-small`, in billionths.
const INPUT_NANOS: u64 = 3_000;
const OUTPUT_NANOS: u64 = 10_000;
const STREAM: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const ROLE: &str = r#"data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant"}}]}"#;

fn charge(line: &Value) -> u64 {
    (line["budget_charge"].as_f64().expect("a charge") * NANOS).round() as u64
}

fn small(stream: bool) -> Request {
    let message = json!({"role": "user", "content": "Count to a thousand."});
    let mut body = json!({"model": "demo-small", "max_tokens": OUTPUT, "messages": [message]});
    if stream {
        body["stream"] = true.into();
        body["stream_options"] = json!({"include_usage": true});
    }
    let request = Request::to(Protocol::Chat, body.to_string()).key(&key(0));
    match stream {
        true => request.simulate("events=3"),
        false => request.simulate("body_bytes=40"),
    }
}

/// A gateway whose first channel is `first`, and whose second one is a simulator.
fn two_channels(first: &str, second: &Simulator, budget: u64) -> Value {
    let mut config = budget_config(&second.url(), &json!("memory"), 1, budget);
    let mut channel = config["channels"]["openai"].clone();
    channel["base_url"] = first.into();
    config["channels"]["first"] = channel;
    config["channels"]["openai"]["tier"] = 1.into();
    config::without_cool_downs(&mut config);
    config
}

#[tokio::test]
async fn an_attempt_that_failed_before_another_channel_served_costs_what_is_known_of_it() {
    let (simulator, first) = (
        Simulator::start().await,
        ScriptedProvider::start(vec![Close]).await,
    );
    let budget = 100 * OUTPUT_COST;
    let gateway = Gateway::start(&two_channels(&first.url(), &simulator, budget)).await;
    let event = |text: &str| Send(format!("{text}\n\n").into_bytes());
    let usage = r#"{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30}"#;
    let failure = format!(
        r#"{{"error":{{"message":"overloaded","type":"server_error","code":"server_error"}},"usage":{usage}}}"#
    );
    let free = r#"{"error":{"message":"overloaded","type":"server_error","code":"server_error"}}"#;
    let counted = format!(r#"data: {{"choices":[],"usage":{usage}}}"#);
    let failed_event = format!("data: {free}");
    let reported = 10 * INPUT_NANOS + 20 * OUTPUT_NANOS;
    let estimated = |request: &Request| {
        let bytes = request.body.as_ref().unwrap().len() as u64;
        bytes.div_ceil(4) * INPUT_NANOS
    };
    let cut_off =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{\"id\":";
    let (whole, stream) = (small(false), small(true));
    let (input, stream_input) = (estimated(&whole), estimated(&stream));
    for (what, request, script, expected) in [
        (
            "an error with usage",
            &whole,
            vec![Send(json_response(200, failure))],
            reported,
        ),
        (
            "an error without usage",
            &whole,
            vec![Send(json_response(200, free))],
            0,
        ),
        ("a 503", &whole, vec![Send(json_response(503, "{}"))], 0),
        ("no response", &whole, vec![Close], input),
        (
            "a response that is cut off",
            &whole,
            vec![Send(cut_off.to_vec()), Close],
            input,
        ),
        (
            "a stream that is cut",
            &stream,
            vec![Send(STREAM.to_vec()), event(ROLE), Close],
            stream_input,
        ),
        (
            "an error after usage",
            &stream,
            vec![
                Send(STREAM.to_vec()),
                event(ROLE),
                event(&counted),
                event(&failed_event),
                Close,
            ],
            reported,
        ),
        (
            "an error as the first event",
            &stream,
            vec![Send(STREAM.to_vec()), event(&failed_event), Close],
            0,
        ),
    ] {
        let before = left(&gateway, 0).await;
        first.next(script);
        let response = gateway.ask(request).await;
        assert_eq!(response.status, 200, "{what}: {}", response.text());
        let line = gateway.log_of(&response).await;
        assert_eq!(line["attempts"], 2, "{what}: {line}");
        let cost = (line["cost"].as_f64().unwrap() * NANOS).round() as u64;
        assert_eq!(charge(&line) - cost, expected, "{what}: {line}");
        eventually("the charge is settled", async || {
            (before - left(&gateway, 0).await == charge(&line)).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_retry_that_the_budget_does_not_cover_is_refused() {
    let (simulator, first) = (
        Simulator::start().await,
        ScriptedProvider::start(vec![Close]).await,
    );
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30});
    let failure =
        json!({"error": {"message": "overloaded", "type": "server_error"}, "usage": usage});
    let reported = 10 * INPUT_NANOS + 20 * OUTPUT_NANOS;
    let bound = {
        let bytes = small(false).body.unwrap().len() as u64;
        bytes * INPUT_NANOS * 5 / 4 + OUTPUT_COST
    };
    for (budget, status) in [(bound + reported, 200), (bound + reported - 1, 429)] {
        let gateway = Gateway::start(&two_channels(&first.url(), &simulator, budget)).await;
        first.next(vec![Send(json_response(200, &failure))]);
        let response = gateway.ask(&small(false)).await;
        assert_eq!(response.status, status, "{}", response.text());
        assert!(left(&gateway, 0).await <= budget - reported);
    }
}

#[tokio::test]
async fn what_filters_edit_after_the_admission_is_reserved_before_it_is_sent() {
    let simulator = Simulator::start().await;
    let longer = 800;
    let for_all = json!({"edit_json": {"set": {"/max_tokens": longer}}});
    let for_each = json!({"edit_json": {"set": {"/max_tokens": {"cel": "attempt > 0 ? 800 : 0"}}}});
    let computed = json!({"edit_json": {"set": {"/max_completion_tokens": {"cel": "channel == 'openai' ? 800 : 0"}}}});
    for edit in [for_all, for_each, computed] {
        for (budget, status) in [
            (longer * OUTPUT_NANOS, 200),
            (longer * OUTPUT_NANOS - 1, 429),
        ] {
            let mut config = budget_config(&simulator.url(), &json!("memory"), 1, budget);
            let chain = config::route(&mut config, "chat")["request"].as_array_mut();
            chain.unwrap().push(edit.clone());
            let gateway = Gateway::start(&config).await;
            let request = chat("demo-large", 0, OUTPUT).simulate("body_bytes=3200");
            let response = gateway.ask(&request).await;
            assert_eq!(response.status, status, "{edit}: {}", response.text());
            let sent = if status == 200 {
                longer * OUTPUT_NANOS
            } else {
                0
            };
            eventually("the reservations are settled", async || {
                (left(&gateway, 0).await == budget - sent).then_some(())
            })
            .await;
        }
    }
}

#[tokio::test]
async fn a_channel_without_prices_costs_what_the_model_costs_elsewhere() {
    let simulator = Simulator::start().await;
    let budget = 10 * OUTPUT_COST;
    let mut config = two_channels(&simulator.url(), &simulator, budget);
    config["prices"] = json!({"currency": "USD"});
    config["channels"]["openai"]["prices"] = json!({"demo-large": {"output": 10}});
    let gateway = Gateway::start(&config).await;
    let half = chat("demo-large", 0, OUTPUT).simulate("body_bytes=200");
    let response = gateway.ask(&half).await;
    assert_eq!(response.status, 200);
    let line = gateway.log_of(&response).await;
    assert_eq!(
        [&line["channel"], &line["cost"]],
        [&json!("first"), &Value::Null],
        "{line}"
    );
    assert_eq!(charge(&line), OUTPUT_COST / 2, "{line}");
    eventually("half of the reservation is free again", async || {
        (left(&gateway, 0).await == budget - OUTPUT_COST / 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn thoughts_that_a_cut_stream_has_not_shown_cost_what_the_request_allows() {
    let simulator = Simulator::start().await;
    let budget = 100 * OUTPUT_COST;
    let config = budget_config(&simulator.url(), &json!("memory"), 1, budget);
    let gateway = Gateway::start(&config).await;
    for (what, member, least, most) in [
        ("no thoughts", json!({}), 1, OUTPUT_COST / 2),
        (
            "any thoughts",
            json!({"reasoning_effort": "high"}),
            OUTPUT_COST,
            OUTPUT_COST,
        ),
        (
            "no effort",
            json!({"reasoning_effort": "none"}),
            1,
            OUTPUT_COST / 2,
        ),
        (
            "a budget",
            json!({"thinking_budget": 60}),
            60 * OUTPUT_NANOS,
            OUTPUT_COST - 1,
        ),
    ] {
        let message = json!({"role": "user", "content": "Count to a thousand."});
        let mut body = json!({"model": "demo-large", "max_tokens": OUTPUT, "stream": true, "messages": [message]});
        body.as_object_mut()
            .unwrap()
            .extend(member.as_object().unwrap().clone());
        let request = Request::to(Protocol::Chat, body.to_string()).key(&key(0));
        let request = request.simulate("events=20; event_bytes=20; pace=100ms");
        let known = gateway.log().len();
        let mut stream = gateway.open(&request).await;
        stream.until("data:").await;
        drop(stream);
        let line = eventually("the end of the stream", async || {
            let lines = gateway.log();
            let mut lines = lines[known..].iter();
            lines
                .find(|line| line["settlement"] == "client_cancelled")
                .cloned()
        })
        .await;
        let charge = charge(&line);
        assert!((least..=most).contains(&charge), "{what}: {line}");
    }
}
