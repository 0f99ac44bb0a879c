//! Tests of caller limits: they are enforced, reported in headers, and corrected to the actual usage.

use crate::harness::config::{self, caller, route};
use crate::harness::error_shape::assert_error_body;
use crate::harness::request::body_of;
use crate::harness::{
    Connection, OpenResponse, PROTOCOLS, Request, TestSetup, WholeResponse, eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// The name of a rate limit header for requests or tokens in a protocol.
fn header(protocol: Protocol, counted: &str, what: &str) -> String {
    match protocol {
        Protocol::Messages => format!("anthropic-ratelimit-{counted}-{what}"),
        _ => format!("x-ratelimit-{what}-{counted}"),
    }
}

/// Sets Ann's limits, and adds `rate_limit` to the routes of the three protocols.
fn limit(config: &mut Value, limits: Value) {
    config["callers"][0]["limits"] = limits;
    for protocol in PROTOCOLS {
        let request = &mut route(config, protocol.name())["request"];
        request.as_array_mut().unwrap().push("rate_limit".into());
    }
}

async fn world(limits: Value) -> TestSetup {
    TestSetup::with(|config| limit(config, limits)).await
}

/// A body that allows `most` output tokens.
fn body_up_to(protocol: Protocol, most: u64) -> Value {
    let mut body = body_of(protocol);
    let bound = match protocol {
        Protocol::Responses => "max_output_tokens",
        _ => "max_tokens",
    };
    body[bound] = most.into();
    body
}

/// The number in a rate limit header.
fn reported(answer: &WholeResponse, protocol: Protocol, counted: &str, what: &str) -> u64 {
    let name = header(protocol, counted, what);
    let value = answer.headers.get(&name);
    let value = value.unwrap_or_else(|| panic!("no `{name}` in {:?}", answer.headers));
    value.parse().unwrap()
}

/// Asserts that the response is a 429 of this protocol with a reason and Retry-After; returns its message.
fn assert_limited(protocol: Protocol, answer: &WholeResponse, class: &str, code: &str) -> String {
    let message = assert_error_body(protocol, answer, 429);
    let error = &answer.json()["error"];
    match protocol {
        Protocol::Messages => assert_eq!(error["type"], "rate_limit_error"),
        _ => {
            assert_eq!(
                (&error["type"], &error["code"]),
                (&class.into(), &code.into())
            );
        }
    }
    let number = |name| -> u64 { answer.headers.get(name).unwrap().parse().unwrap() };
    let (seconds, ms) = (number("retry-after"), number("retry-after-ms"));
    assert!(
        seconds >= 1 && seconds == ms.div_ceil(1000),
        "{seconds} s, {ms} ms"
    );
    let is_final = answer.headers.get("x-should-retry") == Some("false");
    assert_eq!(is_final, code == "insufficient_quota");
    message
}

#[tokio::test]
async fn requests_beyond_those_of_a_minute_are_refused_in_each_protocols_words() {
    for protocol in PROTOCOLS {
        let world = world(json!({"requests_per_minute": 3})).await;
        for (request, status, left) in [
            (Request::ask(protocol), 200, 2),
            (Request::ask_stream(protocol), 200, 1),
            (Request::ask(protocol).simulate("status=400"), 400, 0),
        ] {
            let answer = world.ask(&request).await;
            assert_eq!(answer.status, status, "{}", answer.text());
            assert_eq!(reported(&answer, protocol, "requests", "limit"), 3);
            assert_eq!(reported(&answer, protocol, "requests", "remaining"), left);
            let reset = answer.headers.get(&header(protocol, "requests", "reset"));
            let reset = reset.unwrap();
            match protocol {
                Protocol::Messages => assert!(reset.contains('T') && reset.ends_with('Z')),
                // Never above the window.
                _ => assert!(["1m0s", "59s", "58s"].contains(&reset), "{reset}"),
            }
            let names = answer.headers.names();
            assert_eq!(names.filter(|name| name.contains("ratelimit")).count(), 3);
        }
        let refused = world.ask(&Request::ask(protocol)).await;
        let message = assert_limited(protocol, &refused, "requests", "rate_limit_exceeded");
        assert!(message.contains("3 requests per minute"), "{message}");
        assert_eq!(reported(&refused, protocol, "requests", "remaining"), 0);
        assert_eq!(world.simulator.records().await.len(), 3);
        let line = world.gateway.log_of(&refused).await;
        assert_eq!(line["settlement"], "gateway_reply", "{line}");
        let labels = [("caller", "ann"), ("limit", "requests_per_minute")];
        let metrics = world.gateway.metrics().await;
        assert_eq!(metrics.sum("headgate_rate_limited_total", &labels), 1.0);
    }
}

#[tokio::test]
async fn what_is_refused_before_the_limits_counts_for_nothing() {
    let world = world(json!({"requests_per_minute": 1})).await;
    for _ in 0..3 {
        let body = json!({"model": "demo-large", "messages": "none"});
        let request = Request::to(Protocol::Chat, body.to_string());
        assert_eq!(world.ask(&request).await.status, 400);
    }
    assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 429);
}

#[tokio::test]
async fn tokens_are_taken_on_estimate_and_settled_on_what_was_used() {
    for protocol in PROTOCOLS {
        let world = world(json!({"tokens_per_minute": 10_000})).await;
        // An exchange is settled before the next one on its connection begins.
        let mut connection = world.gateway.connect().await;
        let small = Request::to(protocol, body_up_to(protocol, 9_000).to_string());
        for _ in 0..3 {
            let answer = connection.ask(&small).await;
            assert_eq!(answer.status, 200, "{protocol:?}: {}", answer.text());
            assert_eq!(reported(&answer, protocol, "tokens", "limit"), 10_000);
            let left = reported(&answer, protocol, "tokens", "remaining");
            assert!(left < 1_000, "{left}");
        }
        let refused_by_provider = small.clone().simulate("status=500");
        assert_eq!(connection.ask(&refused_by_provider).await.status, 500);
        assert_eq!(connection.ask(&small).await.status, 200);
        let large = small.clone().simulate("body_bytes=36000");
        assert_eq!(connection.ask(&large).await.status, 200);
        let refused = connection.ask(&small).await;
        let message = assert_limited(protocol, &refused, "tokens", "rate_limit_exceeded");
        assert!(message.contains("10000 tokens per minute"), "{message}");
        let left = reported(&refused, protocol, "tokens", "remaining");
        assert!((1..1_000).contains(&left), "{left}");
        let tiny = Request::to(protocol, body_up_to(protocol, 1).to_string());
        assert_eq!(connection.ask(&tiny).await.status, 200);
    }
}

#[tokio::test]
async fn a_stream_that_its_caller_left_has_used_what_was_seen_of_it() {
    for protocol in PROTOCOLS {
        let world = world(json!({"tokens_per_minute": 10_000})).await;
        let mut body = body_up_to(protocol, 9_000);
        body["stream"] = true.into();
        let stream = Request::to(protocol, body.to_string()).simulate("pace=5ms; events=1000");
        let mut reply = world.open(&stream).await;
        for _ in 0..20 {
            reply.piece().await;
        }
        drop(reply);
        let probe = Request::to(protocol, body_up_to(protocol, 1).to_string());
        let settled = async || {
            let left = reported(&world.ask(&probe).await, protocol, "tokens", "remaining");
            (left > 5_000).then_some(left)
        };
        let left = eventually("the settlement", settled).await;
        assert!(left <= 10_000 - 20, "{protocol:?}: {left}");
    }
}

/// How an exchange with a concurrency lease ends.
#[derive(Clone, Copy, Debug)]
enum ExchangeEnd {
    Whole,
    CallerLeaves,
    ProviderBreaks,
    ProviderRefuses,
}

/// Each request goes over a connection of its own, as soon as the response before it has ended. Another caller keeps the
/// gateway busy, so that what it does after a response takes long.
#[tokio::test]
async fn one_request_after_another_stays_within_a_concurrency_of_one() {
    let world = TestSetup::with(|config| {
        limit(config, json!({"concurrent": 1}));
        for channel in config["channels"].as_object_mut().unwrap().values_mut() {
            channel["limits"] = json!({"concurrent": 1});
        }
        let mut busy = config["channels"]["openai"].clone();
        busy["limits"] = json!({});
        busy["models"] = json!({"busy": "sim-large-2026-08"});
        config["channels"]["busy"] = busy;
        config["models"]["busy"] = config["models"]["demo-large"].clone();
        let callers = config["callers"].as_array_mut().unwrap();
        callers.push(caller("busy", "sk-busy-canary-12", &["*"]));
    })
    .await;
    let address = world.gateway.address;
    let mut others = JoinSet::new();
    for _ in 0..16 {
        others.spawn(async move {
            let mut body = body_of(Protocol::Chat);
            body["model"] = "busy".into();
            let request = Request::to(Protocol::Chat, body.to_string()).key("sk-busy-canary-12");
            loop {
                assert_eq!(
                    Connection::to(address).await.ask(&request).await.status,
                    200
                );
            }
        });
    }
    for protocol in PROTOCOLS {
        let requests = [
            (200, Request::ask(protocol)),
            (200, Request::ask_stream(protocol)),
            (400, Request::ask(protocol).simulate("status=400")),
        ];
        for nth in 0..150 {
            let (status, request) = &requests[nth % requests.len()];
            let answer = world.ask(request).await;
            assert_eq!(answer.status, *status, "{nth}: {}", answer.text());
        }
    }
}

#[tokio::test]
async fn the_concurrency_lease_is_released_however_the_exchange_ends() {
    let world = world(json!({"concurrent": 1})).await;
    for protocol in PROTOCOLS {
        for end in [
            ExchangeEnd::Whole,
            ExchangeEnd::CallerLeaves,
            ExchangeEnd::ProviderBreaks,
            ExchangeEnd::ProviderRefuses,
        ] {
            match end {
                ExchangeEnd::Whole => {
                    let stream = Request::ask_stream(protocol).simulate("pace=50ms; events=20");
                    let reply = hold(&world, &stream).await;
                    refused_meanwhile(&world, protocol).await;
                    assert!(reply.rest().await.whole);
                }
                ExchangeEnd::CallerLeaves => {
                    let stream = Request::ask_stream(protocol).simulate("stall_after=1");
                    let reply = hold(&world, &stream).await;
                    refused_meanwhile(&world, protocol).await;
                    drop(reply);
                }
                ExchangeEnd::ProviderBreaks => {
                    let stream = Request::ask_stream(protocol).simulate("pace=20ms; cut_after=5");
                    let reply = hold(&world, &stream).await;
                    assert!(!reply.rest().await.whole);
                }
                ExchangeEnd::ProviderRefuses => {
                    let failing = Request::ask(protocol).simulate("status=503");
                    let status = async || {
                        let status = world.ask(&failing).await.status;
                        (status != 429).then_some(status)
                    };
                    assert_eq!(eventually("the provider's answer", status).await, 503);
                }
            }
        }
    }
    let names = world.ask(&Request::ask(Protocol::Chat)).await;
    assert!(
        names
            .headers
            .names()
            .all(|name| !name.contains("ratelimit"))
    );
}

/// Takes the only concurrency lease, once it is free.
async fn hold(world: &TestSetup, stream: &Request) -> OpenResponse {
    eventually("a free place", async || {
        let reply = world.open(stream).await;
        (reply.status == 200).then_some(reply)
    })
    .await
}

async fn refused_meanwhile(world: &TestSetup, protocol: Protocol) {
    for _ in 0..2 {
        let refused = world.ask(&Request::ask(protocol)).await;
        let message = assert_limited(protocol, &refused, "requests", "rate_limit_exceeded");
        assert!(message.contains("concurrent requests"), "{message}");
    }
}

#[tokio::test]
async fn a_model_may_have_limits_of_its_own() {
    let models = json!({"demo-s*": {"requests_per_minute": 1}});
    let world = world(json!({"requests_per_minute": 100, "models": models})).await;
    let mut small = body_of(Protocol::Chat);
    small["model"] = "demo-small".into();
    let small = Request::to(Protocol::Chat, small.to_string());
    let first = world.ask(&small).await;
    assert_eq!(first.status, 200);
    assert_eq!(reported(&first, Protocol::Chat, "requests", "limit"), 1);
    let refused = world.ask(&small).await;
    let message = assert_limited(Protocol::Chat, &refused, "requests", "rate_limit_exceeded");
    assert!(message.contains("model `demo-small`"), "{message}");
    let large = world.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(large.status, 200);
    assert_eq!(reported(&large, Protocol::Chat, "requests", "limit"), 100);
}

#[tokio::test]
async fn an_exhausted_budget_forbids_sdk_retries() {
    for protocol in PROTOCOLS {
        let world = world(json!({"tokens_per_day": 5})).await;
        let mut connection = world.gateway.connect().await;
        assert_eq!(connection.ask(&Request::ask(protocol)).await.status, 200);
        let refused = connection.ask(&Request::ask(protocol)).await;
        let quota = "insufficient_quota";
        let message = assert_limited(protocol, &refused, quota, quota);
        assert!(message.contains("5 tokens per day"), "{message}");
        assert_eq!(reported(&refused, protocol, "tokens", "remaining"), 0);
    }
}

#[tokio::test]
async fn a_reload_keeps_what_was_counted() {
    let world = TestSetup::start().await;
    let mut config = config::standard(&world.simulator.url());
    limit(&mut config, json!({"requests_per_minute": 2}));
    world.gateway.reload(&config).await;
    let chat = Request::ask(Protocol::Chat);
    assert_eq!(world.ask(&chat).await.status, 200);
    config["models"]["demo-large"]["created"] = 1.into();
    world.gateway.reload(&config).await;
    let last = world.ask(&chat).await;
    assert_eq!(reported(&last, Protocol::Chat, "requests", "remaining"), 0);
    world.gateway.reload(&config).await;
    assert_eq!(world.ask(&chat).await.status, 429);
    limit(&mut config, json!({}));
    world.gateway.reload(&config).await;
    assert_eq!(world.ask(&chat).await.status, 200);
}

#[tokio::test]
async fn a_key_without_limits_gets_no_rate_limit_headers() {
    let world = TestSetup::with(|config| {
        limit(config, json!({"requests_per_minute": 1}));
        let free = caller("free", "sk-free-canary-11", &["*"]);
        config["callers"].as_array_mut().unwrap().push(free);
    })
    .await;
    for protocol in PROTOCOLS {
        for _ in 0..3 {
            let answer = world
                .ask(&Request::ask(protocol).key("sk-free-canary-11"))
                .await;
            assert_eq!(answer.status, 200);
            assert!(
                answer
                    .headers
                    .names()
                    .all(|name| !name.contains("ratelimit"))
            );
        }
    }
}

#[tokio::test]
async fn a_caller_may_have_so_many_connections_open() {
    let world =
        TestSetup::with(|config| config["callers"][0]["limits"] = json!({"connections": 2})).await;
    let chat = Request::ask(Protocol::Chat);
    let mut open: Vec<Connection> = Vec::new();
    for _ in 0..2 {
        let mut connection = world.gateway.connect().await;
        assert_eq!(connection.ask(&chat).await.status, 200);
        open.push(connection);
    }
    for request in [&chat, &Request::get("/v1/models")] {
        let mut further = world.gateway.connect().await;
        let refused = further.ask(request).await;
        let message = assert_limited(Protocol::Chat, &refused, "requests", "rate_limit_exceeded");
        assert!(message.contains("2 open connections"), "{message}");
        assert!(further.is_over().await);
    }
    for connection in &mut open {
        assert_eq!(connection.ask(&chat).await.status, 200);
    }
    let metrics = world.gateway.metrics().await;
    let labels = [("caller", "ann"), ("limit", "connections")];
    assert_eq!(metrics.sum("headgate_rate_limited_total", &labels), 2.0);
    open.pop();
    let fits = async || (world.ask(&chat).await.status == 200).then_some(());
    eventually("a free connection", fits).await;
}
