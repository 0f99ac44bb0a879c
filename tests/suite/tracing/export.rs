//! Tests of the export: collectors that refuse, pause or are down, full queues, reloads and the end of the process.

use super::{CHAT, TracingSetup, id_of};
use crate::harness::closed_port::ClosedPort;
use crate::harness::http_response::{http_response, json_response};
use crate::harness::otlp::{ACCEPTED, TraceCollector, partial_success};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, config, eventually};
use headgate_protocol::Protocol;
use serde_json::json;
use std::time::{Duration, Instant};

const SPANS: &str = "headgate_trace_spans_total";

/// Waits until this many spans have this outcome.
async fn spans_with(gateway: &Gateway, outcome: &str, count: f64) {
    eventually(&format!("{count} spans {outcome}"), async || {
        let metrics = gateway.metrics().await;
        (metrics.sum(SPANS, &[("outcome", outcome)]) >= count).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_export_is_a_post_of_protobuf_to_the_path_of_the_endpoint() {
    for (path, expected) in [
        ("", "/v1/traces"),
        ("/", "/v1/traces"),
        ("/otlp/x", "/otlp/x"),
    ] {
        let provider = ScriptedProvider::answering(json_response(200, CHAT)).await;
        let setup = TracingSetup::with(provider, json!({}), |config| {
            let endpoint = config["tracing"]["endpoint"].as_str().unwrap();
            config["tracing"]["endpoint"] = json!(format!("{endpoint}{path}"));
        })
        .await;
        setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
        setup.collector.wait_for(2).await;
        let head = setup.collector.0.requests()[0].to_ascii_lowercase();
        assert!(
            head.starts_with(&format!("post {expected} http/1.1\r\n")),
            "{head}"
        );
        assert!(
            head.contains("\r\ncontent-type: application/x-protobuf\r\n"),
            "{head}"
        );
        assert!(head.contains("\r\nuser-agent: headgate/"), "{head}");
        spans_with(&setup.gateway, "exported", 2.0).await;
    }
}

#[tokio::test]
async fn a_collector_that_is_not_ready_gets_the_export_again_after_its_retry_after() {
    for status in [429, 502, 503, 504] {
        let setup = TracingSetup::start(json!({})).await;
        let busy = http_response(status, "Retry-After: 2\r\n", "");
        setup.collector.0.next(vec![ScriptedResponse::Send(busy)]);
        setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
        let first = eventually("an export", async || {
            (!setup.collector.0.requests().is_empty()).then(Instant::now)
        })
        .await;
        spans_with(&setup.gateway, "exported", 2.0).await;
        assert!(
            first.elapsed() > Duration::from_millis(1_800),
            "{status}: {:?}",
            first.elapsed()
        );
        let exports = setup.collector.0.raw_requests();
        assert_eq!(exports.len(), 2, "{status}");
        assert!(exports[0] == exports[1], "{status}");
        let log = setup.gateway.process.stderr.all().concat();
        assert!(log.contains("trace spans cannot be exported"), "{log}");
        assert_eq!(setup.collector.spans().len(), 4);
    }
}

#[tokio::test]
async fn what_a_collector_refuses_is_counted_and_not_sent_again() {
    for (response, exported, refused) in [
        (http_response(400, "", ""), 0.0, 2.0),
        (http_response(401, "", ""), 0.0, 2.0),
        (http_response(500, "", ""), 0.0, 2.0),
        (partial_success(1, "too old"), 1.0, 1.0),
        (partial_success(0, "deprecated"), 2.0, 0.0),
    ] {
        let setup = TracingSetup::start(json!({})).await;
        setup
            .collector
            .0
            .next(vec![ScriptedResponse::Send(response)]);
        setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
        spans_with(&setup.gateway, "exported", exported).await;
        spans_with(&setup.gateway, "refused", refused).await;
        eventually("a line of the log", async || {
            let log = setup.gateway.process.stderr.all().concat();
            log.contains("trace spans were not exported").then_some(())
        })
        .await;
        assert_eq!(setup.collector.0.requests().len(), 1);
        let finding = loss_in(&setup.gateway).await;
        assert_eq!(finding.is_some(), refused > 0.0, "{finding:?}");
        if let Some(cause) = finding {
            let count = format!("{refused} spans of traces were lost");
            assert!(cause.contains(&count), "{cause}");
            assert!(
                cause.contains("because the collector refused them: "),
                "{cause}"
            );
        }
    }
}

/// The cause of the finding about lost spans.
async fn loss_in(gateway: &Gateway) -> Option<String> {
    let page = gateway.page("GET", "/findings").await.json();
    let findings = page["findings"].as_array().unwrap();
    let finding = findings.iter().find(|one| one["code"] == "spans_lost")?;
    assert_eq!(finding["severity"], "notice");
    Some(finding["cause"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_full_queue_drops_traces_and_never_delays_requests() {
    let setup =
        TracingSetup::start(json!({"queue_size": 3, "batch_size": 1, "timeout": "60s"})).await;
    setup.collector.0.next(vec![ScriptedResponse::Hang]);
    let began = Instant::now();
    for _ in 0..30 {
        let response = setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
        assert_eq!(response.status, 200);
    }
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    // One exchange is being sent, and three wait.
    spans_with(&setup.gateway, "queue_full", 52.0).await;
    let metrics = setup.gateway.metrics().await;
    assert_eq!(metrics.sum("headgate_trace_queue_requests", &[]), 3.0);
    let cause = loss_in(&setup.gateway).await.expect("a finding");
    assert!(
        cause.contains("the queue of the exporter was full"),
        "{cause}"
    );
    let url = format!("http://{}", setup.gateway.admin);
    let (_, status, _) = crate::observability::status::run(&["status", "--admin", &url], &[]);
    assert!(
        status.contains("the queue of the exporter was full"),
        "{status}"
    );
}

#[tokio::test]
async fn a_reload_replaces_a_collector_that_is_down_and_removes_tracing() {
    let provider = ScriptedProvider::answering(json_response(200, CHAT)).await;
    let down = ClosedPort::new();
    let mut setup = TracingSetup::with(provider, json!({}), |config| {
        config["tracing"]["endpoint"] = json!(format!("http://{}", down.address()));
    })
    .await;
    let response = setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(response.status, 200);
    eventually("a line of the log", async || {
        let log = setup.gateway.process.stderr.all().concat();
        log.contains("trace spans cannot be exported").then_some(())
    })
    .await;
    setup.config["tracing"]["endpoint"] = json!(setup.collector.url());
    setup.gateway.reload(&setup.config).await;
    let spans = setup.collector.exchange(id_of(&response)).await;
    assert_eq!(spans.len(), 2);
    setup.config.as_object_mut().unwrap().remove("tracing");
    setup.gateway.reload(&setup.config).await;
    let response = setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
    let line = setup.gateway.log_of(&response).await;
    assert!(line["trace_id"].is_null(), "{line}");
}

#[tokio::test]
async fn a_process_that_ends_exports_what_is_left() {
    let mut setup = TracingSetup::start(json!({})).await;
    let response = setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
    setup.gateway.process.signal(libc::SIGTERM);
    let spans = setup.collector.exchange(id_of(&response)).await;
    assert_eq!(spans.len(), 2);
    eventually("the end of the process", async || {
        setup.gateway.process.ended()
    })
    .await;
}

#[tokio::test]
async fn a_process_ends_although_its_collector_is_silent() {
    let mut setup = TracingSetup::start(json!({})).await;
    for _ in 0..10 {
        setup.collector.0.next(vec![ScriptedResponse::Hang]);
    }
    setup.gateway.ask(&Request::ask(Protocol::Chat)).await;
    let began = Instant::now();
    setup.gateway.process.signal(libc::SIGTERM);
    eventually("the end of the process", async || {
        setup.gateway.process.ended()
    })
    .await;
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "{:?}",
        began.elapsed()
    );
    let log = setup.gateway.process.stderr.all().concat();
    assert!(log.contains("the process ended"), "{log}");
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_with_their_place() {
    for (settings, place) in [
        (json!({"endpoint": "collector:4318"}), "tracing.endpoint"),
        (
            json!({"endpoint": "http://127.0.0.1:1", "tls": {"server_name": "a"}}),
            "tracing.tls",
        ),
        (
            json!({"endpoint": "http://127.0.0.1:1", "sampling": {"ratio": 2}}),
            "tracing.sampling.ratio",
        ),
        (
            json!({"endpoint": "http://127.0.0.1:1", "queue_size": 0}),
            "tracing.queue_size",
        ),
        (
            json!({"endpoint": "http://127.0.0.1:1", "headers": {"a b": "1"}}),
            "tracing.headers",
        ),
    ] {
        let collector = TraceCollector(ScriptedProvider::answering(ACCEPTED).await);
        let mut config = config::standard(&collector.url());
        let gateway = Gateway::start(&config).await;
        config["tracing"] = settings.clone();
        gateway.folder.replace("routes.yaml", format!("{config:#}"));
        let reloaded = gateway.page("POST", "/reload").await;
        assert_ne!(reloaded.status, 200, "{settings}");
        assert!(
            reloaded.text().contains(place),
            "{settings}: {}",
            reloaded.text()
        );
    }
}
