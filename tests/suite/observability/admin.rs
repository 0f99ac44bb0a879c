//! Tests of the admin pages and the access log.
//!
//! `HEADGATE_NAMES=100000 cargo test --test suite observability::admin` makes up more names.

use crate::harness::config::CREDENTIALS;
use crate::harness::gateway::Metrics;
use crate::harness::repetitions::repetitions;
use crate::harness::request::{ANN, BOB};
use crate::harness::{PROTOCOLS, Request, TestSetup, body_of, eventually};
use chrono::{DateTime, Utc};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The names that [`exercise`] makes up in each round.
const NAMES_EACH: usize = PROTOCOLS.len() + 4;

#[tokio::test]
async fn made_up_names_make_no_new_series() {
    let names = repetitions("HEADGATE_NAMES", 2_100);
    let world = TestSetup::start().await;
    assert_eq!(world.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    exercise(&world, 0).await;
    let before = series(&settled(&world).await);
    exercise(&world, names / NAMES_EACH).await;
    let after = series(&settled(&world).await);
    assert_eq!(before, after);
}

#[tokio::test]
async fn metrics_are_in_order_and_add_up() {
    let world = TestSetup::start().await;
    for directives in ["", "status=500", "status=400", "html", "cut", "no_usage"] {
        for protocol in PROTOCOLS {
            world
                .ask(&Request::ask(protocol).simulate(directives))
                .await;
            world
                .ask(&Request::ask_stream(protocol).simulate(directives))
                .await;
        }
    }
    exercise(&world, 3).await;
    let page = world.gateway.page("GET", "/metrics").await;
    let kind = page.headers.get("content-type").unwrap();
    assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
    let metrics = settled(&world).await;
    assert!(metrics.sum("headgate_requests_total", &[]) > 36.0);
    let mut by_route: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for (index, name) in ["headgate_requests_total", "headgate_settlements_total"]
        .iter()
        .enumerate()
    {
        for sample in metrics.samples.iter().filter(|sample| sample.name == *name) {
            by_route.entry(&sample.labels["route"]).or_default()[index] += sample.value;
        }
    }
    for (route, [requests, settlements]) in by_route {
        assert_eq!(requests, settlements, "{route}");
    }
    let help = page
        .text()
        .lines()
        .filter(|line| line.starts_with("# HELP"))
        .count();
    let types = page
        .text()
        .lines()
        .filter(|line| line.starts_with("# TYPE"))
        .count();
    assert!(help > 5 && help == types, "{help} {types}");
}

/// Whether `value` is a time by RFC 3339 in UTC, to the millisecond.
fn is_time(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.len() == 24 && text.parse::<DateTime<Utc>>().is_ok()
}

#[tokio::test]
async fn an_operator_sees_health_and_the_configuration() {
    let world = TestSetup::start().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(world.gateway.page("GET", path).await.status, 200, "{path}");
    }
    let page = world.gateway.config_page().await;
    assert_eq!(page["revision"]["in_use"], page["revision"]["on_disk"]);
    assert_eq!(page["callers"], 2);
    assert!(is_time(&page["loaded_at"]), "{page}");
    assert_eq!(page["last_rejection"], Value::Null);
    assert_eq!(page["previous_revisions"], json!([]));
    assert!(page["server"]["workers"].as_u64().unwrap() > 0, "{page}");
    let memory = json!({"store": "memory", "up": true, "since": null, "last_error": null});
    assert_eq!(page["state"], memory);
    let names = |key: &str| {
        let list = page[key].as_array().unwrap();
        list.iter()
            .map(|entry| entry["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("channels"), [json!("messages"), json!("openai")]);
    assert_eq!(names("models"), [json!("demo-large"), json!("demo-small")]);
    assert_eq!(names("routes")[0], "chat");
    for (method, path, status) in [
        ("GET", "/nothing", 404),
        ("POST", "/metrics", 405),
        ("GET", "/reload", 405),
        ("POST", "/reload", 200),
    ] {
        assert_eq!(
            world.gateway.page(method, path).await.status,
            status,
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn every_request_is_one_line_of_json_in_the_log() {
    let world = TestSetup::start().await;
    let requests = [
        (Request::ask(Protocol::Chat), 200, "complete"),
        (Request::ask_stream(Protocol::Messages), 200, "complete"),
        (Request::ask_stream(Protocol::Responses), 200, "complete"),
        (
            Request::ask(Protocol::Chat).simulate("status=429"),
            429,
            "upstream_error",
        ),
        (
            Request::ask(Protocol::Chat).key("sk-eve"),
            401,
            "gateway_reply",
        ),
        (Request::to(Protocol::Chat, "{"), 400, "gateway_reply"),
        (
            Request::get("/v1/models?key=query-canary"),
            200,
            "gateway_reply",
        ),
        (Request::get("/v1/nothing"), 404, "gateway_reply"),
        (Request::new("PUT", "/v1/models"), 405, "gateway_reply"),
    ];
    for (request, status, settlement) in &requests {
        let answer = world.ask(request).await;
        assert_eq!(answer.status, *status, "{}", answer.text());
        let line = world.gateway.log_of(&answer).await;
        assert_eq!(
            (&line["status"], &line["settlement"]),
            (&json!(status), &json!(settlement))
        );
        assert_eq!(line["method"], request.method.as_str());
        assert!(!line["path"].as_str().unwrap().contains('?'), "{line}");
        for key in ["total_ms", "bytes_in", "bytes_out"] {
            assert!(line[key].is_number(), "{key} in {line}");
        }
        assert!(is_time(&line["time"]), "{line}");
        assert!(
            line["revision"].is_string() && line["route"].is_string(),
            "{line}"
        );
        if *settlement == "complete" {
            let names = (&line["caller"], &line["model"], &line["channel_model"]);
            let wanted = (
                &json!("ann"),
                &json!("demo-large"),
                &json!("sim-large-2026-08"),
            );
            assert_eq!(names, wanted);
            assert_eq!(line["bytes_out"], answer.body.len());
            assert!(
                line["first_byte_ms"].as_f64() <= line["total_ms"].as_f64(),
                "{line}"
            );
        }
    }
    let lines = world.gateway.process.stdout.all();
    assert_eq!(lines.len(), requests.len());
    for line in lines {
        assert!(
            serde_json::from_str::<Value>(&line).is_ok_and(|line| line.is_object()),
            "{line}"
        );
        assert!(!line.contains("query-canary"), "{line}");
    }
}

#[tokio::test]
async fn no_secret_is_in_any_page_or_log() {
    let world = TestSetup::start().await;
    let mut reported = Vec::new();
    for protocol in PROTOCOLS {
        for directives in [
            "",
            "echo_credential",
            "echo_credential; status=500",
            "echo_credential; error_event_after=1",
            "echo_credential; error_event_first",
            "html",
            "cut",
            "cut_after=1",
            "malformed",
        ] {
            for request in [Request::ask(protocol), Request::ask_stream(protocol)] {
                let answer = world.ask(&request.simulate(directives)).await;
                reported.push(format!("{:?} {}", answer.headers, answer.text()));
            }
        }
        for request in [
            Request::ask(protocol).key(&format!("{ANN}-mistyped")),
            Request::ask(protocol).header("X-Api-Key", BOB),
            Request::get("/v1/nothing"),
        ] {
            reported.push(world.ask(&request).await.text());
        }
    }
    exercise(&world, 3).await;
    settled(&world).await;
    world.gateway.folder.write("routes.yaml", "callers: 1");
    reported.push(world.gateway.page("POST", "/reload").await.text());
    for path in ["/metrics", "/config"] {
        reported.push(world.gateway.page("GET", path).await.text());
    }
    reported.extend(world.gateway.process.stdout.all());
    reported.extend(world.gateway.process.stderr.all());
    for text in reported {
        for secret in CREDENTIALS.into_iter().chain([ANN, BOB]) {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

/// Sends refused requests of every kind, with random names from numbers below `count`.
async fn exercise(world: &TestSetup, count: usize) {
    let mut connection = world.gateway.connect().await;
    for n in 0..=count {
        // A connection takes a limited number of requests.
        if n % 100 == 99 {
            connection = world.gateway.connect().await;
        }
        for protocol in PROTOCOLS {
            let mut body = body_of(protocol);
            body["model"] = format!("made-up-{n}").into();
            connection
                .ask(&Request::to(protocol, body.to_string()))
                .await;
        }
        connection
            .ask(&Request::get(&format!("/v1/made-up-{n}")))
            .await;
        connection
            .ask(&Request::get(&format!("/v1/responses/made-up-{n}")))
            .await;
        connection
            .ask(&Request::get(&format!("/v1/models/made-up-{n}")))
            .await;
        connection
            .ask(&Request::new(&format!("MADE{n}"), "/v1/models"))
            .await;
    }
}

/// The metrics once no exchange is in flight: an exchange is counted shortly after its response.
async fn settled(world: &TestSetup) -> Metrics {
    eventually("the end of all exchanges", async || {
        let metrics = world.gateway.metrics().await;
        (metrics.sum("headgate_in_flight", &[]) == 0.0).then_some(metrics)
    })
    .await
}

fn series(metrics: &Metrics) -> BTreeSet<String> {
    let name =
        |sample: &crate::harness::gateway::Sample| format!("{}{:?}", sample.name, sample.labels);
    metrics.samples.iter().map(name).collect()
}
