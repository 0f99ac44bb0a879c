//! Tests of the costs of videos: reserved by the create, settled once by what the vendor reports at the end.

use crate::harness::state_file::{StateFile, unix_ms};
use crate::harness::vendors::{Vendor, vendors};
use crate::harness::video::{FAMILY_B, GENERIC, ask, cancel, id_of, video_config};
use crate::harness::{Gateway, Request, Simulator, eventually};
use serde_json::{Value, json};

const COST: &str = "headgate_cost_total";
const REFUNDED: &str = "headgate_cost_refunded_total";
const UNPRICED: &str = "headgate_unpriced_requests_total";
const QUERIES: &str = "headgate_task_queries_total";
const SETTLED: &str = "cost of a task settled";

const DONE: &str = "queue=0ms;run=0ms";
const FAILED: &str = "queue=0ms;run=0ms;ends=failed";

/// A channel for each vendor, whose tasks do what `directives` have; models are named as their families.
fn configuration(simulator: &Simulator, directives: &str) -> Value {
    let mut config = video_config(simulator, directives);
    for vendor in vendors() {
        let base = format!(
            "http://{}/~{directives}/vendor/{}",
            simulator.address, vendor.base
        );
        config["channels"][vendor.family] = json!({
            "base_url": base, "protocols": ["video"], "family": vendor.family,
            "credential": vendor.credential.config(), "models": {vendor.family: vendor.model},
        });
    }
    config
}

/// Creates a task of the vendor; returns its id, and what the create costs.
async fn create(gateway: &Gateway, vendor: &Vendor) -> (String, Value) {
    let mut body = vendor.create.clone();
    body["model"] = json!(vendor.family);
    let request = Request::post(GENERIC, body.to_string());
    let response = gateway.ask(&request).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let line = gateway.log_of(&response).await;
    (id_of(GENERIC, &response), line["cost"].clone())
}

fn vendor(family: &str) -> Vendor {
    let mut vendors = vendors().into_iter();
    vendors.find(|vendor| vendor.family == family).unwrap()
}

/// The costs of a model and what was refunded of them, once `is_settled` accepts both.
async fn costs(
    gateway: &Gateway,
    model: &str,
    is_settled: impl Fn(f64, f64) -> bool,
) -> (f64, f64) {
    let what = format!("settled costs of {model}");
    eventually(&what, async || {
        let metrics = gateway.metrics().await;
        let sum = |name| {
            metrics.sum(
                name,
                &[("model", model), ("caller", "ann"), ("currency", "EUR")],
            )
        };
        let (cost, refunded) = (sum(COST), sum(REFUNDED));
        is_settled(cost, refunded).then_some((cost, refunded))
    })
    .await
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[tokio::test]
async fn videos_cost_what_their_vendors_report_once_however_often_they_are_polled() {
    let simulator = Simulator::start().await;
    // The vendor, prices of a second and of a credit, what the create costs, and what the task costs.
    let table = [
        ("runway", 0.1, 0.02, 0.5, 1.2),
        ("vidu", 0.1, 0.005, 0.5, 0.1),
        ("kling", 0.1, 0.14, 0.5, 0.35),
        ("xai", 0.2, 1.0, 1.0, 0.5),
        ("replicate", 0.1, 0.001, 0.8, 0.0415),
    ];
    let mut config = configuration(&simulator, DONE);
    config["prices"] = json!({"currency": "EUR", "models": {}});
    for (family, second, credit, _, _) in table {
        config["prices"]["models"][family] =
            json!({"video_second": {"*": second}, "credit": credit});
    }
    let gateway = Gateway::start(&config).await;
    for (family, _, _, reserved, expected) in table {
        let (id, cost) = create(&gateway, &vendor(family)).await;
        assert_eq!(cost.as_f64(), Some(reserved), "{family}");
        for _ in 0..3 {
            let status = ask(&gateway, GENERIC, &id).await;
            assert_eq!(status.json()["status"], "succeeded", "{family}");
            assert!(!status.text().contains("credit"), "{}", status.text());
        }
        let (cost, refunded) = costs(&gateway, family, |cost, refunded| {
            is_near(cost - refunded, expected)
        })
        .await;
        let gross = f64::max(reserved, expected);
        assert!(is_near(cost, gross), "{family}: {cost} {refunded}");
    }
    // What was settled is not settled again.
    for (family, ..) in table {
        let (again, _) = create(&gateway, &vendor(family)).await;
        ask(&gateway, GENERIC, &again).await;
    }
    for (family, _, _, reserved, expected) in table {
        let (cost, refunded) = costs(&gateway, family, |cost, refunded| {
            is_near(cost - refunded, 2.0 * expected)
        })
        .await;
        let gross = 2.0 * f64::max(reserved, expected);
        assert!(is_near(cost, gross), "{family}: {cost} {refunded}");
    }
}

#[tokio::test]
async fn a_task_that_failed_or_never_ran_costs_what_its_vendor_reports_or_nothing() {
    let simulator = Simulator::start().await;
    let prices =
        json!({"currency": "EUR", "models": {"*": {"video_second": {"*": 0.1}, "credit": 0.02}}});
    // Runway reports zero credits of a failure, MiniMax reports nothing at all, Replicate seconds.
    let mut config = configuration(&simulator, FAILED);
    config["prices"] = prices.clone();
    let gateway = Gateway::start(&config).await;
    for (family, reserved, expected) in [
        ("runway", 0.5, 0.0),
        ("minimax", 0.6, 0.0),
        ("replicate", 0.8, 0.25),
    ] {
        let (id, cost) = create(&gateway, &vendor(family)).await;
        assert_eq!(cost, json!(reserved), "{family}");
        let status = ask(&gateway, GENERIC, &id).await;
        assert_eq!(status.json()["status"], "failed", "{family}");
        costs(&gateway, family, |cost, refunded| {
            is_near(cost - refunded, expected)
        })
        .await;
    }
    // Family B cancels tasks that are queued, and nothing else.
    let mut config = configuration(&simulator, "queue=60m");
    config["prices"] = prices;
    let gateway = Gateway::start(&config).await;
    let body = json!({"model": "demo-video-b", "prompt": "a gate", "duration": 5});
    let created = gateway.ask(&Request::post(GENERIC, body.to_string())).await;
    let id = id_of(GENERIC, &created);
    let cancelled = cancel(&gateway, GENERIC, &id).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    let status = ask(&gateway, GENERIC, &id).await;
    assert_eq!(status.json()["status"], "cancelled", "{}", status.text());
    costs(&gateway, "demo-video-b", |cost, refunded| {
        is_near(cost, 0.5) && is_near(refunded, 0.5)
    })
    .await;
}

#[tokio::test]
async fn a_task_that_leaves_its_length_to_the_vendor_costs_the_seconds_that_were_billed() {
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, DONE);
    config["prices"] =
        json!({"currency": "EUR", "models": {"demo-video-b": {"video_second": {"*": 0.1}}}});
    let gateway = Gateway::start(&config).await;
    let body = json!({"model": "demo-video-b", "input": {"prompt": "a gate"}});
    let created = gateway
        .ask(&Request::post(FAMILY_B, body.to_string()))
        .await;
    assert_eq!(created.status, 200, "{}", created.text());
    let status = ask(&gateway, FAMILY_B, &id_of(FAMILY_B, &created)).await;
    let billed = status.json()["usage"]["duration"]
        .as_f64()
        .expect("billed seconds");
    costs(&gateway, "demo-video-b", |cost, refunded| {
        is_near(cost, billed * 0.1) && is_near(refunded, 0.0)
    })
    .await;
}

#[tokio::test]
async fn a_model_that_has_only_a_price_of_credits_costs_nothing_before_its_task_has_ended() {
    let simulator = Simulator::start().await;
    let mut config = configuration(&simulator, DONE);
    config["prices"] = json!({"currency": "EUR", "models": {"vidu": {"credit": 0.005}}});
    let gateway = Gateway::start(&config).await;
    let (id, cost) = create(&gateway, &vendor("vidu")).await;
    assert_eq!(cost, Value::Null);
    let metrics = gateway.metrics().await;
    assert_eq!(metrics.sum(UNPRICED, &[("model", "vidu")]), 0.0);
    ask(&gateway, GENERIC, &id).await;
    costs(&gateway, "vidu", |cost, _| is_near(cost, 0.1)).await;
}

#[tokio::test]
async fn a_task_is_settled_after_a_restart_and_by_one_of_the_gateways_that_see_its_end() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let mut config = configuration(&simulator, DONE);
    config["state"] = json!(state.url());
    config["prices"] = json!({"currency": "EUR", "models": {"vidu": {"video_second": {"*": 0.1}, "credit": 0.005}}});
    let first = Gateway::start(&config).await;
    let (id, _) = create(&first, &vendor("vidu")).await;
    let (unseen, _) = create(&first, &vendor("vidu")).await;
    assert_eq!(state.records("task_cost").len(), 2);
    drop(first);
    let gateways = [Gateway::start(&config).await, Gateway::start(&config).await];
    for gateway in gateways.iter().cycle().take(6) {
        let status = ask(gateway, GENERIC, &id).await;
        assert_eq!(status.json()["status"], "succeeded");
    }
    eventually("one reservation less", async || {
        (state.records("task_cost").len() == 1).then_some(())
    })
    .await;
    let line = eventually("a line about the settlement", async || {
        let mut lines = gateways
            .iter()
            .flat_map(|gateway| gateway.process.stderr.json());
        lines.find(|line| line["message"] == SETTLED)
    })
    .await;
    assert_eq!(
        (&line["task_id"], &line["caller"]),
        (&json!(id), &json!("ann"))
    );
    assert_eq!(
        (&line["cost"], &line["reserved"]),
        (&json!("0.1"), &json!("0.5"))
    );
    let mut refunded = 0.0;
    for gateway in &gateways {
        refunded += gateway.metrics().await.sum(REFUNDED, &[]);
    }
    assert!(is_near(refunded, 0.4), "{refunded}");
    assert_ne!(id, unseen);
}

#[tokio::test]
async fn a_task_whose_caller_never_asks_is_polled_and_settled_by_one_of_the_gateways() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let mut config = configuration(&simulator, FAILED);
    config["state"] = json!(state.url());
    config["prices"] = json!({"currency": "EUR", "models": {"*": {"video_second": {"*": 0.1}}}});
    let gateways = [Gateway::start(&config).await, Gateway::start(&config).await];
    let (id, cost) = create(&gateways[0], &vendor("minimax")).await;
    assert_eq!(cost, 0.6);
    let due = state.records("task_cost")[0].due_ms.unwrap();
    assert!(due > unix_ms(), "callers ask first");
    // A minute later.
    assert_eq!(state.change("task_cost", |_, _| {}), 1);
    let line = eventually("a line about the settlement", async || {
        let mut lines = gateways
            .iter()
            .flat_map(|gateway| gateway.process.stderr.json());
        lines.find(|line| line["message"] == SETTLED)
    })
    .await;
    assert_eq!((&line["task_id"], &line["cost"]), (&json!(id), &json!("0")));
    let mut sums = [0.0; 2];
    for gateway in &gateways {
        let metrics = gateway.metrics().await;
        sums[0] += metrics.sum(REFUNDED, &[]);
        sums[1] += metrics.sum(QUERIES, &[("outcome", "provider")]);
    }
    assert!(is_near(sums[0], 0.6), "{sums:?}");
    assert_eq!(sums[1], 1.0, "one gateway has asked once");
    assert!(state.records("task_cost").is_empty());
}

#[tokio::test]
async fn a_task_that_still_runs_is_polled_again_later() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let mut config = configuration(&simulator, "queue=60m");
    config["state"] = json!(state.url());
    config["prices"] = json!({"currency": "EUR", "models": {"*": {"video_second": {"*": 0.1}}}});
    let gateway = Gateway::start(&config).await;
    create(&gateway, &vendor("minimax")).await;
    // An hour later, so that a poll is due a quarter of an hour after the one before.
    state.change("task_cost", |_, expires_ms| *expires_ms -= 3_600_000);
    eventually("a query", async || {
        let queries = gateway
            .metrics()
            .await
            .sum(QUERIES, &[("outcome", "provider")]);
        (queries == 1.0).then_some(())
    })
    .await;
    let wait_ms = state.records("task_cost")[0].due_ms.unwrap() - unix_ms();
    assert!((800_000..1_000_000).contains(&wait_ms), "{wait_ms}");
}
