//! Tests of copies of requests: complete, harmless to the first request, and at nobody's expense.

use crate::harness::caching::insert_step;
use crate::harness::config::{channel, standard, without_cool_downs};
use crate::harness::{
    Gateway, PROTOCOLS, Request, ScriptedProvider, ScriptedResponse, Simulator, eventually,
};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const CREDENTIAL: &str = "sk-upstream-copies-canary-19c3";

/// The standard configuration with a channel `copies` at `copies_url` that gets only copies of requests of the text
/// routes.
fn mirroring_config(provider: &str, copies_url: &str, settings: &Value) -> Value {
    let mut config = standard(provider);
    without_cool_downs(&mut config);
    let protocols = ["chat", "messages", "responses"];
    let mut copies = channel(copies_url, &protocols, json!({"bearer": CREDENTIAL}));
    copies["tier"] = json!(9);
    copies["models"] = json!({"demo-large": "copy-large"});
    copies["health"] = json!({"consecutive_failures": 0});
    config["channels"]["copies"] = copies;
    let mut settings = settings.clone();
    settings["channel"] = json!("copies");
    for name in protocols {
        insert_step(&mut config, name, json!({"mirror": settings}));
    }
    config
}

/// A gateway with two simulated providers: the one that responds, and the one that gets copies.
struct MirrorSetup {
    gateway: Gateway,
    provider: Simulator,
    copies: Simulator,
}

impl MirrorSetup {
    async fn start(settings: Value) -> Self {
        let (provider, copies) = (Simulator::start().await, Simulator::start().await);
        let config = mirroring_config(&provider.url(), &copies.url(), &settings);
        Self {
            gateway: Gateway::start(&config).await,
            provider,
            copies,
        }
    }
}

/// The copies of a route by their outcome.
async fn counts(gateway: &Gateway, route: &str) -> [usize; 3] {
    let metrics = gateway.metrics().await;
    ["completed", "failed", "dropped"].map(|outcome| {
        let labels = [("route", route), ("outcome", outcome)];
        metrics.sum("headgate_mirrored_requests_total", &labels) as usize
    })
}

async fn counts_reach(gateway: &Gateway, route: &str, expected: [usize; 3]) {
    let reached = async || (counts(gateway, route).await == expected).then_some(());
    eventually(&format!("{expected:?}"), reached).await;
}

/// A request whose body has its number.
fn numbered(number: usize) -> Request {
    let body = json!({"model": "demo-large", "messages": [{"role": "user", "content": format!("{number}")}]});
    Request::to(Protocol::Chat, body.to_string())
}

#[tokio::test]
async fn a_copy_has_the_request_with_the_channels_own_credential_and_model() {
    let world = MirrorSetup::start(json!({})).await;
    for protocol in PROTOCOLS {
        let mut body = crate::harness::body_of(protocol);
        if protocol == Protocol::Responses {
            body["store"] = json!(false);
        }
        let mut request = Request::to(protocol, body.to_string()).header("x-own", "1");
        request.target += "?trace=1";
        let response = world.gateway.ask(&request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        counts_reach(&world.gateway, protocol.name(), [1, 0, 0]).await;
        let (first, copy) = (world.provider.last().await, world.copies.last().await);
        for same in ["method", "path"] {
            assert_eq!(copy[same], first[same], "{protocol:?}");
        }
        assert_eq!(copy["headers"]["x-own"], "1");
        assert_eq!(copy["headers"]["content-type"], "application/json");
        let credential = copy["headers"]["authorization"].as_str().unwrap();
        assert_eq!(credential, format!("Bearer {CREDENTIAL}"));
        let sent = String::from_utf8(world.copies.last_body().await).unwrap();
        let expected = body.to_string().replace("demo-large", "copy-large");
        assert_eq!(sent, expected);
    }
    // Only the first request counts.
    let metrics = world.gateway.metrics().await;
    let requests = metrics.sum("headgate_requests_total", &[]);
    assert!((requests - 3.0).abs() < 0.1, "{requests}");
    let copied = metrics.sum("headgate_tokens_total", &[("channel", "copies")]);
    assert!(copied.abs() < 0.1, "{copied}");
}

#[tokio::test]
async fn a_copy_has_the_headers_as_replacements_leave_them() {
    let (provider, copies) = (Simulator::start().await, Simulator::start().await);
    let mut config = mirroring_config(&provider.url(), &copies.url(), &json!({}));
    let masked = json!({"replace": [
        {"in": "x-user", "match": "[\\w.]+@", "with": "someone@"},
        {"in": "x-forwarded-for", "match": "\\d+$", "with": "0"},
    ]});
    for name in ["openai", "copies"] {
        config["channels"][name]["forwarded"] = json!("replace");
    }
    insert_step(&mut config, "chat", masked);
    let gateway = Gateway::start(&config).await;
    let request = numbered(1)
        .header("x-user", "ann@a.example")
        .header("x-user", "bob@a.example");
    assert_eq!(gateway.ask(&request).await.status, 200);
    counts_reach(&gateway, "chat", [1, 0, 0]).await;
    for record in [provider.last().await, copies.last().await] {
        let headers = &record["headers"];
        assert_eq!(headers["x-user"], "someone@a.example, someone@a.example");
        assert_eq!(headers["x-forwarded-for"], "127.0.0.0");
    }
}

#[tokio::test]
async fn a_channel_gets_copies_only_of_requests_that_it_accepts() {
    let (provider, copies) = (Simulator::start().await, Simulator::start().await);
    let mut config = mirroring_config(&provider.url(), &copies.url(), &json!({}));
    config["channels"]["copies"]["if"] = json!("request.headers['x-copy'] == 'yes'");
    let gateway = Gateway::start(&config).await;
    for (value, expected) in [("no", 0), ("yes", 1), ("", 1)] {
        let request = numbered(1).header("x-copy", value);
        assert_eq!(gateway.ask(&request).await.status, 200);
        counts_reach(&gateway, "chat", [expected, 0, 0]).await;
        sleep(Duration::from_millis(50)).await;
        assert_eq!(copies.records().await.len(), expected, "{value}");
    }
}

#[tokio::test]
async fn a_share_of_the_requests_is_copied() {
    let world = MirrorSetup::start(json!({"percent": 30, "concurrent": 64})).await;
    let mut connection = world.gateway.connect().await;
    for number in 0..300 {
        assert_eq!(connection.ask(&numbered(number)).await.status, 200);
    }
    let [completed, failed, dropped] = eventually("the end of all copies", async || {
        let counts = counts(&world.gateway, "chat").await;
        (counts[0] == world.copies.records().await.len()).then_some(counts)
    })
    .await;
    println!("300 requests, 30 %: {completed} copies");
    assert!((50..=130).contains(&completed), "{completed}");
    assert_eq!((failed, dropped), (0, 0));
    assert_eq!(world.provider.records().await.len(), 300);
}

#[tokio::test]
async fn stored_and_continued_requests_and_unknown_models_are_not_copied() {
    let world = MirrorSetup::start(json!({})).await;
    for (protocol, members) in [
        (Protocol::Chat, json!({"store": true})),
        (Protocol::Responses, json!({})),
        (
            Protocol::Responses,
            json!({"store": false, "background": true}),
        ),
        (Protocol::Chat, json!({"model": "demo-small"})),
    ] {
        let mut body = crate::harness::body_of(protocol);
        for (name, value) in members.as_object().unwrap() {
            body[name] = value.clone();
        }
        let request = Request::to(protocol, body.to_string());
        world.gateway.ask(&request).await;
    }
    // A request that is refused is not copied either.
    let unknown = numbered(1).key("sk-unknown-000000");
    assert_eq!(world.gateway.ask(&unknown).await.status, 401);
    assert_eq!(world.gateway.ask(&numbered(2)).await.status, 200);
    counts_reach(&world.gateway, "chat", [1, 0, 0]).await;
    assert_eq!(world.copies.records().await.len(), 1);
}

#[tokio::test]
async fn the_stream_of_a_copy_is_read_to_its_end() {
    let provider = Simulator::start().await;
    let copies = Simulator::start().await;
    // More than a subrequest may return otherwise, and slower than the first.
    let url = copies.url_obeying("events=300;event_bytes=8000;pace=2ms");
    let config = mirroring_config(&provider.url(), &url, &json!({}));
    let gateway = Gateway::start(&config).await;
    let response = gateway.ask(&Request::ask_stream(Protocol::Chat)).await;
    assert!(response.whole);
    counts_reach(&gateway, "chat", [1, 0, 0]).await;
    assert_eq!(copies.last().await["ended"], "complete");
    let metrics = gateway.metrics().await;
    let labels = [("channel", "copies"), ("outcome", "success")];
    let attempts = metrics.sum("headgate_attempts_total", &labels);
    assert!((attempts - 1.0).abs() < 0.1, "{attempts}");
}

#[tokio::test]
async fn a_channel_that_hangs_slows_nobody_and_copies_above_the_bound_are_dropped() {
    let provider = Simulator::start().await;
    let hanging = ScriptedProvider::start(vec![ScriptedResponse::Hang]).await;
    let settings = json!({"concurrent": 4, "timeout": "3s"});
    let config = mirroring_config(&provider.url(), &hanging.url(), &settings);
    let gateway = Gateway::start(&config).await;
    let mut connection = gateway.connect().await;
    let mut elapsed = Vec::new();
    // The channel lacks the first model, so that those requests have no copies.
    for model in ["demo-small", "demo-large"] {
        let began = Instant::now();
        for number in 0..50 {
            let request = numbered(number);
            let body = String::from_utf8(request.body.clone().unwrap()).unwrap();
            let body = body.replace("demo-large", model);
            let response = connection.ask(&request.with_body(body.into_bytes())).await;
            assert_eq!(response.status, 200, "{}", response.text());
        }
        elapsed.push(began.elapsed());
    }
    let (without, with) = (elapsed[0], elapsed[1]);
    println!("50 requests take {without:?}, and {with:?} beside 4 hanging copies");
    // The copies hang for 3 seconds each.
    assert!(with < without * 2 + Duration::from_secs(1), "{with:?}");
    counts_reach(&gateway, "chat", [0, 4, 46]).await;
    // After the deadline of those copies there is room again.
    let closed = async || (hanging.open() == 0).then_some(());
    eventually("the end of the connections", closed).await;
    assert_eq!(connection.ask(&numbered(50)).await.status, 200);
    counts_reach(&gateway, "chat", [0, 5, 46]).await;
}

#[tokio::test]
async fn a_channel_that_fails_changes_nothing_for_the_first_request() {
    let provider = Simulator::start().await;
    let error = b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    for acts in [
        vec![ScriptedResponse::Reset],
        vec![ScriptedResponse::Close],
        vec![ScriptedResponse::Send(b"no http\r\n\r\n".to_vec()), ScriptedResponse::Close],
        vec![ScriptedResponse::Send(error.to_vec())],
        vec![
            ScriptedResponse::Send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{".to_vec()),
            ScriptedResponse::Close,
        ],
    ] {
        let failing = ScriptedProvider::start(acts).await;
        let config = mirroring_config(&provider.url(), &failing.url(), &json!({}));
        let gateway = Gateway::start(&config).await;
        for number in 0..5 {
            let response = gateway.ask(&numbered(number)).await;
            assert_eq!(response.status, 200, "{}", response.text());
            counts_reach(&gateway, "chat", [0, number + 1, 0]).await;
        }
    }
}

#[tokio::test]
async fn copies_do_not_delay_the_end_of_the_process() {
    let provider = Simulator::start().await;
    let hanging = ScriptedProvider::start(vec![ScriptedResponse::Hang]).await;
    let settings = json!({"timeout": "1h"});
    let config = mirroring_config(&provider.url(), &hanging.url(), &settings);
    let mut gateway = Gateway::start(&config).await;
    for number in 0..3 {
        assert_eq!(gateway.ask(&numbered(number)).await.status, 200);
    }
    let sent = async || (hanging.requests().len() == 3).then_some(());
    eventually("the copies", sent).await;
    gateway.process.signal(libc::SIGTERM);
    let began = Instant::now();
    eventually("the end of the process", async || gateway.process.ended()).await;
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    assert!(gateway.process.ended().unwrap().success());
}
