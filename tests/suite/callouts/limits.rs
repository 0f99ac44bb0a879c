//! Tests of the limits of calls: concurrent calls, and the circuit breaker.

use crate::harness::http_response::json_response;
use crate::harness::service::{CONTINUE, add_service, call_on_requests, respond};
use crate::harness::{
    Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, config, eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinSet;

async fn gateway(
    service: &ScriptedProvider,
    settings: Value,
    on_failure: &str,
) -> (Gateway, Simulator, Value) {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    add_service(&mut config, service, settings);
    call_on_requests(&mut config, "chat", json!({"on_failure": on_failure}));
    (Gateway::start(&config).await, simulator, config)
}

async fn outcome_of(gateway: &Gateway) -> Value {
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    gateway.log_of(&answer).await["callout_outcome"].take()
}

fn failing() -> Vec<ScriptedResponse> {
    vec![ScriptedResponse::Send(json_response(200, "[]"))]
}

#[tokio::test]
async fn a_service_that_fails_repeatedly_is_left_until_a_trial_succeeds() {
    let service = ScriptedProvider::start(failing()).await;
    let breaker = json!({"consecutive_failures": 3, "cool_down": "3s"});
    let settings = json!({"timeout": "5s", "breaker": breaker});
    let (gateway, _simulator, mut config) = gateway(&service, settings, "allow").await;
    for _ in 0..3 {
        assert_eq!(outcome_of(&gateway).await, "invalid_response");
    }
    assert_eq!(outcome_of(&gateway).await, "breaker_open");
    assert_eq!(service.requests().len(), 3);
    let is_open = async || {
        let metrics = gateway.metrics().await;
        metrics.sum(
            "headgate_callout_breaker_open",
            &[("service", "moderation")],
        )
    };
    assert_eq!(is_open().await, 1.0);
    // A reload that does not change the service keeps its state.
    config["models"]["demo-large"]["created"] = 7.into();
    gateway.reload(&config).await;
    assert_eq!(is_open().await, 1.0);
    tokio::time::sleep(Duration::from_millis(3_100)).await;
    assert_eq!(outcome_of(&gateway).await, "invalid_response", "the trial");
    assert_eq!(outcome_of(&gateway).await, "breaker_open");
    service.next(respond(CONTINUE));
    service.next(respond(CONTINUE));
    tokio::time::sleep(Duration::from_millis(3_100)).await;
    for _ in 0..2 {
        assert_eq!(outcome_of(&gateway).await, "continued");
    }
    assert_eq!(is_open().await, 0.0);
    for message in ["circuit breaker opened", "circuit breaker closed"] {
        let is_logged = async || gateway.process.stderr.find_json("message", message);
        eventually(message, is_logged).await;
    }
}

#[tokio::test]
async fn calls_wait_for_each_other_within_the_timeout() {
    let slow = vec![
        ScriptedResponse::Wait(Duration::from_millis(100)),
        ScriptedResponse::Send(json_response(200, CONTINUE)),
    ];
    let service = ScriptedProvider::start(slow).await;
    let settings = json!({"timeout": "10s", "concurrent": 2});
    let (gateway, _simulator, _) = gateway(&service, settings, "deny").await;
    let mut waiting = JoinSet::new();
    for _ in 0..10 {
        let mut connection = gateway.connect().await;
        waiting.spawn(async move { connection.ask(&Request::ask(Protocol::Chat)).await.status });
    }
    let mut most = 0;
    while !waiting.is_empty() {
        most = most.max(service.in_progress());
        if let Ok(Some(status)) =
            tokio::time::timeout(Duration::from_millis(5), waiting.join_next()).await
        {
            assert_eq!(status.unwrap(), 200);
        }
    }
    assert!(most <= 2, "{most} calls at once");
    assert_eq!(service.requests().len(), 10);
}

#[tokio::test]
async fn a_call_without_a_permit_fails_at_its_timeout() {
    const TIMEOUT: Duration = Duration::from_millis(500);
    let end = Arc::new(Notify::new());
    let held = vec![
        ScriptedResponse::WaitFor(end.clone()),
        ScriptedResponse::Send(json_response(200, CONTINUE)),
    ];
    let service = ScriptedProvider::start(held).await;
    let breaker = json!({"consecutive_failures": 0});
    let settings = json!({"timeout": "60s", "concurrent": 1, "breaker": breaker});
    let (gateway, _simulator, mut config) = gateway(&service, settings, "allow").await;
    let request = Request::ask(Protocol::Chat);
    let mut first = gateway.connect().await;
    first.send(&request.bytes()).await.unwrap();
    let is_called = async || (service.requests().len() == 1).then_some(());
    eventually("the first call", is_called).await;
    // The first call keeps its timeout and the only permit, so that the others wait for that in vain.
    config["services"]["moderation"]["timeout"] = json!("500ms");
    gateway.reload(&config).await;
    let mut waiting = JoinSet::new();
    for _ in 0..3 {
        let (mut connection, request) = (gateway.connect().await, request.clone());
        waiting.spawn(async move {
            let began = Instant::now();
            (connection.ask(&request).await, began.elapsed())
        });
    }
    for (answer, took) in waiting.join_all().await {
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(took >= TIMEOUT, "{took:?}");
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["callout_outcome"], "saturated", "{line}");
    }
    end.notify_one();
    let answer = first.answer().await.expect("a response");
    let line = gateway.log_of(&answer).await;
    assert_eq!(line["callout_outcome"], "continued", "{line}");
    assert_eq!(service.requests().len(), 1);
}
