//! Tests of the spans of exchanges and of their attempts.

use super::{CHAT, TracingSetup, id_of};
use crate::harness::config::{CREDENTIALS, channel};
use crate::harness::http_response::json_response;
use crate::harness::otlp::{COLLECTOR_KEY, ReceivedSpan};
use crate::harness::request::{ANN, body_of};
use crate::harness::{Request, ScriptedProvider, ScriptedResponse};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;

const HANG: ScriptedResponse = ScriptedResponse::Wait(Duration::from_secs(600));

/// The first event of a stream, whose end never comes.
fn stream_start() -> Vec<u8> {
    let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n";
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    format!("{head}{:x}\r\n{event}\r\n", event.len()).into()
}

#[tokio::test]
async fn an_exchange_has_a_span_with_the_attributes_of_its_request_and_response() {
    let settings = json!({"service_name": "edge", "resource_attributes": {"deployment.environment.name": "test"}});
    let setup = TracingSetup::start(settings).await;
    let request = Request::ask(Protocol::Chat).header("user-agent", "sdk/1");
    let response = setup.gateway.ask(&request).await;
    let spans = setup.collector.exchange(id_of(&response)).await;
    let [server, attempt] = &spans[..] else {
        panic!("{spans:?}")
    };
    assert_eq!(
        (server.name.as_str(), server.kind),
        ("POST /v1/chat/completions", 2)
    );
    assert_eq!(
        (attempt.name.as_str(), attempt.kind),
        ("chat sim-large-2026-08", 3)
    );
    assert_eq!(server.resource["service.name"], "edge");
    assert_eq!(server.resource["deployment.environment.name"], "test");
    assert!(server.resource["service.version"].is_string());
    for (name, expected) in [
        ("http.request.method", json!("POST")),
        ("http.route", json!("/v1/chat/completions")),
        ("url.path", json!("/v1/chat/completions")),
        ("url.scheme", json!("http")),
        ("http.response.status_code", json!(200)),
        ("client.address", json!("127.0.0.1")),
        ("user_agent.original", json!("sdk/1")),
        ("error.type", Value::Null),
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("openai")),
        ("gen_ai.request.model", json!("demo-large")),
        ("gen_ai.usage.input_tokens", json!(100)),
        ("gen_ai.usage.output_tokens", json!(50)),
        ("gen_ai.usage.cache_read.input_tokens", json!(30)),
        ("headgate.route", json!("chat")),
        ("headgate.caller", json!("ann")),
        ("headgate.protocol", json!("chat")),
        ("headgate.settlement", json!("complete")),
        ("headgate.streamed", json!(false)),
        ("headgate.attempts", json!(1)),
    ] {
        assert_eq!(*server.get(name), expected, "{name}: {server:?}");
    }
    let port = setup.provider.address.port();
    for (name, expected) in [
        ("server.address", json!("127.0.0.1")),
        ("server.port", json!(port)),
        ("http.response.status_code", json!(200)),
        ("http.request.resend_count", Value::Null),
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.request.model", json!("sim-large-2026-08")),
        ("headgate.channel", json!("openai")),
        ("headgate.attempt", json!(1)),
        ("headgate.credential", json!(1)),
        ("headgate.outcome", json!("success")),
        ("headgate.settlement", json!("complete")),
    ] {
        assert_eq!(*attempt.get(name), expected, "{name}: {attempt:?}");
    }
    assert_eq!((&server.status, &attempt.status), (&None, &None));
    assert!(server.start <= attempt.start && attempt.end <= server.end);
    assert_waits_add_up(server);
    assert_waits_add_up(attempt);
}

fn assert_waits_add_up(span: &ReceivedSpan) {
    let sides = ["upstream", "client", "gateway"];
    let waits = sides.map(|side| span.get(&format!("headgate.wait.{side}")).as_f64().unwrap());
    let seconds = (span.end - span.start) as f64 / 1e9;
    assert!(
        (waits.iter().sum::<f64>() - seconds).abs() < 1e-6,
        "{span:?}"
    );
}

#[tokio::test]
async fn a_failover_is_one_exchange_with_a_span_for_each_attempt() {
    let bad =
        ScriptedProvider::answering(json_response(500, r#"{"error":{"message":"broken"}}"#)).await;
    let good = ScriptedProvider::answering(json_response(200, CHAT)).await;
    let bad_url = bad.url();
    let setup = TracingSetup::with(good, json!({}), |config| {
        let good = config["channels"]["openai"].clone();
        let mut bad = channel(&bad_url, &["chat"], json!({"bearer": "sk-bad"}));
        bad["health"] = json!({"consecutive_failures": 0});
        config["channels"] = json!({"bad": bad, "good": good});
        config["channels"]["good"]["tier"] = json!(1);
    })
    .await;
    let response = setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.status, 200);
    let spans = setup.collector.exchange(id_of(&response)).await;
    let [server, first, second] = &spans[..] else {
        panic!("{spans:?}")
    };
    assert_eq!(*server.get("headgate.attempts"), 2);
    assert_eq!(
        (&server.status, server.get("headgate.settlement")),
        (&None, &json!("complete"))
    );
    for (attempt, number, channel, outcome, settlement, status) in [
        (first, 1, "bad", "server_error", "failed_over", 500),
        (second, 2, "good", "success", "complete", 200),
    ] {
        assert_eq!(*attempt.get("headgate.attempt"), number);
        assert_eq!(*attempt.get("headgate.channel"), channel);
        assert_eq!(*attempt.get("headgate.outcome"), outcome);
        assert_eq!(*attempt.get("headgate.settlement"), settlement);
        assert_eq!(*attempt.get("http.response.status_code"), status);
        let resends = if number == 1 {
            Value::Null
        } else {
            json!(number - 1)
        };
        assert_eq!(*attempt.get("http.request.resend_count"), resends);
        assert_eq!(
            attempt.status.is_some(),
            outcome != "success",
            "{attempt:?}"
        );
    }
    assert_eq!(*first.get("error.type"), "server_error");
    assert!(first.end <= second.start, "{first:?} {second:?}");
    let sent = bad.requests().concat();
    assert!(sent.contains(&first.span_id), "{sent}");
    assert!(setup.provider_headers("traceparent")[0].contains(&second.span_id));
}

#[tokio::test]
async fn a_silent_provider_is_named_by_its_attempt() {
    let provider = ScriptedProvider::start(vec![HANG]).await;
    let setup = TracingSetup::with(provider, json!({}), |config| {
        config["channels"]["openai"]["timeouts"] = json!({"first_byte": "300ms"});
    })
    .await;
    let response = setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.status, 504);
    let spans = setup.collector.exchange(id_of(&response)).await;
    let [server, attempt] = &spans[..] else {
        panic!("{spans:?}")
    };
    assert_eq!(*server.get("http.response.status_code"), 504);
    assert_eq!(*server.get("headgate.longest_wait.side"), "upstream");
    assert!(
        server.status.is_some() && server.get("error.type").is_string(),
        "{server:?}"
    );
    assert_eq!(*attempt.get("headgate.outcome"), "timeout");
    assert_eq!(*attempt.get("headgate.longest_wait.side"), "upstream");
    assert!(
        attempt.get("headgate.wait.upstream").as_f64() >= Some(0.29),
        "{attempt:?}"
    );
    assert_eq!(*attempt.get("http.response.status_code"), Value::Null);
}

#[tokio::test]
async fn the_span_of_a_stream_ends_with_the_stream() {
    let provider =
        ScriptedProvider::start(vec![ScriptedResponse::Send(stream_start()), HANG]).await;
    let setup = TracingSetup::with(provider, json!({}), |config| {
        config["channels"]["openai"]["timeouts"] = json!({"idle": "600ms"});
    })
    .await;
    let response = setup
        .gateway
        .ask(&Request::ask_stream(Protocol::Chat))
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    let spans = setup.collector.exchange(id_of(&response)).await;
    let [server, attempt] = &spans[..] else {
        panic!("{spans:?}")
    };
    assert_eq!(*server.get("headgate.settlement"), "upstream_cut");
    assert_eq!(*server.get("headgate.streamed"), true);
    assert_eq!(*server.get("headgate.longest_wait.side"), "upstream");
    assert!(
        server.get("headgate.first_byte").as_f64() < Some(0.5),
        "{server:?}"
    );
    assert!(
        server.millis() >= 590 && attempt.millis() >= 580,
        "{spans:?}"
    );
    assert!(server.status.is_some(), "{server:?}");
    assert_eq!(*attempt.get("headgate.outcome"), "timeout");
    assert_eq!(*attempt.get("headgate.settlement"), "upstream_cut");
}

#[tokio::test]
async fn a_caller_that_leaves_interrupts_its_attempt() {
    let provider = ScriptedProvider::start(vec![HANG]).await;
    let setup = TracingSetup::with(provider, json!({}), |_| {}).await;
    let mut connection = setup.gateway.connect().await;
    connection
        .send(&Request::ask(Protocol::Chat).bytes())
        .await
        .unwrap();
    crate::harness::eventually("a request", async || {
        (!setup.provider.requests().is_empty()).then_some(())
    })
    .await;
    drop(connection);
    let spans = setup.collector.wait_for(2).await;
    let server = spans.iter().find(|span| span.kind == 2).unwrap();
    let attempt = spans.iter().find(|span| span.kind == 3).unwrap();
    assert_eq!(*server.get("headgate.settlement"), "client_cancelled");
    assert_eq!(*server.get("http.response.status_code"), Value::Null);
    assert_eq!(*attempt.get("headgate.outcome"), "interrupted");
    assert_eq!((&server.status, &attempt.status), (&None, &None));
    assert_eq!(attempt.end, server.end);
}

#[tokio::test]
async fn no_key_and_no_text_of_a_request_or_response_is_exported() {
    const PROMPT: &str = "canary-prompt-11d3";
    const ANSWER: &str = "canary-answer-52aa";
    const QUERY_KEY: &str = "sk-query-canary-c0de";
    let body = json!({"id": "chatcmpl-1", "choices": [{"message": {"content": ANSWER}}]});
    let provider = ScriptedProvider::answering(json_response(200, body)).await;
    let setup = TracingSetup::with(provider, json!({"sampling": {"errors": "all"}}), |_| {}).await;
    let mut asked = body_of(Protocol::Chat);
    asked["messages"][0]["content"] = json!(PROMPT);
    let mut request = Request::to(Protocol::Chat, asked.to_string());
    request.target = format!("{}?api_key={QUERY_KEY}&x=canary-query", request.target);
    let stranger = Request::ask(Protocol::Chat).key("sk-stranger-canary-9e9e");
    let mut invalid = asked.clone();
    invalid["messages"] = json!(PROMPT);
    let invalid = Request::to(Protocol::Chat, invalid.to_string());
    for (request, status) in [(request, 200), (stranger, 401), (invalid, 400)] {
        let response = setup.gateway.ask(&request).await;
        assert_eq!(response.status, status, "{}", response.text());
        setup.collector.exchange(id_of(&response)).await;
    }
    for export in setup.collector.0.raw_requests() {
        let text = String::from_utf8_lossy(&export);
        let (head, spans) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(COLLECTOR_KEY), "{head}");
        for secret in [
            PROMPT,
            ANSWER,
            QUERY_KEY,
            "canary-query",
            "sk-stranger",
            ANN,
            CREDENTIALS[0],
            COLLECTOR_KEY,
        ] {
            assert!(!spans.contains(secret), "{secret}");
        }
    }
    let log = setup.gateway.process.stderr.all().concat();
    assert!(!log.contains(COLLECTOR_KEY));
}
