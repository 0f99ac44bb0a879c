//! Tests of hits and misses, of the caller's `cache-control`, and of what is logged and charged.

use crate::harness::caching::{CachingSetup, add_step, insert_step};
use crate::harness::{Request, body_of};
use headgate_protocol::Protocol;
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

const CACHED: [Protocol; 2] = [Protocol::Chat, Protocol::Messages];

fn request() -> Request {
    Request::ask(Protocol::Chat)
}

#[tokio::test]
async fn an_equal_request_gets_the_recorded_response() {
    let world = CachingSetup::start(json!({})).await;
    for protocol in CACHED {
        let before = world.received().await;
        let request = Request::ask(protocol);
        let first = world.expect(&request, "miss", "first").await;
        let again = world.expect(&request, "hit", "again").await;
        assert!(again.body == first.body, "{protocol:?}: {}", again.text());
        assert_eq!(first.headers.get("age"), None);
        let age: u64 = again.headers.get("age").unwrap().parse().unwrap();
        assert!(age < 30, "{age}");
        let content_type = again.headers.get("content-type");
        assert_eq!(content_type, first.headers.get("content-type"));
        let id = again.headers.get("x-request-id");
        assert!(id.is_some() && id != first.headers.get("x-request-id"));
        assert_eq!(world.received().await, before + 1, "{protocol:?}");
    }
}

#[tokio::test]
async fn hits_are_in_the_log_and_in_the_metrics() {
    let world = CachingSetup::start(json!({})).await;
    let stored = json!({"model": "demo-large", "messages": [{"role": "user", "content": "x"}], "store": true});
    let bypassing = Request::to(Protocol::Chat, stored.to_string());
    for (request, expected, settlement, attempts) in [
        (request(), "miss", "complete", 1),
        (request(), "hit", "gateway_reply", 0),
        (request(), "hit", "gateway_reply", 0),
        (bypassing, "bypass", "complete", 1),
    ] {
        let response = world.expect(&request, expected, expected).await;
        let line = world.gateway.log_of(&response).await;
        assert_eq!(line["cache"], expected);
        assert_eq!(line["settlement"], settlement);
        assert_eq!(line["attempts"], attempts);
        assert_eq!(line.get("input_tokens").is_some(), attempts > 0, "{line}");
    }
    let metrics = world.gateway.metrics().await;
    for (outcome, count) in [("hit", 2.0), ("miss", 1.0), ("bypass", 1.0)] {
        let labels = [("route", "chat"), ("outcome", outcome)];
        let counted = metrics.sum("headgate_cache_requests_total", &labels);
        assert!((counted - count).abs() < 0.1, "{outcome}: {counted}");
    }
}

#[tokio::test]
async fn callers_decide_by_cache_control() {
    let world = CachingSetup::start(json!({})).await;
    world.expect(&request(), "miss", "first").await;
    for (directive, expected, is_sent) in [
        ("max-age=600", "hit", false),
        ("no-store", "bypass", true),
        ("no-cache", "miss", true),
        ("max-age=0", "miss", true),
        ("private", "hit", false),
        ("max-age=600, no-cache", "miss", true),
    ] {
        let before = world.received().await;
        let asked = request().header("cache-control", directive);
        let response = world.expect(&asked, expected, directive).await;
        let sent = world.received().await - before;
        assert_eq!(sent, usize::from(is_sent), "{directive}");
        // The newest response that may be stored is the one that others get.
        let next = world.expect(&request(), "hit", directive).await;
        let is_replaced = expected != "bypass";
        assert_eq!(next.body == response.body, is_replaced, "{directive}");
    }
}

#[tokio::test]
async fn callers_limit_the_age_of_responses() {
    let world = CachingSetup::start(json!({})).await;
    world.expect(&request(), "miss", "first").await;
    sleep(Duration::from_millis(2_100)).await;
    let young = request().header("cache-control", "max-age=1");
    let old = request().header("cache-control", "max-age=60");
    let hit = world.expect(&old, "hit", "old").await;
    let age: u64 = hit.headers.get("age").unwrap().parse().unwrap();
    assert!((2..30).contains(&age), "{age}");
    world.expect(&young, "miss", "young").await;
    world.expect(&young, "hit", "young again").await;
}

#[tokio::test]
async fn entries_expire() {
    let world = CachingSetup::start(json!({"ttl": "1s"})).await;
    world.expect(&request(), "miss", "first").await;
    sleep(Duration::from_millis(1_200)).await;
    world.expect(&request(), "miss", "expired").await;
}

#[tokio::test]
async fn hits_count_as_requests_and_use_no_tokens() {
    let world = CachingSetup::with(json!({}), |config| {
        config["callers"][0]["limits"] =
            json!({"requests_per_minute": 4, "tokens_per_minute": 100_000});
        insert_step(config, "chat", json!("rate_limit"));
    })
    .await;
    let mut tokens = Vec::new();
    for state in ["miss", "hit", "hit", "hit"] {
        let answer = world.expect(&request(), state, "within the limit").await;
        let left = answer.headers.get("x-ratelimit-remaining-tokens");
        tokens.push(left.expect("the limit is reported").to_owned());
        // The reservation is settled after the response.
        world.gateway.log_of(&answer).await;
    }
    // The header of the miss has what its reservation left, which is not settled yet.
    tokens.remove(0);
    assert_eq!(tokens[0], tokens[1]);
    assert_eq!(tokens[1], tokens[2]);
    let (status, _) = world.ask(&request()).await;
    assert_eq!(status, 429);
}

#[tokio::test]
async fn what_a_filter_refuses_is_no_hit() {
    let world = CachingSetup::with(json!({"shared": true}), |config| {
        add_step(config, "responses", json!({"cache": {}}));
    })
    .await;
    world.expect(&request(), "miss", "ann").await;
    world.expect(&request(), "hit", "ann").await;
    // This caller may not use the model, whoever recorded a response of it.
    let bob = request().key(crate::harness::request::BOB);
    let response = world.gateway.ask(&bob).await;
    assert_eq!(response.status, 403, "{}", response.text());
    let unknown = request().key("sk-unknown-000000");
    assert_eq!(world.gateway.ask(&unknown).await.status, 401);
    let mut invalid = body_of(Protocol::Chat);
    invalid["temperature"] = json!("hot");
    let invalid = Request::to(Protocol::Chat, invalid.to_string());
    for _ in 0..2 {
        assert_eq!(world.gateway.ask(&invalid).await.status, 400);
    }
}

#[tokio::test]
async fn a_condition_decides_which_requests_use_the_cache() {
    let world = CachingSetup::with(json!({}), |config| {
        let chain = crate::harness::config::route(config, "chat")["request"].as_array_mut();
        let step = json!({"if": "request.headers[\"x-repeat\"] == \"1\"", "cache": {}});
        *chain.unwrap().last_mut().unwrap() = step;
    })
    .await;
    let repeated = request().header("x-repeat", "1");
    world.expect(&repeated, "miss", "first").await;
    world.expect(&repeated, "hit", "again").await;
    for _ in 0..2 {
        let response = world.gateway.ask(&request()).await;
        assert_eq!(response.headers.get("x-headgate-cache"), None);
        let line = world.gateway.log_of(&response).await;
        assert_eq!(line.get("cache"), None);
    }
    assert_eq!(world.received().await, 3);
}
