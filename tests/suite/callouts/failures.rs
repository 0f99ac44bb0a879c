//! Tests of services that fail: the request ends or continues as the settings say, and nothing else is affected.

use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::{http_response, json_response};
use crate::harness::service::{CONTINUE, add_service, call_on_requests, respond};
use crate::harness::{
    Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, config, eventually,
};
use headgate_protocol::Protocol;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const JSON: &str = "Content-Type: application/json\r\n";

fn send(text: &str) -> Vec<ScriptedResponse> {
    vec![ScriptedResponse::Send(text.into())]
}

fn response(status: u16, headers: &str, body: &str) -> Vec<ScriptedResponse> {
    vec![ScriptedResponse::Send(http_response(status, headers, body))]
}

/// A response without its last bytes.
fn unfinished_response() -> ScriptedResponse {
    let mut response = json_response(200, CONTINUE);
    response.truncate(response.len() - 2);
    ScriptedResponse::Send(response)
}

/// A gateway whose chat route asks the service, with this timeout of the service.
async fn gateway(
    service: &ScriptedProvider,
    timeout: &str,
    on_failure: &str,
) -> (Gateway, Simulator) {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    let breaker = json!({"consecutive_failures": 0});
    add_service(
        &mut config,
        service,
        json!({"timeout": timeout, "breaker": breaker}),
    );
    let settings = json!({"send": {"fields": ["/messages"]}, "on_failure": on_failure});
    call_on_requests(&mut config, "chat", settings);
    (Gateway::start(&config).await, simulator)
}

#[tokio::test]
async fn a_failure_denies_or_allows_as_configured() {
    let service = ScriptedProvider::start(respond(CONTINUE)).await;
    let ten_megabytes = format!("\"{}\"", "x".repeat(10 << 20));
    let denying = gateway(&service, "300ms", "deny").await;
    let allowing = gateway(&service, "300ms", "allow").await;
    for (name, script, outcome) in [
        ("hangs", vec![ScriptedResponse::Hang], "timeout"),
        ("dies", vec![ScriptedResponse::Close], "connection_closed"),
        ("resets", vec![ScriptedResponse::Reset], "connection_closed"),
        (
            "garbage",
            send("\x00\x01garbage\r\n\r\n"),
            "connection_closed",
        ),
        (
            "garbage in JSON",
            response(200, JSON, "{]"),
            "invalid_response",
        ),
        (
            "10 MB",
            response(200, JSON, &ten_megabytes),
            "invalid_response",
        ),
        (
            "a redirect",
            response(
                302,
                "Location: /other\r\nContent-Type: application/json\r\n",
                CONTINUE,
            ),
            "invalid_response",
        ),
        (
            "another content type",
            response(200, "Content-Type: text/plain\r\n", CONTINUE),
            "invalid_response",
        ),
        (
            "another form",
            response(200, JSON, r#"{"allowed":true}"#),
            "invalid_response",
        ),
        (
            "an error",
            response(500, JSON, CONTINUE),
            "invalid_response",
        ),
        (
            "half an answer",
            vec![unfinished_response(), ScriptedResponse::Close],
            "connection_closed",
        ),
        (
            "hangs in the answer",
            vec![unfinished_response(), ScriptedResponse::Hang],
            "timeout",
        ),
    ] {
        for (gateway, simulator, status) in [
            (&denying.0, &denying.1, 503),
            (&allowing.0, &allowing.1, 200),
        ] {
            let before = simulator.records().await.len();
            // A request may be repeated once, on a fresh connection.
            service.next(script.clone());
            service.next(script.clone());
            let began = Instant::now();
            let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
            assert_eq!(answer.status, status, "{name}: {}", answer.text());
            let line = gateway.log_of(&answer).await;
            assert_eq!(line["callout_outcome"], outcome, "{name}: {line}");
            assert!(began.elapsed() < Duration::from_secs(10), "{name}");
            let sent = simulator.records().await.len() - before;
            assert_eq!(sent, usize::from(status == 200), "{name}");
            if status == 503 {
                assert_error_body(Protocol::Chat, &answer, 503);
                assert_eq!(line["error_code"], "check_unavailable", "{name}");
            }
            service.forget_turns();
        }
    }
}

#[tokio::test]
async fn a_service_that_does_not_listen_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = ScriptedProvider::on(listener, respond(CONTINUE));
    let (gateway, _simulator) = gateway(&service, "2s", "deny").await;
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    // Nothing listens on port 1.
    let mut config: serde_json::Value = serde_json::from_str(&gateway.config()).unwrap();
    let url = format!("http://{}:1/check", address.ip());
    config["services"]["moderation"]["url"] = json!(url);
    gateway.reload(&config).await;
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_error_body(Protocol::Chat, &answer, 503);
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["callout_outcome"], "connect_error", "{line}");
}

#[tokio::test]
async fn other_requests_are_unmoved_while_a_service_hangs() {
    let service = ScriptedProvider::start(vec![ScriptedResponse::Hang]).await;
    let (gateway, _simulator) = gateway(&service, "3s", "deny").await;
    let mut waiting = JoinSet::new();
    for _ in 0..100 {
        let mut connection = gateway.connect().await;
        waiting.spawn(async move { connection.ask(&Request::ask(Protocol::Chat)).await.status });
    }
    eventually("payloads in flight", async || {
        (service.requests().len() >= 64).then_some(())
    })
    .await;
    let began = Instant::now();
    for _ in 0..20 {
        let answer = gateway.ask(&Request::ask(Protocol::Messages)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let took = began.elapsed();
    assert!(
        took < Duration::from_secs(2),
        "twenty other requests took {took:?}"
    );
    while let Some(status) = waiting.join_next().await {
        assert_eq!(status.unwrap(), 503);
    }
}

#[tokio::test]
async fn a_caller_who_leaves_ends_its_call() {
    let service = ScriptedProvider::start(vec![ScriptedResponse::Hang]).await;
    let (gateway, simulator) = gateway(&service, "30s", "allow").await;
    let mut connection = gateway.connect().await;
    connection
        .send(&Request::ask(Protocol::Chat).bytes())
        .await
        .unwrap();
    eventually("the call", async || (service.open() == 1).then_some(())).await;
    drop(connection);
    eventually("the end of the call", async || {
        (service.open() == 0).then_some(())
    })
    .await;
    assert!(simulator.records().await.is_empty());
}
