//! Tests of the bound on checks that run at once: the others wait or are refused, and who leaves blocks nobody.

use crate::harness::batches::{
    batch_config, create_messages, entry, id_in, line, received, upload,
};
use crate::harness::request::BOB;
use crate::harness::{Gateway, Request, Simulator, WholeResponse};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

/// Longer than any check of this test takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A gateway that checks one batch at a time, while so many wait.
async fn gateway(simulator: &Simulator, waiting: u16) -> Gateway {
    let mut config = batch_config(&simulator.url(), &simulator.url());
    for route in config["routes"].as_array_mut().unwrap() {
        for filter in route["request"].as_array_mut().into_iter().flatten() {
            if let Some(settings) = filter.get_mut("check_batch")
                && settings["input"] != "file_id"
            {
                settings["checks_max"] = 1.into();
                settings["waiting_checks_max"] = waiting.into();
            }
        }
    }
    Gateway::start(&config).await
}

/// A file whose check takes seconds.
fn large_upload() -> Request {
    let lines: Vec<String> = (0..40_000)
        .map(|index| line(&format!("request-{index}"), "demo-small"))
        .collect();
    upload(lines.join("\n"))
}

fn small_upload() -> Request {
    upload(line("a", "demo-small"))
}

fn large_list() -> Request {
    let entries = (0..20_000).map(|index| entry(&format!("request-{index}"), "demo-small"));
    create_messages(&Value::Array(entries.collect()))
}

fn small_list() -> Request {
    create_messages(&json!([entry("a", "demo-small")]))
}

/// A large batch in its check, and the refusal of a small one meanwhile.
async fn refusal(
    gateway: &Gateway,
    small: &Request,
    large: fn() -> Request,
) -> (JoinHandle<WholeResponse>, WholeResponse) {
    loop {
        let large = send(gateway, large()).await;
        while !large.is_finished() {
            let answer = gateway.ask(small).await;
            if answer.status != 200 {
                return (large, answer);
            }
        }
        // It arrived during the check of a small one, and was refused itself.
        let refused = large.await.unwrap();
        assert_ne!(refused.status, 200, "no small batch was refused");
    }
}

async fn send(gateway: &Gateway, request: Request) -> JoinHandle<WholeResponse> {
    let mut connection = gateway.connect().await.with_patience(PATIENCE);
    tokio::spawn(async move { connection.ask(&request).await })
}

#[tokio::test]
async fn a_batch_beyond_the_bound_is_refused_in_the_format_of_its_protocol() {
    let simulator = Simulator::start().await;
    let gateway = gateway(&simulator, 0).await;
    for (large, small, status, kind) in [
        (
            large_upload as fn() -> Request,
            small_upload(),
            503,
            "server_error",
        ),
        (large_list, small_list(), 529, "overloaded_error"),
    ] {
        let (large, refused) = refusal(&gateway, &small, large).await;
        assert_eq!(refused.status, status, "{}", refused.text());
        assert_eq!(refused.headers.get("retry-after"), Some("10"));
        let error = &refused.json()["error"];
        assert_eq!(error["type"], kind, "{error}");
        let before = received(&simulator).await;
        // Other requests are not concerned.
        let other = gateway.ask(&Request::get("/v1/batches")).await;
        assert_eq!(other.status, 200, "{}", other.text());
        assert_eq!(received(&simulator).await, before + 1);
        id_in(&large.await.unwrap());
        id_in(&gateway.ask(&small).await);
    }
}

#[tokio::test]
async fn a_batch_that_waits_is_checked_when_its_turn_comes() {
    let simulator = Simulator::start().await;
    // Of which one caller has half.
    let gateway = gateway(&simulator, 4).await;
    let large = send(&gateway, large_upload()).await;
    let mut waiting = Vec::new();
    for _ in 0..2 {
        waiting.push(send(&gateway, small_upload()).await);
    }
    for small in waiting {
        id_in(&small.await.unwrap());
    }
    id_in(&large.await.unwrap());
}

#[tokio::test]
async fn a_caller_leaves_places_to_others() {
    let simulator = Simulator::start().await;
    let gateway = gateway(&simulator, 2).await;
    let mut large = JoinSet::new();
    // Built before, so that all arrive while the first one is checked.
    let upload = large_upload();
    for _ in 0..8 {
        let mut connection = gateway.connect().await.with_patience(PATIENCE);
        let upload = upload.clone();
        large.spawn(async move { connection.ask(&upload).await.status });
    }
    // One runs, one waits, and the place that is left is not for this caller.
    loop {
        let next = large.join_next().await.expect("a refused batch");
        if next.unwrap() == 503 {
            break;
        }
    }
    let other = send(&gateway, small_upload().key(BOB)).await;
    id_in(&other.await.unwrap());
}

#[tokio::test]
async fn callers_who_leave_free_their_places() {
    let simulator = Simulator::start().await;
    let gateway = gateway(&simulator, 0).await;
    for _ in 0..3 {
        let (large, _) = refusal(&gateway, &small_upload(), large_upload).await;
        large.abort();
        assert!(large.await.unwrap_err().is_cancelled());
        let left = gateway
            .log_line(|line| line["settlement"] == "client_cancelled")
            .await;
        assert_eq!(left["route"], "files", "{left}");
        let free = async { while gateway.ask(&small_upload()).await.status != 200 {} };
        timeout(PATIENCE, free).await.expect("a free place");
    }
    // No file of a caller who left was sent.
    let sent = simulator.records().await;
    assert!(
        sent.iter()
            .all(|record| record["body_bytes"].as_u64() < Some(1_000_000))
    );
}
