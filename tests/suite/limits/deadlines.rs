//! Tests of the deadlines for slow or silent callers.

use crate::harness::error_shape::assert_error_body;
use crate::harness::{PATIENCE, PROTOCOLS, Request, TestSetup};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let world = with_limits(json!({"body_timeout": "400ms"})).await;
    let mut waiting = Vec::new();
    for protocol in PROTOCOLS {
        for request in [Request::ask(protocol), Request::ask(protocol).chunked(10)] {
            let bytes = request.bytes();
            let mut connection = world.gateway.connect().await;
            connection.send(&bytes[..bytes.len() - 7]).await.unwrap();
            waiting.push((protocol, connection));
        }
    }
    for (protocol, connection) in &mut waiting {
        assert_error_body(*protocol, &connection.answer().await.unwrap(), 408);
    }
    for (_, connection) in &mut waiting {
        assert!(connection.is_over().await);
    }
    assert_eq!(world.simulator.records().await.len(), 0);
}

#[tokio::test]
async fn a_body_that_comes_slowly_is_many_short_waits_and_not_one_long_one() {
    let world = with_limits(json!({})).await;
    for request in [
        Request::ask(Protocol::Chat),
        Request::ask(Protocol::Chat).chunked(1000),
    ] {
        let (head, bytes) = (request.head(), request.bytes());
        let mut connection = world.gateway.connect().await;
        connection.send(&head).await.unwrap();
        let body = &bytes[head.len()..];
        for piece in body.chunks(body.len().div_ceil(10)) {
            sleep(Duration::from_millis(150)).await;
            connection.send(piece).await.unwrap();
        }
        let answer = connection.answer().await.unwrap();
        assert_eq!(answer.status, 200);
        let line = world.gateway.log_of(&answer).await;
        let of = |key: &str| {
            line[key]
                .as_f64()
                .unwrap_or_else(|| panic!("no {key}: {line}"))
        };
        assert!(of("client_ms") > 1_000.0, "{line}");
        assert!(
            of("client_longest_wait_ms") < of("client_ms") / 2.0,
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_head_that_drips_in_is_given_up() {
    let world = with_limits(json!({"header_timeout": "1s", "keep_alive_timeout": "60s"})).await;
    let mut connection = world.gateway.connect().await;
    let began = Instant::now();
    let mut head = Request::ask(Protocol::Chat).head();
    head.truncate(head.len() - 2);
    let mut drip = head
        .into_iter()
        .chain(b"X-Drip: 1\r\n".iter().copied().cycle());
    // A write fails once the peer has closed the connection.
    while connection.send(&[drip.next().unwrap()]).await.is_ok() {
        sleep(Duration::from_millis(20)).await;
        assert!(
            began.elapsed() < PATIENCE / 3,
            "the head may drip on for ever"
        );
    }
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_connection_may_idle_longer_than_a_head_may_take() {
    let world = with_limits(json!({"header_timeout": "300ms", "keep_alive_timeout": "60s"})).await;
    let mut connection = world.gateway.connect().await;
    for _ in 0..2 {
        sleep(Duration::from_millis(900)).await;
        assert_eq!(
            connection.ask(&Request::ask(Protocol::Chat)).await.status,
            200
        );
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_when_its_time_is_over() {
    let world = with_limits(json!({"keep_alive_timeout": "1s", "header_timeout": "1s"})).await;
    let mut connection = world.gateway.connect().await;
    assert_eq!(
        connection.ask(&Request::ask(Protocol::Chat)).await.status,
        200
    );
    assert!(connection.is_over().await);
}

async fn with_limits(limits: Value) -> TestSetup {
    TestSetup::with(|config| config["server"]["limits"] = limits).await
}
