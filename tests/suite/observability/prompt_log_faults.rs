//! Tests of the log of prompts when its sink fails, when the configuration changes and when the process ends.

use super::prompt_log::{count, log_config, log_route, logging_gateway, numbered};
use crate::harness::config::standard;
use crate::harness::log_store::LogStore;
use crate::harness::{Gateway, Request, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The questions of the records.
fn questions(records: &[Value]) -> Vec<String> {
    let question = |record: &Value| {
        let content = &record["request"]["json"]["messages"][0]["content"];
        content.as_str().unwrap().to_owned()
    };
    records.iter().map(question).collect()
}

async fn ask_each(gateway: &Gateway, numbers: std::ops::Range<usize>) {
    let mut connection = gateway.connect().await;
    for number in numbers {
        let response = connection.ask(&numbered(Protocol::Chat, number)).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
}

async fn has_finding(gateway: &Gateway) -> Option<Value> {
    let findings = gateway.page("GET", "/findings").await.json();
    let findings = findings["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .find(|finding| finding["code"] == "prompt_log_failing");
    found.cloned()
}

#[tokio::test]
async fn a_bucket_that_never_responds_delays_nothing_and_takes_a_bounded_memory() {
    const REQUESTS: usize = 200;
    const BODY: usize = 200_000;
    let simulator = Simulator::start().await;
    let store = LogStore::start().await;
    store.respond(0);
    let mut config = log_config(&simulator.url(), &store);
    config["prompt_logs"]["archive"]["max_bytes"] = json!("4MiB");
    log_route(&mut config, "chat", json!({}));
    let gateway = Gateway::start(&config).await;
    ask_each(&gateway, 0..1).await;
    let before = gateway.process.memory_peak();
    let mut connection = gateway.connect().await;
    let message = json!([{"role": "user", "content": "x".repeat(BODY)}]);
    let body = json!({"model": "demo-large", "messages": message}).to_string();
    for _ in 0..REQUESTS {
        let response = connection
            .ask(&Request::to(Protocol::Chat, body.clone()))
            .await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
    let grown = gateway.process.memory_peak() - before;
    println!(
        "memory: {grown} bytes more for {} bytes of bodies",
        REQUESTS * BODY
    );
    assert!(grown < 24 << 20, "{grown} bytes");
    let metrics = gateway.metrics().await;
    let queued = metrics.sum("headgate_prompt_log_queue_bytes", &[("sink", "archive")]);
    assert!((1.0..=4_194_304.0).contains(&queued), "{queued}");
    let dropped = count(&gateway, "dropped").await;
    let fit = (4 << 20) / BODY;
    println!("{dropped} of {REQUESTS} dropped");
    assert!(dropped as usize >= REQUESTS - fit - 1, "{dropped}");
    assert_eq!(count(&gateway, "stored").await, 0.0);
    let finding = eventually("the finding", async || has_finding(&gateway).await).await;
    assert!(
        finding["cause"].as_str().unwrap().contains("archive"),
        "{finding}"
    );
    // What waits is stored when the bucket responds again.
    store.respond(200);
    eventually("the records", async || {
        let stored = count(&gateway, "stored").await + dropped;
        (stored as usize == REQUESTS + 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_bucket_that_recovers_has_each_record_once() {
    let simulator = Simulator::start().await;
    let store = LogStore::start().await;
    let gateway = logging_gateway(&simulator.url(), &store, &json!({})).await;
    let mut next = 0;
    // The last is no response, until the next one.
    for status in [403, 500, 503, 0] {
        store.respond(status);
        let before = store.requests();
        ask_each(&gateway, next..next + 5).await;
        next += 5;
        eventually("a write", async || {
            (store.requests() > before).then_some(())
        })
        .await;
    }
    store.respond(200);
    ask_each(&gateway, next..next + 5).await;
    next += 5;
    let mut found = questions(&store.wait_for(next).await);
    found.sort();
    let mut expected: Vec<String> = (0..next)
        .map(|number| format!("question {number}"))
        .collect();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(count(&gateway, "stored").await as usize, next);
    assert_eq!(
        count(&gateway, "dropped").await + count(&gateway, "failed").await,
        0.0
    );
    let lines = gateway.process.stderr.json();
    let is_meant = |line: &&Value| line["message"] == "prompt records not stored; trying again";
    let line = lines.iter().find(is_meant).unwrap();
    assert_eq!(line["sink"], "archive", "{line}");
}

#[tokio::test]
async fn a_gateway_that_ends_stores_what_is_queued() {
    let simulator = Simulator::start().await;
    let store = LogStore::start().await;
    let mut config = log_config(&simulator.url(), &store);
    config["prompt_logs"]["archive"]["flush"] = json!("1h");
    log_route(&mut config, "chat", json!({}));
    let mut gateway = Gateway::start(&config).await;
    ask_each(&gateway, 0..20).await;
    assert_eq!(store.requests(), 0);
    gateway.process.signal(libc::SIGTERM);
    eventually("the end of the process", async || gateway.process.ended()).await;
    let found: BTreeSet<String> = questions(&store.records()).into_iter().collect();
    assert_eq!(found.len(), 20);
}

#[tokio::test]
async fn a_gateway_that_cannot_store_ends_nevertheless_and_logs_the_loss() {
    let simulator = Simulator::start().await;
    let store = LogStore::start().await;
    store.respond(0);
    let mut gateway = logging_gateway(&simulator.url(), &store, &json!({})).await;
    ask_each(&gateway, 0..3).await;
    gateway.process.signal(libc::SIGTERM);
    eventually("the end of the process", async || gateway.process.ended()).await;
    let lines = gateway.process.stderr.json();
    let lost = lines
        .iter()
        .find(|line| line["message"] == "prompt records lost: the process ends");
    assert_eq!(lost.map(|line| line["records"].clone()), Some(json!(3)));
}

#[tokio::test]
async fn a_reload_keeps_the_queue_and_moves_it_to_the_new_bucket() {
    let simulator = Simulator::start().await;
    let [first, second] = [LogStore::start().await, LogStore::start().await];
    let mut config = log_config(&simulator.url(), &first);
    config["prompt_logs"]["archive"]["flush"] = json!("1h");
    log_route(&mut config, "chat", json!({}));
    let gateway = Gateway::start(&config).await;
    ask_each(&gateway, 0..4).await;
    let moved = log_config(&simulator.url(), &second);
    config["prompt_logs"] = moved["prompt_logs"].clone();
    gateway.reload(&config).await;
    ask_each(&gateway, 4..8).await;
    assert_eq!(questions(&second.wait_for(8).await).len(), 8);
    assert_eq!(first.requests(), 0);
    // A sink that is removed gets what it has, and one that comes back goes on.
    config["prompt_logs"]["archive"]["flush"] = json!("1h");
    gateway.reload(&config).await;
    ask_each(&gateway, 8..12).await;
    gateway.reload(&standard(&simulator.url())).await;
    ask_each(&gateway, 12..16).await;
    let records = second.wait_for(12).await;
    assert_eq!(records.len(), 12);
    config["prompt_logs"] = moved["prompt_logs"].clone();
    gateway.reload(&config).await;
    ask_each(&gateway, 16..20).await;
    let found: BTreeSet<String> = questions(&second.wait_for(16).await).into_iter().collect();
    assert_eq!(found.len(), 16);
    assert_eq!(count(&gateway, "stored").await, 16.0);
}

#[tokio::test]
async fn a_collector_gets_log_records_and_those_that_it_refuses_are_lost() {
    let simulator = Simulator::start().await;
    let store = LogStore::start().await;
    let mut config = log_config(&simulator.url(), &store);
    config["prompt_logs"]["archive"] = json!({
        "otlp": {"endpoint": store.url(), "headers": {"x-collector-key": "collector-canary"}}, "flush": "100ms",
    });
    config["tracing"] = json!({"endpoint": "http://127.0.0.1:9", "sampling": {"ratio": 0}});
    log_route(&mut config, "chat", json!({}));
    let gateway = Gateway::start(&config).await;
    let response = gateway.ask(&numbered(Protocol::Chat, 1)).await;
    let line = gateway.log_of(&response).await;
    let export = eventually("the export", async || store.objects().remove("/v1/logs")).await;
    let export: Value = serde_json::from_slice(&export).unwrap();
    let resource = &export["resourceLogs"][0];
    let record = &resource["scopeLogs"][0]["logRecords"][0];
    assert_eq!(record["traceId"], line["trace_id"], "{record}");
    assert_eq!(record["severityNumber"], 9);
    assert!(
        record["timeUnixNano"]
            .as_str()
            .unwrap()
            .parse::<u64>()
            .is_ok()
    );
    let attributes = record["attributes"].as_array().unwrap();
    let value = |key: &str| {
        let found = attributes.iter().find(|attribute| attribute["key"] == key);
        found.unwrap_or_else(|| panic!("{key}"))["value"].clone()
    };
    assert_eq!(value("headgate.request_id")["stringValue"], line["id"]);
    assert_eq!(value("gen_ai.request.model")["stringValue"], "demo-large");
    let tokens = value("gen_ai.usage.output_tokens")["intValue"].clone();
    assert_eq!(tokens.as_str().unwrap(), line["output_tokens"].to_string());
    let body = record["body"]["stringValue"].as_str().unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["response"]["json"], response.json());
    let heads = store.heads();
    assert!(
        heads[0].contains("x-collector-key: collector-canary"),
        "{}",
        heads[0]
    );
    for (status, result) in [(400, "failed"), (503, "stored")] {
        let before = count(&gateway, result).await;
        let requests = store.requests();
        store.respond(status);
        ask_each(&gateway, 2..3).await;
        eventually("a write", async || {
            (store.requests() > requests).then_some(())
        })
        .await;
        if result == "stored" {
            store.respond(200);
        }
        eventually(result, async || {
            (count(&gateway, result).await > before).then_some(())
        })
        .await;
    }
}
