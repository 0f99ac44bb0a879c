//! Tests of budgets in money of paid creates, which settle long after their request: at the end of a task, or by an operator.

use crate::harness::paid::{CreateShape, unsettled_creates};
use crate::harness::process::BINARY;
use crate::harness::state_file::StateFile;
use crate::harness::vendors::{Vendor, vendors};
use crate::harness::video::{GENERIC, ask, id_of, video_config};
use crate::harness::{Gateway, Request, Simulator, WholeResponse, eventually};
use serde_json::{Value, json};
use std::process::Command;

const DONE: &str = "queue=0ms;run=0ms";
const FAILED: &str = "queue=0ms;run=0ms;ends=failed";
/// A euro, in billionths.
const EURO: u64 = 1_000_000_000;

/// Adds a budget of one euro for the caller `ann`, and prices of 0.1 for a second and 0.005 for a credit.
fn add_budget(config: &mut Value, state: &StateFile) {
    config["state"] = json!(state.url());
    let price = json!({"video_second": {"*": 0.1}, "video_default_seconds": 5, "credit": 0.005});
    config["prices"] = json!({"currency": "EUR", "models": {"*": price}});
    config["callers"][0]["limits"] = json!({"cost_total": 1});
    for route in config["routes"].as_array_mut().unwrap() {
        let chain = route["request"].as_array_mut().unwrap();
        let is_create = |filter: &Value| filter["map_task"]["operation"] == "create";
        if let Some(at) = chain.iter().position(is_create) {
            chain.insert(at, json!("rate_limit"));
        }
    }
}

/// Channels of two vendors, whose tasks do what `directives` have.
fn vendor_config(simulator: &Simulator, directives: &str, state: &StateFile) -> Value {
    let mut config = video_config(simulator, directives);
    for vendor in ["vidu", "minimax"].map(vendor) {
        let base = format!(
            "http://{}/~{directives}/vendor/{}",
            simulator.address, vendor.base
        );
        config["channels"][vendor.family] = json!({
            "base_url": base, "protocols": ["video"], "family": vendor.family,
            "credential": vendor.credential.config(), "models": {vendor.family: vendor.model},
        });
    }
    add_budget(&mut config, state);
    config
}

fn vendor(family: &str) -> Vendor {
    let mut vendors = vendors().into_iter();
    vendors.find(|vendor| vendor.family == family).unwrap()
}

async fn create(gateway: &Gateway, family: &str) -> WholeResponse {
    let mut body = vendor(family).create;
    body["model"] = json!(family);
    gateway.ask(&Request::post(GENERIC, body.to_string())).await
}

/// What the caller `ann` and the channel `a` have used and reserved.
fn used_by(state: &StateFile) -> [u64; 2] {
    ["ann", "channel:a"].map(|holder| state.money_used(holder, "cost_total"))
}

/// Waits until the caller `ann` has used and reserved this much, in billionths.
async fn is_used(state: &StateFile, expected: u64) {
    eventually(&format!("{expected} billionths used"), async || {
        (state.money_used("ann", "cost_total") == expected).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_task_is_reserved_by_its_create_and_settled_once_by_its_end() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let config = vendor_config(&simulator, DONE, &state);
    let first = Gateway::start(&config).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let created = create(&first, "vidu").await;
        assert_eq!(created.status, 200, "{}", created.text());
        ids.push(id_of(GENERIC, &created));
    }
    is_used(&state, EURO).await;
    let refused = create(&first, "vidu").await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert!(refused.text().contains("cost_total"), "{}", refused.text());
    drop(first);
    // The gateways that see the end are others: the vendor reports credits of 0.1.
    let gateways = [Gateway::start(&config).await, Gateway::start(&config).await];
    for gateway in gateways.iter().cycle().take(6) {
        let status = ask(gateway, GENERIC, &ids[0]).await;
        assert_eq!(status.json()["status"], "succeeded");
    }
    is_used(&state, EURO / 10 * 6).await;
    assert_eq!(
        create(&gateways[1], "vidu").await.status,
        429,
        "0.5 are not left"
    );
    ask(&gateways[1], GENERIC, &ids[1]).await;
    is_used(&state, EURO / 10 * 2).await;
    assert_eq!(create(&gateways[0], "vidu").await.status, 200);
    is_used(&state, EURO / 10 * 7).await;
}

#[tokio::test]
async fn a_task_that_fails_costs_nothing_of_a_budget() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let config = vendor_config(&simulator, FAILED, &state);
    let gateway = Gateway::start(&config).await;
    let created = create(&gateway, "minimax").await;
    assert_eq!(created.status, 200, "{}", created.text());
    is_used(&state, EURO / 10 * 6).await;
    ask(&gateway, GENERIC, &id_of(GENERIC, &created)).await;
    is_used(&state, 0).await;
}

#[tokio::test]
async fn what_is_left_is_known_once_the_gateway_itself_has_seen_the_end_of_a_task() {
    let simulator = Simulator::start().await;
    for (directives, left) in [(DONE, 0.9), (FAILED, 1.0)] {
        let state = StateFile::new();
        let mut config = vendor_config(&simulator, directives, &state);
        config["channels"]["vidu"]["budget"] = json!({"cost_total": 1});
        let gateway = Gateway::start(&config).await;
        let created = create(&gateway, "vidu").await;
        assert_eq!(created.status, 200, "{}", created.text());
        // A minute later.
        assert_eq!(state.change("task_cost", |_, _| {}), 1);
        for holder in ["ann", "channel:vidu"] {
            let labels = [("caller", holder), ("limit", "cost_total")];
            eventually(&format!("{left} left of {holder}"), async || {
                let metrics = gateway.metrics().await;
                let found = metrics.sum("headgate_budget_remaining", &labels);
                ((found - left).abs() < 1e-9).then_some(())
            })
            .await;
        }
    }
}

#[tokio::test]
async fn an_unknown_outcome_keeps_its_reservation_until_an_operator_settles_it() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let shape = CreateShape::GenericForA;
    let mut config = shape.config(&simulator, &json!({}));
    add_budget(&mut config, &state);
    config["channels"]["a"]["budget"] = json!({"cost_total": 5});
    let gateway = Gateway::start(&config).await;
    let file = gateway.folder.path().join("routes.yaml");
    for (key, failure, verdict, used) in [
        ("first", "status=500", "--not-made", 0),
        // The head of a success came, and nobody knows the task.
        ("second", "malformed", "--not-made", 0),
        ("third", "status=500", "--made", EURO / 2),
    ] {
        let failed = shape.keyed(key).simulate(failure);
        let failed = gateway.ask(&failed).await;
        assert_eq!(failed.status, 502, "{failure}: {}", failed.text());
        let listed = eventually("a create in the list", async || {
            unsettled_creates(&file).into_iter().next()
        })
        .await;
        assert_eq!(used_by(&state), [EURO / 2; 2]);
        let id = listed["request_id"].as_str().unwrap();
        let settled = Command::new(BINARY)
            .args(["task", "settle", id, verdict, "--config"])
            .arg(&file)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&settled.stderr);
        assert!(settled.status.success(), "{error}");
        assert_eq!(used_by(&state), [used; 2], "{verdict}");
    }
    let refused = shape.keyed("fourth").simulate("status=400");
    assert_eq!(gateway.ask(&refused).await.status, 400);
    is_used(&state, EURO / 2).await;
}
