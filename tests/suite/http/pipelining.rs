//! Tests of pipelined requests: each gets its response, in order.

use crate::harness::{Request, TestSetup};
use headgate_protocol::Protocol;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A connection that is silent for this long waits for more input.
const HANGS: Duration = Duration::from_secs(10);

#[tokio::test]
async fn requests_sent_at_once_are_answered_in_order() {
    let world = TestSetup::start().await;
    let chat = Request::ask(Protocol::Chat);
    let requests = [
        Request::get("/v1/models"),
        chat.clone(),
        Request::get("/v1/nothing"),
        Request::ask_stream(Protocol::Messages),
        chat.clone(),
        chat.chunked(3),
    ];
    let together: Vec<u8> = requests.iter().flat_map(Request::bytes).collect();
    let mut connection = world.gateway.connect().await;
    connection.send(&together).await.unwrap();
    for status in [200, 200, 404, 200, 200, 200] {
        let answer = connection.answer().await.expect("an answer to each");
        assert_eq!(
            (answer.status, answer.whole),
            (status, true),
            "{}",
            answer.text()
        );
    }
    assert_eq!(world.simulator.records().await.len(), 4);
}

#[tokio::test]
async fn what_a_client_sends_before_its_response_waits_for_its_turn() {
    let world = TestSetup::start().await;
    let ask = Request::ask(Protocol::Chat).simulate("delay=300ms");
    let framed = [
        ask.clone(),
        ask.clone().chunked(7),
        ask.clone().chunked(100),
    ];
    let (get, chunked) = (Request::get("/v1/models"), ask.clone().chunked(5));
    let early: [(&str, Vec<u8>, usize); 5] = [
        ("an empty line", b"\r\n".to_vec(), 0),
        ("half an empty line", b"\r".to_vec(), 0),
        ("a request", get.bytes(), 1),
        ("a request with a body", chunked.bytes(), 1),
        (
            "an empty line and two requests",
            [b"\r\n".to_vec(), chunked.bytes(), get.bytes()].concat(),
            2,
        ),
    ];
    for request in &framed {
        for (what, bytes, requests) in &early {
            let mut connection = world.gateway.connect().await;
            connection.send(&request.bytes()).await.unwrap();
            sleep(Duration::from_millis(50)).await;
            connection.send(bytes).await.unwrap();
            for turn in 0..=*requests {
                let answer = timeout(HANGS, connection.answer()).await.expect(what);
                let status = answer.map(|answer| answer.status);
                assert_eq!(status, Some(200), "turn {turn} before {what}");
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_behind_its_next_request_is_noticed() {
    let world = TestSetup::start().await;
    let ask = Request::ask(Protocol::Chat).simulate("stall");
    let mut connection = world.gateway.connect().await;
    connection.send(&ask.bytes()).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    connection
        .send(&Request::get("/v1/models").bytes())
        .await
        .unwrap();
    sleep(Duration::from_millis(100)).await;
    drop(connection);
    let line = world.gateway.log_line(|line| line["status"] == 499).await;
    assert_eq!(line["path"], "/v1/chat/completions", "{line}");
}
