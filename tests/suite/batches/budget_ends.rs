//! Tests of what a batch costs of a budget in money by its end, and of creates whose outcome is not known.

use crate::harness::batch_budgets::{
    PLENTY, PRICES, bound, bound_of_lines, budgeted_config, settlements, settles,
};
use crate::harness::batches::{
    BATCHES, MESSAGE_BATCHES, create, create_messages, entry, id_in, line, upload_lines,
};
use crate::harness::paid::unsettled_creates;
use crate::harness::patient_redis::patient_redis;
use crate::harness::process::BINARY;
use crate::harness::state_file::{StateFile, unix_ms};
use crate::harness::{
    Gateway, RedisServer, Request, Simulator, config, eventually, eventually_within,
};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

/// Longer than two searches for due batches.
const PATIENCE: Duration = Duration::from_secs(40);

async fn gateway_on(simulator: &Simulator, state: &StateFile) -> Gateway {
    Gateway::start(&budgeted_config(
        &simulator.url(),
        &json!(state.url()),
        PLENTY,
    ))
    .await
}

/// Waits until the caller has used and reserved this much, in billionths.
async fn is_used(state: &StateFile, expected: u64) {
    eventually(&format!("{expected} billionths used"), async || {
        (state.money_used("ann", "cost_total") == expected).then_some(())
    })
    .await;
}

fn message_batch(method: &str, id: &str, rest: &str) -> Request {
    Request::new(method, &format!("{MESSAGE_BATCHES}/{id}{rest}"))
        .header("anthropic-version", "2023-06-01")
        .header("Content-Length", "0")
}

fn requests() -> Value {
    json!([entry("a", "demo-small"), entry("b", "demo-large")])
}

/// The most that a message batch of `requests` costs.
fn bound_of_requests() -> u64 {
    let requests = requests();
    let bounds = requests.as_array().unwrap().iter();
    bounds
        .map(|one| bound(&one["params"], Some(9)))
        .sum::<u64>()
        / 2
}

async fn ended_message_batch(gateway: &Gateway) -> String {
    let id = id_in(&gateway.ask(&create_messages(&requests())).await);
    for _ in 0..2 {
        gateway.ask(&message_batch("GET", &id, "")).await;
    }
    id
}

#[tokio::test]
async fn a_message_batch_costs_what_its_results_have() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let gateway = gateway_on(&simulator, &state).await;
    let id = ended_message_batch(&gateway).await;
    is_used(&state, bound_of_requests()).await;
    let mut results = String::new();
    for _ in 0..2 {
        results = gateway
            .ask(&message_batch("GET", &id, "/results"))
            .await
            .text();
    }
    let usages = results.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let usage = &line["result"]["message"]["usage"];
        let tokens = ["input_tokens", "output_tokens"].map(|name| usage[name].as_u64().unwrap());
        (PRICES[0] * tokens[0] + PRICES[1] * tokens[1]) / 2
    });
    let cost: u64 = usages.sum();
    assert!(cost > 0, "{results}");
    is_used(&state, cost).await;
    settles(&gateway, &[(cost, bound_of_requests())]).await;
    gateway.ask(&message_batch("DELETE", &id, "")).await;
    is_used(&state, cost).await;
}

#[tokio::test]
async fn a_message_batch_that_is_deleted_unread_costs_what_was_reserved() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let gateway = gateway_on(&simulator, &state).await;
    let id = ended_message_batch(&gateway).await;
    let deleted = gateway.ask(&message_batch("DELETE", &id, "")).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    let reserved = bound_of_requests();
    settles(&gateway, &[(reserved, reserved)]).await;
    is_used(&state, reserved).await;
}

#[tokio::test]
async fn a_batch_that_processed_nothing_costs_nothing() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let gateway = gateway_on(&simulator, &state).await;
    let lines = [line("a", "demo-small")];
    let file = upload_lines(&gateway, &lines).await;
    let id = id_in(&gateway.ask(&create(&file)).await);
    is_used(&state, bound_of_lines(&lines)).await;
    let cancel = Request::new("POST", &format!("{BATCHES}/{id}/cancel"));
    gateway.ask(&cancel.header("Content-Length", "0")).await;
    is_used(&state, bound_of_lines(&lines)).await;
    let polled = gateway.ask(&Request::get(&format!("{BATCHES}/{id}"))).await;
    assert_eq!(polled.json()["status"], "cancelled", "{}", polled.text());
    is_used(&state, 0).await;
}

#[tokio::test]
async fn a_create_of_unknown_outcome_keeps_its_reservation_until_an_operator_settles_it() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let mut config = budgeted_config(&simulator.url(), &json!(state.url()), PLENTY);
    for model in ["demo-large", "demo-small"] {
        config["models"][model]["budget"] = json!({"cost_total": 1});
    }
    config["channels"]["first"]["budget"] = json!({"cost_total": 1});
    let gateway = Gateway::start(&config).await;
    let path = gateway.folder.path().join("routes.yaml");
    let lines = [line("a", "demo-small"), line("b", "demo-large")];
    let file = upload_lines(&gateway, &lines).await;
    let reserved = bound_of_lines(&lines);
    let used = || ["ann", "callers:", "channel:first"].map(|it| state.money_used(it, "cost_total"));
    let is_used = async |expected: u64| {
        eventually(&format!("{expected} used of all"), async || {
            (used() == [expected; 3]).then_some(())
        })
        .await;
    };
    for (directives, verdict, expected) in
        [("status=500", "--not-made", 0), ("cut", "--made", reserved)]
    {
        let failed = gateway.ask(&create(&file).simulate(directives)).await;
        assert!(matches!(failed.status, 502 | 504), "{}", failed.text());
        is_used(reserved).await;
        let listed = eventually("a create in the list", async || {
            unsettled_creates(&path).into_iter().next()
        })
        .await;
        let settled = Command::new(BINARY)
            .args([
                "task",
                "settle",
                listed["request_id"].as_str().unwrap(),
                verdict,
                "--config",
            ])
            .arg(&path)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&settled.stderr);
        assert!(settled.status.success(), "{error}");
        is_used(expected).await;
    }
    let refused = gateway.ask(&create(&file).simulate("status=400")).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    is_used(reserved).await;
}

#[tokio::test]
async fn a_file_of_an_earlier_version_must_be_uploaded_again_for_a_budget() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let config = budgeted_config(&simulator.url(), &json!(state.url()), PLENTY);
    let gateway = Gateway::start(&config).await;
    let file = upload_lines(&gateway, &[line("a", "demo-small")]).await;
    let changed = state.change("batch_file", |file, _| {
        file.as_object_mut().unwrap().remove("work");
    });
    assert_eq!(changed, 1);
    let refused = gateway.ask(&create(&file)).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    let error = refused.json()["error"].clone();
    assert_eq!(error["param"], "input_file_id", "{error}");
    assert!(
        error.to_string().contains("upload the file again"),
        "{error}"
    );
    is_used(&state, 0).await;
    let mut free = config.clone();
    free["callers"][0].as_object_mut().unwrap().remove("limits");
    gateway.reload(&free).await;
    id_in(&gateway.ask(&create(&file)).await);
}

/// Has the gateway ask for batches every second.
fn with_polls(mut config: Value) -> Value {
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

#[tokio::test]
async fn of_gateways_and_a_caller_that_see_the_end_of_a_batch_one_settles_its_money() {
    let (redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let config = budgeted_config(&simulator.url(), &patient_redis(&redis), PLENTY);
    let config = with_polls(config);
    let gateways = [Gateway::start(&config).await, Gateway::start(&config).await];
    let lines = [line("a", "demo-small")];
    let file = upload_lines(&gateways[0], &lines).await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(id_in(&gateways[0].ask(&create(&file)).await));
    }
    // The caller asks for two of them, the gateways for all.
    for gateway in gateways.iter().cycle().take(6) {
        for id in &ids[..2] {
            gateway.ask(&Request::get(&format!("{BATCHES}/{id}"))).await;
        }
    }
    let settled = || gateways.iter().flat_map(settlements).collect::<Vec<_>>();
    eventually_within(PATIENCE, "all batches are settled", async || {
        (settled().len() == ids.len()).then_some(())
    })
    .await;
    for id in &ids {
        gateways[1]
            .ask(&Request::get(&format!("{BATCHES}/{id}")))
            .await;
    }
    let (all, reserved) = (settled(), bound_of_lines(&lines));
    assert_eq!(all.len(), ids.len(), "{all:?}");
    let cost = all[0].0;
    assert!(cost > 0 && cost < reserved && all.iter().all(|one| *one == (cost, reserved)));
    let labels = [("caller", "ann"), ("limit", "cost_total")];
    let again = id_in(&gateways[0].ask(&create(&file)).await);
    assert!(!again.is_empty());
    let left = gateways[0]
        .metrics()
        .await
        .sum("headgate_budget_remaining", &labels);
    let expected = PLENTY - 4 * cost - reserved;
    assert_eq!((left * 1e9).round() as u64, expected);
}

#[tokio::test]
async fn a_batch_whose_usage_nobody_reads_costs_what_was_reserved_before_its_record_expires() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let config = budgeted_config(&simulator.url(), &json!(state.url()), PLENTY);
    let gateway = Gateway::start(&with_polls(config)).await;
    id_in(&gateway.ask(&create_messages(&requests())).await);
    let reserved = bound_of_requests();
    let hour_ms = 60 * 60 * 1000;
    let changed = state.change("batch", |_, expires_ms| *expires_ms = unix_ms() + hour_ms);
    assert_eq!(changed, 1);
    let settled = eventually_within(PATIENCE, "the batch is settled", async || {
        settlements(&gateway).pop()
    })
    .await;
    assert_eq!(settled, (reserved, reserved));
    is_used(&state, reserved).await;
}
