//! Tests of what a batch has used: it is settled once, from the batch or from its results, at the price of batches.

use crate::harness::batches::{
    BATCHES, MESSAGE_BATCHES, batch_config, create, create_messages, entry, id_in, line,
    upload_lines,
};
use crate::harness::http_response::json_response;
use crate::harness::state_file::StateFile;
use crate::harness::{
    Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, WholeResponse, eventually,
};
use serde_json::{Value, json};

const TOKENS: &str = "headgate_tokens_total";
const COST: &str = "headgate_cost_total";

/// A gateway in front of a provider with prices of 2 and 10 a million tokens, and a caller with a budget for the day.
async fn priced_gateway(simulator: &Simulator, state: &StateFile) -> Gateway {
    let mut config = batch_config(&simulator.url(), &simulator.url());
    config["prices"] = json!({"models": {"*": {"input": 2, "output": 10}}});
    config["callers"][0]["limits"] = json!({"tokens_per_day": 1_000_000});
    config["state"] = json!(state.url());
    Gateway::start(&config).await
}

fn batch(id: &str) -> Request {
    Request::get(&format!("{BATCHES}/{id}"))
}

fn message_batch(method: &str, id: &str, rest: &str) -> Request {
    Request::new(method, &format!("{MESSAGE_BATCHES}/{id}{rest}"))
        .header("anthropic-version", "2023-06-01")
        .header("Content-Length", "0")
}

/// Creates a batch, and polls it until the next poll shows its end.
async fn nearly_finished(gateway: &Gateway, lines: &[String]) -> String {
    let file = upload_lines(gateway, lines).await;
    let id = id_in(&gateway.ask(&create(&file)).await);
    let polled = gateway.ask(&batch(&id)).await;
    assert_eq!(polled.json()["status"], "in_progress");
    id
}

/// The tokens of a caller's day that are left, from the headers of a request that uses none.
async fn left(gateway: &Gateway) -> u64 {
    let list = gateway
        .ask(&Request::get(&format!("{BATCHES}?limit=1")))
        .await;
    let left = list.headers.get("x-ratelimit-remaining-tokens");
    left.unwrap().parse().unwrap()
}

/// The counted tokens of a model, input and output, and the cost.
async fn counted(gateway: &Gateway, model: &str) -> (f64, f64, f64) {
    let metrics = gateway.metrics().await;
    let tokens = |kind| metrics.sum(TOKENS, &[("model", model), ("kind", kind)]);
    let cost = metrics.sum(COST, &[("model", model), ("caller", "ann")]);
    (tokens("input"), tokens("output"), cost)
}

/// Input and output tokens of the usage of a batch, and their cost at half the price.
fn used(usage: &Value) -> (f64, f64, f64) {
    let [input, output] = ["input_tokens", "output_tokens"].map(|name| usage[name].as_f64());
    let (input, output) = (input.unwrap(), output.unwrap());
    assert!(input > 0.0 && output > 0.0, "{usage}");
    (input, output, (2.0 * input + 10.0 * output) / 2e6)
}

fn is_near(one: (f64, f64, f64), other: (f64, f64, f64)) -> bool {
    (one.0, one.1) == (other.0, other.1) && (one.2 - other.2).abs() < 1e-9
}

#[tokio::test]
async fn a_finished_batch_is_counted_once_at_half_the_price() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let gateway = priced_gateway(&simulator, &state).await;
    let before = left(&gateway).await;
    let lines = [line("a", "demo-small"), line("b", "demo-small")];
    let id = nearly_finished(&gateway, &lines).await;
    let reserved = before - left(&gateway).await;
    assert!(reserved > 1000, "{reserved}");
    assert_eq!(counted(&gateway, "demo-small").await, (0.0, 0.0, 0.0));
    let done = gateway.ask(&batch(&id)).await;
    let used = used(&done.json()["usage"]);
    let log = gateway.log_of(&done).await;
    assert_eq!(log["input_tokens"].as_f64(), Some(used.0), "{log}");
    assert_eq!(log["output_tokens"].as_f64(), Some(used.1), "{log}");
    assert_eq!(log["settlement"], "complete", "{log}");
    let once = counted(&gateway, "demo-small").await;
    assert!(is_near(once, used), "{once:?} {used:?}");
    assert!(
        (log["cost"].as_f64().unwrap() - used.2).abs() < 1e-9,
        "{log}"
    );
    let half = ((used.0 + used.1) / 2.0).ceil() as u64;
    assert_eq!(before - left(&gateway).await, half);
    // Neither a poll, nor a list, nor the output counts it again, not even after a restart.
    let output = done.json()["output_file_id"].as_str().unwrap().to_owned();
    let output = Request::get(&format!("/v1/files/{output}/content"));
    let mut gateway = gateway;
    for is_restarted in [false, true] {
        if is_restarted {
            let successor = gateway.successor(&gateway.config()).await;
            // Until it has ended, the former process may accept connections, and has their lines in its own log.
            let former_process_ended = async || gateway.process.ended();
            eventually("the end of the former process", former_process_ended).await;
            gateway = successor;
        }
        for request in [&batch(&id), &Request::get(BATCHES), &output] {
            let again = gateway.ask(request).await;
            assert_eq!(again.status, 200, "{}", again.text());
            let log = gateway.log_of(&again).await;
            assert_eq!(log["input_tokens"], Value::Null, "{log}");
        }
        let counted = counted(&gateway, "demo-small").await;
        assert_eq!(counted, if is_restarted { (0.0, 0.0, 0.0) } else { once });
        assert_eq!(before - left(&gateway).await, half);
    }
}

#[tokio::test]
async fn a_list_settles_the_batches_that_nobody_polls() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let gateway = priced_gateway(&simulator, &state).await;
    let mut sum = (0.0, 0.0, 0.0);
    let mut provider = crate::harness::Connection::to(simulator.address).await;
    for model in ["demo-small", "demo-large"] {
        let id = nearly_finished(&gateway, &[line("a", model)]).await;
        let polled = Request::get(&format!("{BATCHES}/{id}")).key("sk-first");
        let done = provider.ask(&polled).await.json();
        let used = used(&done["usage"]);
        sum = (sum.0 + used.0, sum.1 + used.1, sum.2 + used.2);
    }
    let list = gateway.ask(&Request::get(BATCHES)).await;
    let log = gateway.log_of(&list).await;
    assert_eq!(log["input_tokens"].as_f64(), Some(sum.0), "{log}");
    let small = counted(&gateway, "demo-small").await;
    let large = counted(&gateway, "demo-large").await;
    let all = (small.0 + large.0, small.1 + large.1, small.2 + large.2);
    assert!(small.0 > 0.0 && is_near(all, sum), "{all:?} {sum:?}");
    let again = gateway.ask(&Request::get(BATCHES)).await;
    assert_eq!(gateway.log_of(&again).await["input_tokens"], Value::Null);
}

/// Creates a message batch, polls it until it has ended, and returns its id.
async fn ended_message_batch(gateway: &Gateway, requests: &Value) -> String {
    let id = id_in(&gateway.ask(&create_messages(requests)).await);
    for status in ["in_progress", "ended"] {
        let polled = gateway.ask(&message_batch("GET", &id, "")).await;
        assert_eq!(polled.json()["processing_status"], status);
    }
    id
}

fn usage_in(results: &WholeResponse) -> (f64, f64) {
    let text = results.text();
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["result"]["message"]["usage"].clone()
    });
    let sum = |name: &str, usages: &[Value]| -> f64 {
        usages.iter().filter_map(|usage| usage[name].as_f64()).sum()
    };
    let usages: Vec<Value> = lines.collect();
    (sum("input_tokens", &usages), sum("output_tokens", &usages))
}

#[tokio::test]
async fn a_message_batch_is_counted_once_when_its_results_are_read() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let gateway = priced_gateway(&simulator, &state).await;
    let before = left(&gateway).await;
    let requests = json!([entry("a", "demo-large"), entry("b", "demo-large")]);
    let id = ended_message_batch(&gateway, &requests).await;
    assert_eq!(counted(&gateway, "demo-large").await, (0.0, 0.0, 0.0));
    let results = message_batch("GET", &id, "/results");
    let read = gateway.ask(&results).await;
    assert_eq!(read.status, 200, "{}", read.text());
    let (input, output) = usage_in(&read);
    assert!(input > 0.0 && output > 0.0);
    let log = gateway.log_of(&read).await;
    assert_eq!(log["output_tokens"].as_f64(), Some(output), "{log}");
    let once = counted(&gateway, "demo-large").await;
    let cost = (2.0 * input + 10.0 * output) / 2e6;
    assert!(is_near(once, (input, output, cost)), "{once:?}");
    let half = ((input + output) / 2.0).ceil() as u64;
    assert_eq!(before - left(&gateway).await, half);
    for request in [results, message_batch("DELETE", &id, "")] {
        let again = gateway.ask(&request).await;
        assert_eq!(again.status, 200, "{}", again.text());
        let log = gateway.log_of(&again).await;
        assert_eq!(
            (&log["input_tokens"], &log["settlement"]),
            (&Value::Null, &json!("complete"))
        );
    }
    assert_eq!(counted(&gateway, "demo-large").await, once);
    assert_eq!(before - left(&gateway).await, half);
}

#[tokio::test]
async fn a_message_batch_that_is_deleted_unread_has_no_known_usage() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let gateway = priced_gateway(&simulator, &state).await;
    let before = left(&gateway).await;
    let requests = json!([entry("a", "demo-large")]);
    let id = ended_message_batch(&gateway, &requests).await;
    let reserved = before - left(&gateway).await;
    let deleted = gateway.ask(&message_batch("DELETE", &id, "")).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    let log = gateway.log_of(&deleted).await;
    assert_eq!(log["settlement"], "usage_missing", "{log}");
    // It stays at its estimate.
    assert_eq!(before - left(&gateway).await, reserved);
}

#[tokio::test]
async fn a_batch_that_processed_nothing_counts_nothing() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let gateway = priced_gateway(&simulator, &state).await;
    let before = left(&gateway).await;
    let file = upload_lines(&gateway, &[line("a", "demo-small")]).await;
    let id = id_in(&gateway.ask(&create(&file)).await);
    let cancel = Request::new("POST", &format!("{BATCHES}/{id}/cancel"));
    let cancelled = gateway.ask(&cancel.header("Content-Length", "0")).await;
    assert_eq!(cancelled.json()["status"], "cancelling");
    assert!(left(&gateway).await < before);
    assert_eq!(gateway.ask(&batch(&id)).await.json()["status"], "cancelled");
    assert_eq!(left(&gateway).await, before);
    let message = id_in(
        &gateway
            .ask(&create_messages(&json!([entry("a", "demo-small")])))
            .await,
    );
    let cancelled = gateway
        .ask(&message_batch("POST", &message, "/cancel"))
        .await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    let ended = gateway.ask(&message_batch("GET", &message, "")).await;
    assert_eq!(
        ended.json()["processing_status"],
        "ended",
        "{}",
        ended.text()
    );
    assert_eq!(left(&gateway).await, before);
    assert_eq!(counted(&gateway, "demo-small").await, (0.0, 0.0, 0.0));
}

#[tokio::test]
async fn a_part_of_the_results_is_the_whole_of_them() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let gateway = priced_gateway(&simulator, &state).await;
    let id = ended_message_batch(&gateway, &json!([entry("a", "demo-large")])).await;
    let results = message_batch("GET", &id, "/results").header("Range", "bytes=0-40");
    let read = gateway.ask(&results).await;
    assert_eq!(read.status, 200, "{}", read.text());
    let text = read.text();
    assert!(text.contains("\"model\":\"demo-large\""), "{text}");
    let sent = simulator.records().await;
    let headers = sent.last().unwrap()["headers"].to_string();
    assert!(!headers.contains("range"), "{headers}");
}

#[tokio::test]
async fn usage_of_a_batch_that_cannot_be_true_is_neither_counted_nor_billed() {
    let state = StateFile::new();
    let answer = |request: &str| {
        let body = match request.split(' ').take(2).collect::<Vec<_>>()[..] {
            ["POST", "/v1/files"] => json!({"id": "file-1", "object": "file"}),
            ["POST", _] => json!({"id": "batch_1", "object": "batch", "status": "validating"}),
            _ => json!({"id": "batch_1", "object": "batch", "status": "completed",
                "usage": {"input_tokens": 100_000_001, "output_tokens": 1}}),
        };
        json_response(200, body)
    };
    let provider = ScriptedProvider::start(vec![ScriptedResponse::Answer(answer)]).await;
    let mut config = batch_config(&provider.url(), &provider.url());
    config["prices"] = json!({"models": {"*": {"input": 2, "output": 10}}});
    config["callers"][0]["limits"] = json!({"tokens_per_day": 1_000_000});
    config["state"] = json!(state.url());
    let gateway = Gateway::start(&config).await;
    let file = upload_lines(&gateway, &[line("a", "demo-small")]).await;
    let id = id_in(&gateway.ask(&create(&file)).await);
    for settlement in ["usage_implausible", "complete"] {
        let polled = gateway.ask(&batch(&id)).await;
        assert_eq!(polled.json()["status"], "completed", "{}", polled.text());
        let log = gateway.log_of(&polled).await;
        assert_eq!(log["settlement"], settlement, "{log}");
        assert_eq!(
            (&log["input_tokens"], &log["cost"]),
            (&Value::Null, &Value::Null)
        );
    }
    assert_eq!(counted(&gateway, "demo-small").await, (0.0, 0.0, 0.0));
    let settled = gateway.metrics().await;
    let labels = [("outcome", "implausible")];
    assert_eq!(settled.sum("headgate_batches_settled_total", &labels), 1.0);
}
