//! Tests of batches that nobody reads, and of what is left of those that are deleted.

use crate::harness::batches::{
    BATCHES, batch_config, create, create_messages, entry, id_in, line, upload_lines,
};
use crate::harness::patient_redis::patient_redis;
use crate::harness::request::BOB;
use crate::harness::state_file::{StateFile, unix_ms};
use crate::harness::{
    Connection, Gateway, RedisServer, Request, Simulator, config, eventually, eventually_within,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer than two searches for due batches.
const PATIENCE: Duration = Duration::from_secs(40);
const SETTLED: &str = "headgate_batches_settled_total";
const COST: &str = "headgate_cost_total";
const TOKENS: &str = "headgate_tokens_total";

/// A configuration with prices, a budget for the day, and batches that the gateway asks for every second.
fn polling_config(simulator: &Simulator, state: &Value) -> Value {
    let mut config = batch_config(&simulator.url(), &simulator.url());
    config["prices"] = json!({"models": {"*": {"input": 2, "output": 10}}});
    config["callers"][0]["limits"] = json!({"tokens_per_day": 1_000_000});
    config["state"] = state.clone();
    for route in ["batches", "message_batches"] {
        let chain = config::route(&mut config, route)["request"].as_array_mut();
        for filter in chain.into_iter().flatten() {
            if let Some(settings) = filter.get_mut("check_batch") {
                settings["poll_every"] = "1s".into();
            }
        }
    }
    config
}

/// The tokens of the caller's day that are left.
async fn left(gateway: &Gateway) -> u64 {
    let list = Request::get(&format!("{BATCHES}?limit=1"));
    let list = gateway.ask(&list).await;
    let left = list.headers.get("x-ratelimit-remaining-tokens");
    left.unwrap().parse().unwrap()
}

/// The sum of a metric over all gateways.
async fn sum(gateways: &[Gateway], name: &str, labels: &[(&str, &str)]) -> f64 {
    let mut sum = 0.0;
    for gateway in gateways {
        sum += gateway.metrics().await.sum(name, labels);
    }
    sum
}

/// How often the provider was asked for a batch of this path.
async fn asked(simulator: &Simulator, path: &str) -> usize {
    let records = simulator.records().await;
    let is_asked = |record: &&Value| record["path"] == path && record["method"] == "GET";
    records.iter().filter(is_asked).count()
}

/// Creates a batch that nobody reads, and waits until one gateway has settled it, with its usage, its cost and its limit.
async fn settles_once(state: &Value, count: usize) {
    let simulator = Simulator::start().await;
    let config = polling_config(&simulator, state);
    let mut gateways = Vec::new();
    for _ in 0..count {
        gateways.push(Gateway::start(&config).await);
    }
    let before = left(&gateways[0]).await;
    let lines = [line("a", "demo-small"), line("b", "demo-small")];
    let file = upload_lines(&gateways[0], &lines).await;
    let made = gateways[0].ask(&create(&file)).await;
    let id = id_in(&made);
    let reported = [("outcome", "reported")];
    eventually_within(PATIENCE, "the batch is settled", async || {
        (sum(&gateways, SETTLED, &reported).await > 0.0).then_some(())
    })
    .await;
    let path = format!("/v1/batches/{id}");
    let asks = asked(&simulator, &path).await;
    assert!((2..=4).contains(&asks), "{asks}");
    let done = Connection::to(simulator.address)
        .await
        .ask(&Request::get(&path).key("sk-first"))
        .await;
    let usage = done.json()["usage"].clone();
    let [input, output] = ["input_tokens", "output_tokens"].map(|name| usage[name].as_f64());
    let (input, output) = (input.unwrap(), output.unwrap());
    assert!(input > 0.0 && output > 0.0, "{usage}");
    let half = ((input + output) / 2.0).ceil() as u64;
    eventually("the limit is corrected", async || {
        (before - left(&gateways[0]).await == half).then_some(())
    })
    .await;
    // The caller may read it now, from any gateway: it counts nothing again.
    for gateway in &gateways {
        let read = gateway.ask(&Request::get(&path)).await;
        assert_eq!(read.json()["status"], "completed", "{}", read.text());
        assert_eq!(gateway.log_of(&read).await["input_tokens"], Value::Null);
    }
    let small = ("model", "demo-small");
    assert_eq!(sum(&gateways, SETTLED, &[]).await, 1.0);
    assert_eq!(
        sum(&gateways, TOKENS, &[small, ("kind", "input")]).await,
        input
    );
    assert_eq!(
        sum(&gateways, TOKENS, &[small, ("kind", "output")]).await,
        output
    );
    let cost = sum(
        &gateways,
        COST,
        &[small, ("caller", "ann"), ("channel", "first")],
    )
    .await;
    assert!(
        (cost - (2.0 * input + 10.0 * output) / 2e6).abs() < 1e-9,
        "{cost}"
    );
    assert_eq!(before - left(&gateways[0]).await, half);
}

#[tokio::test]
async fn a_batch_that_nobody_reads_is_settled_by_the_gateway() {
    let state = StateFile::new();
    settles_once(&json!(state.url()), 1).await;
}

#[tokio::test]
async fn of_gateways_that_share_redis_one_settles_a_batch_that_nobody_reads() {
    let redis = RedisServer::start();
    settles_once(&patient_redis(&redis), 2).await;
}

#[tokio::test]
async fn a_batch_whose_usage_nobody_can_read_is_settled_at_its_estimate_before_it_expires() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let gateway = Gateway::start(&polling_config(&simulator, &json!(state.url()))).await;
    let before = left(&gateway).await;
    let id = id_in(
        &gateway
            .ask(&create_messages(&json!([entry("a", "demo-large")])))
            .await,
    );
    let reserved = before - left(&gateway).await;
    let path = format!("/v1/messages/batches/{id}");
    eventually_within(PATIENCE, "the gateway has seen its end", async || {
        (asked(&simulator, &path).await >= 2).then_some(())
    })
    .await;
    let gateways = [gateway];
    assert_eq!(sum(&gateways, SETTLED, &[]).await, 0.0);
    let hour_ms = 60 * 60 * 1000;
    let changed = state.change("batch", |_, expires_ms| *expires_ms = unix_ms() + hour_ms);
    assert_eq!(changed, 1);
    eventually_within(PATIENCE, "the batch is settled", async || {
        (sum(&gateways, SETTLED, &[("outcome", "estimated")]).await > 0.0).then_some(())
    })
    .await;
    assert_eq!(before - left(&gateways[0]).await, reserved);
    assert_eq!(sum(&gateways, COST, &[]).await, 0.0);
    // Its results have its usage, which comes too late.
    let results = Request::get(&format!("{path}/results"));
    let read = gateways[0].ask(&results).await;
    assert_eq!(read.status, 200, "{}", read.text());
    assert_eq!(sum(&gateways, SETTLED, &[]).await, 1.0);
}

/// How many records of files Redis has.
async fn records_in_redis(redis: &RedisServer) -> usize {
    let mut connection = TcpStream::connect(("127.0.0.1", redis.port)).await.unwrap();
    connection
        .write_all(b"KEYS *batch_file*\r\nQUIT\r\n")
        .await
        .unwrap();
    let mut reply = String::new();
    connection.read_to_string(&mut reply).await.unwrap();
    reply.matches("batch_file").count()
}

#[tokio::test]
async fn a_file_that_is_deleted_leaves_no_record() {
    let simulator = Simulator::start().await;
    let (file_state, redis) = (StateFile::new(), RedisServer::start());
    for url in [file_state.url(), redis.url()] {
        let gateway = Gateway::start(&polling_config(&simulator, &json!(url))).await;
        let records = async || match url.starts_with("redis") {
            true => records_in_redis(&redis).await,
            false => file_state.records("batch_file").len(),
        };
        assert_eq!(records().await, 0, "{url}");
        let file = upload_lines(&gateway, &[line("a", "demo-small")]).await;
        let kept = upload_lines(&gateway, &[line("b", "demo-small")]).await;
        let stored = records().await;
        assert!(stored >= 2, "{url}: {stored}");
        let delete = Request::new("DELETE", &format!("/v1/files/{file}"));
        let delete = delete.header("Content-Length", "0");
        let foreign = gateway.ask(&delete.clone().key(BOB)).await;
        assert_eq!(foreign.status, 404, "{url}: {}", foreign.text());
        assert_eq!(records().await, stored, "{url}");
        let deleted = gateway.ask(&delete).await;
        assert_eq!(deleted.status, 200, "{url}: {}", deleted.text());
        assert!(records().await < stored, "{url}");
        let refused = gateway.ask(&create(&file)).await;
        assert_eq!(refused.status, 404, "{url}: {}", refused.text());
        id_in(&gateway.ask(&create(&kept)).await);
    }
}
