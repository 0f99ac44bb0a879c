//! Tests of whose budgets a batch reserves: its key's, its group's, its models', its channel's, and its run's.

use crate::harness::batch_budgets::{PLENTY, bound, bound_of_lines, budgeted_config, decimal};
use crate::harness::batches::{
    BATCHES, create, create_messages, entry, id_in, line, received, upload_lines,
};
use crate::harness::config::{caller, sha256};
use crate::harness::request::ANN;
use crate::harness::state_file::StateFile;
use crate::harness::{Gateway, Request, Simulator, WholeResponse, config, eventually};
use serde_json::{Value, json};

const EVERY_CALLER: &str = "callers:";

fn lines(model: &str) -> Vec<String> {
    vec![line("a", model), line("b", model)]
}

/// A budget for one batch of `lines`, and not for two.
fn for_one(model: &str) -> Value {
    json!({"cost_total": decimal(2 * bound_of_lines(&lines(model)) - 1)})
}

async fn ends(gateway: &Gateway, id: &str) {
    let poll = Request::get(&format!("{BATCHES}/{id}"));
    for _ in 0..2 {
        gateway.ask(&poll).await;
    }
    let polled = gateway.ask(&poll).await.json();
    assert_eq!(polled["status"], "completed", "{polled}");
}

async fn creates(gateway: &Gateway, model: &str) -> WholeResponse {
    let file = upload_lines(gateway, &lines(model)).await;
    gateway.ask(&create(&file)).await
}

#[tokio::test]
async fn a_batch_is_refused_by_each_holder_of_a_budget_without_room_and_has_room_after_an_end() {
    let simulator = Simulator::start().await;
    let one = for_one("demo-small");
    let key = json!({"label": "laptop", "key_sha256": sha256(ANN.as_bytes()), "budget": one});
    for (path, change, holder) in [
        ("/callers/0/limits", one.clone(), "this API key"),
        (
            "/callers/0",
            json!({"name": "ann", "models": ["*"], "keys": [key]}),
            "key `laptop`",
        ),
        ("/groups", json!({"team": {"limits": one}}), "group `team`"),
        (
            "/callers/0/limits",
            json!({"models": {"demo-small": one}}),
            "on model `demo-small`",
        ),
        (
            "/models/demo-small/budget",
            one.clone(),
            "all callers together",
        ),
    ] {
        let mut config = budgeted_config(&simulator.url(), &json!("memory"), PLENTY);
        if path == "/groups" {
            config["callers"][0]["group"] = json!("team");
        }
        let (parent, name) = path.rsplit_once('/').unwrap();
        let parent = config.pointer_mut(parent).unwrap();
        match parent.as_array_mut() {
            Some(list) => list[0] = change,
            None => parent[name] = change,
        }
        let gateway = Gateway::start(&config).await;
        let made = creates(&gateway, "demo-small").await;
        let id = id_in(&made);
        let before = received(&simulator).await;
        let refused = creates(&gateway, "demo-small").await;
        assert_eq!(refused.status, 429, "{path}: {}", refused.text());
        assert!(refused.text().contains(holder), "{}", refused.text());
        assert_eq!(received(&simulator).await, before + 1, "the upload alone");
        let log = gateway.log_of(&refused).await;
        assert_eq!(log["budget_charge"].as_f64(), Some(0.0), "{log}");
        ends(&gateway, &id).await;
        id_in(&creates(&gateway, "demo-small").await);
    }
}

#[tokio::test]
async fn a_batch_of_several_models_reserves_a_part_of_the_budget_of_each() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let mut config = budgeted_config(&simulator.url(), &json!(state.url()), PLENTY);
    let [small, large] = ["demo-small", "demo-large"].map(|model| line(model, model));
    let parts = [&small, &large].map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        bound(&line["body"], None) / 2
    });
    let one = decimal(2 * parts[0] - 1);
    config["models"]["demo-small"]["budget"] = json!({"cost_total": one});
    config["models"]["demo-large"]["budget"] = json!({"cost_total": 5});
    let gateway = Gateway::start(&config).await;
    let file = upload_lines(&gateway, &[small, large]).await;
    let id = id_in(&gateway.ask(&create(&file)).await);
    let used = || [EVERY_CALLER, "ann"].map(|holder| state.money_used(holder, "cost_total"));
    let sum: u64 = parts.iter().sum();
    eventually("both parts are reserved", async || {
        (used() == [sum; 2]).then_some(())
    })
    .await;
    let refused = gateway.ask(&create(&file)).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert!(refused.text().contains("demo-small"), "{}", refused.text());
    eventually("only the first batch has reserved", async || {
        (used() == [sum; 2]).then_some(())
    })
    .await;
    ends(&gateway, &id).await;
    eventually("the batch is settled", async || {
        let [models, caller] = used();
        (models == caller && caller > 0 && caller < sum).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_batch_reserves_the_budget_of_its_channel_until_its_end() {
    let simulator = Simulator::start().await;
    let mut config = budgeted_config(&simulator.url(), &json!("memory"), PLENTY);
    config["callers"][0] = caller("ann", ANN, &["*"]);
    let requests = json!([entry("a", "demo-small"), entry("b", "demo-small")]);
    let bounds = requests.as_array().unwrap().iter();
    let whole: u64 = bounds
        .map(|one| bound(&one["params"], Some(9)))
        .sum::<u64>()
        / 2;
    config["channels"]["first"]["budget"] = json!({"cost_total": decimal(2 * whole - 1)});
    let gateway = Gateway::start(&config).await;
    let channel = async |made: &WholeResponse| gateway.log_of(made).await["channel"].clone();
    let file = upload_lines(&gateway, &[line("a", "demo-small")]).await;
    let made = gateway.ask(&create_messages(&requests)).await;
    let id = id_in(&made);
    assert_eq!(channel(&made).await, "first");
    // A batch of a file goes nowhere else.
    let refused = gateway.ask(&create(&file)).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("no room"), "{}", refused.text());
    let other = gateway.ask(&create_messages(&requests)).await;
    assert_eq!(
        (id_in(&other).is_empty(), channel(&other).await),
        (false, json!("second"))
    );
    for rest in ["", "", "/results"] {
        let path = format!("/v1/messages/batches/{id}{rest}");
        let read = Request::get(&path).header("anthropic-version", "2023-06-01");
        assert_eq!(gateway.ask(&read).await.status, 200);
    }
    let again = gateway.ask(&create_messages(&requests)).await;
    assert_eq!(channel(&again).await, "first", "{}", again.text());
}

#[tokio::test]
async fn a_batch_is_one_call_of_its_run_and_reserves_its_money() {
    let simulator = Simulator::start().await;
    let mut config = budgeted_config(&simulator.url(), &json!("memory"), PLENTY);
    let one = for_one("demo-small")["cost_total"].clone();
    config["callers"][0]["limits"] = json!({"runs": {"cost": one, "calls": 3}});
    let gateway = Gateway::start(&config).await;
    let file = upload_lines(&gateway, &lines("demo-small")).await;
    let create = create(&file).header("x-headgate-run", "nightly");
    let id = id_in(&gateway.ask(&create).await);
    let refused = gateway.ask(&create).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert_eq!(refused.headers.get("x-headgate-run-cap"), Some("cost"));
    ends(&gateway, &id).await;
    // The run has made one call of three, and one more has room for its money now.
    let made = gateway.ask(&create).await;
    id_in(&made);
    let run = gateway.page("GET", "/runs/nightly").await.json();
    assert_eq!(run["runs"][0]["calls"], 2, "{run}");
}

#[tokio::test]
async fn a_request_of_a_batch_whose_output_nothing_limits_is_refused_by_its_place() {
    let simulator = Simulator::start().await;
    let mut config = budgeted_config(&simulator.url(), &json!("memory"), PLENTY);
    config["models"]["demo-small"] = json!({});
    config["callers"][0]["limits"] = json!({"runs": {"calls": 9}});
    let chain = config::route(&mut config, "batches")["request"].clone();
    assert!(chain.to_string().contains("rate_limit"), "{chain}");
    let gateway = Gateway::start(&config).await;
    let limited =
        line("a", "demo-small").replace("{\"messages\"", "{\"max_tokens\":5,\"messages\"");
    let file = upload_lines(&gateway, &[limited, line("b", "demo-small")]).await;
    let create = create(&file).header("x-headgate-run", "nightly");
    let refused = gateway
        .ask(&create.clone().header("x-headgate-run-cost", "5"))
        .await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    let error = refused.json()["error"].clone();
    assert_eq!(error["param"], "input_file_id", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with("line 2: set a limit of output"),
        "{message}"
    );
    // Without a cap of money it is admitted.
    id_in(&gateway.ask(&create).await);
}
