//! Tests of concurrent misses: one request for all, and nobody depends on another caller.

use crate::harness::caching::{CachingSetup, outcome};
use crate::harness::paid::ask_at_once;
use crate::harness::{Request, eventually};
use headgate_protocol::Protocol;
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, sleep};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_concurrent_misses_make_one_request() {
    const REQUESTS: usize = 1_000;
    for (settings, request) in [
        (json!({}), Request::ask(Protocol::Chat)),
        (
            json!({"streams": true}),
            Request::ask_stream(Protocol::Messages),
        ),
    ] {
        let world = CachingSetup::start(settings).await;
        let request = request.simulate("delay=5s");
        let began = Instant::now();
        let responses = ask_at_once(&world.gateway, &request, REQUESTS).await;
        let elapsed = began.elapsed();
        let hits = responses.iter().filter(|one| outcome(one) == "hit").count();
        println!("{REQUESTS} requests in {elapsed:?}: {hits} hits");
        assert_eq!(world.received().await, 1);
        assert_eq!(hits, REQUESTS - 1);
        for response in &responses {
            assert_eq!(response.status, 200, "{}", response.text());
            assert!(response.whole && response.body == responses[0].body);
        }
    }
}

#[tokio::test]
async fn a_leader_that_leaves_does_not_fail_those_who_wait() {
    let world = CachingSetup::start(json!({})).await;
    let request = Request::ask(Protocol::Chat).simulate("delay=2s");
    let mut leader = world.gateway.connect().await;
    leader.send(&request.bytes()).await.unwrap();
    let sent = async || (world.received().await == 1).then_some(());
    eventually("the request of the leader", sent).await;
    let waiting = ask_at_once(&world.gateway, &request, 20);
    let leaving = async {
        sleep(Duration::from_millis(700)).await;
        leader.reset();
    };
    let (responses, ()) = tokio::join!(waiting, leaving);
    for response in &responses {
        assert_eq!(response.status, 200, "{}", response.text());
    }
    let misses = responses
        .iter()
        .filter(|one| outcome(one) == "miss")
        .count();
    assert_eq!((misses, world.received().await), (1, 2));
}

#[tokio::test]
async fn those_who_wait_for_a_failed_request_send_their_own() {
    let world = CachingSetup::start(json!({})).await;
    let request = Request::ask(Protocol::Chat).simulate("delay=1s; status=500");
    let responses = ask_at_once(&world.gateway, &request, 10).await;
    for response in &responses {
        assert_eq!((response.status, outcome(response)), (500, "miss"));
    }
    assert_eq!(world.received().await, 10);
    let recovered = Request::ask(Protocol::Chat);
    world.expect(&recovered, "miss", "after the failure").await;
}

#[tokio::test]
async fn those_who_wait_for_a_response_that_is_not_recorded_send_their_own() {
    let world = CachingSetup::start(json!({"entry_size": "1KiB"})).await;
    let request = Request::ask(Protocol::Chat).simulate("delay=1s; body_bytes=5000");
    let responses = ask_at_once(&world.gateway, &request, 10).await;
    for response in &responses {
        assert_eq!((response.status, outcome(response)), (200, "miss"));
    }
    assert_eq!(world.received().await, 10);
}

#[tokio::test]
async fn a_request_waits_until_its_deadline_and_is_then_sent() {
    let world = CachingSetup::start(json!({"wait": "300ms"})).await;
    let request = Request::ask(Protocol::Chat).simulate("delay=2s");
    let mut leader = world.gateway.connect().await;
    leader.send(&request.bytes()).await.unwrap();
    let sent = async || (world.received().await == 1).then_some(());
    eventually("the request of the leader", sent).await;
    world.expect(&request, "miss", "after the wait").await;
    assert_eq!(world.received().await, 2);
    assert_eq!(leader.answer().await.unwrap().status, 200);
}

#[tokio::test]
async fn a_waiting_caller_that_leaves_ends_its_exchange() {
    let world = CachingSetup::start(json!({})).await;
    let request = Request::ask(Protocol::Chat).simulate("delay=3s");
    let mut leader = world.gateway.connect().await;
    leader.send(&request.bytes()).await.unwrap();
    let sent = async || (world.received().await == 1).then_some(());
    eventually("the request of the leader", sent).await;
    let mut follower = world.gateway.connect().await;
    follower.send(&request.bytes()).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    follower.reset();
    let line = world.gateway.log_line(|line| line["status"] == 499).await;
    assert_eq!(line["settlement"], "client_cancelled");
    assert_eq!(leader.answer().await.unwrap().status, 200);
    assert_eq!(world.received().await, 1);
}
