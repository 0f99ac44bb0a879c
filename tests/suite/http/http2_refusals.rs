//! Tests of HTTP/2 refusals before the end of the body: clients that send the whole body first receive them.

use crate::harness::error_shape::assert_error_body;
use crate::harness::{PROTOCOLS, Request, TlsTestSetup};
use h2::Reason;
use headgate_protocol::Protocol;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// How much of a body is read and discarded after a refusal.
const DISCARDED_MAX: usize = 64 << 20;

fn stranger(protocol: Protocol, bytes: usize) -> Request {
    Request::to(protocol, vec![b' '; bytes]).key("sk-nobody")
}

#[tokio::test]
async fn a_refusal_arrives_at_a_client_that_sends_its_whole_body_before_it_reads() {
    let world = TlsTestSetup::start().await;
    for protocol in PROTOCOLS {
        for bytes in [1, 16 << 10, 1 << 20, 2 << 20, 20 << 20, 50 << 20] {
            let connection = world.connect().await;
            for chunked in [false, true] {
                let request = stranger(protocol, bytes);
                let request = if chunked { request.chunked(1) } else { request };
                let (waiting, whole) = connection.send_all(&request).await;
                assert!(whole, "{protocol:?}: {bytes} bytes were not all taken");
                let (answer, reset) = waiting.reply().await.rest().await;
                assert_eq!(reset, None, "{protocol:?} {bytes}");
                assert_error_body(protocol, &answer, 401);
            }
        }
    }
}

#[tokio::test]
async fn whatever_refuses_a_request_before_its_body_is_read_lets_the_body_be_sent() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    let body = || vec![b' '; 36 << 20];
    for (request, status) in [
        (Request::to(Protocol::Chat, body()), 413),
        (Request::to(Protocol::Chat, body()).chunked(1), 413),
        (Request::post("/v1/nothing", body()), 404),
        (Request::post("/v1/models", body()), 405),
        (Request::post("/v1/%2e%2e/models", body()), 400),
    ] {
        let (waiting, whole) = connection.send_all(&request).await;
        let (answer, reset) = waiting.reply().await.rest().await;
        assert_eq!((answer.status, answer.whole), (status, true));
        assert_eq!((whole, reset), (true, None), "{status}");
    }
    assert_eq!(
        connection.ask(&Request::ask(Protocol::Chat)).await.status,
        200
    );
}

#[tokio::test]
async fn a_body_without_an_end_is_reset_without_an_error_behind_the_whole_refusal() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    for bytes in [DISCARDED_MAX + (8 << 20), 3 << 20] {
        let request = stranger(Protocol::Chat, bytes).chunked(1);
        let began = Instant::now();
        let mut reply = connection.send_head(&request).await.reply().await;
        assert_eq!(reply.status, 401);
        while reply.piece().await.unwrap().is_some() {}
        if bytes > DISCARDED_MAX {
            reply.send_until_reset(bytes).await;
        } else {
            assert!(reply.send_piece(b"{"));
        }
        assert_eq!(reply.reset_by_peer().await, Reason::NO_ERROR);
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    assert_eq!(
        connection.ask(&Request::ask(Protocol::Chat)).await.status,
        200
    );
}

#[tokio::test]
async fn refused_uploads_do_not_hold_up_the_other_streams_of_their_connection() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    let mut refused = JoinSet::new();
    for _ in 0..8 {
        let connection = connection.clone();
        refused.spawn(async move {
            let request = stranger(Protocol::Chat, 12 << 20);
            let (waiting, whole) = connection.send_all(&request).await;
            (whole, waiting.reply().await.rest().await.0.status)
        });
    }
    // Stalled uploads use up streams, and nothing else.
    let mut stalled = Vec::new();
    for _ in 0..8 {
        stalled.push(connection.send_head(&stranger(Protocol::Chat, 1)).await);
    }
    for protocol in PROTOCOLS {
        let request = Request::ask_stream(protocol).simulate("events=10; pace=5ms");
        let answer = connection.ask(&request).await;
        assert_eq!((answer.status, answer.whole), (200, true));
        sleep(Duration::from_millis(20)).await;
    }
    while let Some(ended) = refused.join_next().await {
        assert_eq!(ended.unwrap(), (true, 401));
    }
    for waiting in stalled {
        assert_eq!(waiting.reply().await.status, 401);
    }
}

#[tokio::test]
async fn a_refusal_is_logged_when_it_is_sent_and_not_when_the_upload_ends() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    let mut reply = connection
        .send_head(&stranger(Protocol::Chat, 1 << 20))
        .await
        .reply()
        .await;
    while reply.piece().await.unwrap().is_some() {}
    let refused = |line: &serde_json::Value| line["status"] == 401;
    let line = world.gateway.log_line(refused).await;
    assert!(line["total_ms"].as_f64().unwrap() < 1_500.0, "{line}");
}
