//! Tests of budgets that others share: of a key, and of a model for all callers.

use super::budgets::{OUTPUT, OUTPUT_COST, budget_config, chat, key, left};
use crate::configuration::check::{GOOD, check};
use crate::harness::error_shape::assert_error_body;
use crate::harness::folder::Folder;
use crate::harness::patient_redis::patient_redis;
use crate::harness::{Gateway, RedisServer, Request, Simulator, WholeResponse, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use tokio::task::JoinSet;

const LAPTOP: &str = "sk-budget-canary-laptop";
const SERVER: &str = "sk-budget-canary-server";

/// Sends each request twenty times at once, in turns to each gateway.
async fn crowd(gateways: &[Gateway], requests: &[Request]) -> Vec<WholeResponse> {
    let mut sent = JoinSet::new();
    for number in 0..20 * requests.len() {
        let mut connection = gateways[number % gateways.len()].connect().await;
        let bytes = requests[number % requests.len()].bytes();
        sent.spawn(async move {
            connection.send(&bytes).await.unwrap();
            connection.answer().await.expect("a response")
        });
    }
    sent.join_all().await
}

fn admitted(responses: &[WholeResponse]) -> usize {
    responses.iter().filter(|it| it.status == 200).count()
}

fn shared_config(provider: &str, state: &Value) -> Value {
    let mut config = budget_config(provider, state, 2, 1_000 * OUTPUT_COST);
    config["models"]["demo-large"]["budget"] = json!({"cost_total": 0.010, "cost_per_day": 5});
    let last = config["callers"].as_array().unwrap().len() - 1;
    config["callers"][last]["keys"] = json!([
        {"label": "laptop", "key_sha256": config::sha256(LAPTOP.as_bytes()), "budget": {"cost_per_day": 0.005}},
        {"label": "server", "key_sha256": config::sha256(SERVER.as_bytes())},
    ]);
    config
}

#[tokio::test]
async fn a_crowd_spends_no_more_than_the_budgets_of_a_key_and_of_a_model_for_all_callers() {
    let (redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let folder = Folder::new();
    let file = format!("sqlite:{}", folder.path().join("budgets.sqlite").display());
    for (state, gateways) in [
        (json!("memory"), 1),
        (json!(file), 1),
        (patient_redis(&redis), 3),
    ] {
        let config = shared_config(&simulator.url(), &state);
        let mut started = Vec::new();
        for _ in 0..gateways {
            started.push(Gateway::start(&config).await);
        }
        let full = |caller_key: &str| {
            let request = chat("demo-large", 1, OUTPUT).key(caller_key);
            request.simulate("delay=50ms; body_bytes=400")
        };
        let of_key = crowd(&started, &[full(LAPTOP)]).await;
        assert_eq!(admitted(&of_key), 5, "{state}");
        let refused = of_key.iter().find(|it| it.status == 429).unwrap();
        assert_error_body(Protocol::Chat, refused, 429);
        let text = refused.text();
        assert!(
            text.contains("key `laptop` may spend 0.005 USD per day"),
            "{text}"
        );
        let of_all = crowd(&started, &[full(SERVER), full(&key(0)), full(&key(1))]).await;
        assert_eq!(admitted(&of_all), 5, "{state}: five are spent with the key");
        for refused in of_all.iter().filter(|it| it.status != 200) {
            assert_error_body(Protocol::Chat, refused, 429);
            let text = refused.text();
            assert!(
                text.contains("the budget of all callers together in total on model `demo-large`"),
                "{text}"
            );
            assert!(
                !text.contains("are left") && !text.contains("caller-0"),
                "{text}"
            );
        }
        let other = chat("demo-small", 0, OUTPUT).simulate("body_bytes=400");
        assert_eq!(started[0].ask(&other).await.status, 200, "{state}");
        let metrics = started[0].metrics().await;
        let limit = |caller: &str, limit: &str| {
            metrics.sum(
                "headgate_budget_limit",
                &[("caller", caller), ("limit", limit)],
            )
        };
        assert_eq!(limit("*", "cost_total"), 0.01);
        assert_eq!(limit("key:caller-1/laptop", "cost_per_day"), 0.005);
    }
}

#[tokio::test]
async fn a_reload_ends_the_metrics_of_budgets_that_are_removed() {
    let simulator = Simulator::start().await;
    let mut config = shared_config(&simulator.url(), &json!("memory"));
    let gateway = Gateway::start(&config).await;
    let request = chat("demo-large", 1, OUTPUT)
        .key(LAPTOP)
        .simulate("body_bytes=400");
    assert_eq!(gateway.ask(&request).await.status, 200);
    let series = async || {
        let metrics = gateway.metrics().await;
        ["*", "key:caller-1/laptop", "caller-1"]
            .map(|caller| metrics.sum("headgate_budget_limit", &[("caller", caller)]) > 0.0)
    };
    assert_eq!(series().await, [true; 3]);
    config["models"]["demo-large"]
        .as_object_mut()
        .unwrap()
        .remove("budget");
    let last = config["callers"].as_array().unwrap().len() - 1;
    config["callers"][last]["keys"][0]
        .as_object_mut()
        .unwrap()
        .remove("budget");
    gateway.reload(&config).await;
    eventually("the metrics of removed budgets end", async || {
        (series().await == [false, false, true]).then_some(())
    })
    .await;
    assert!(left(&gateway, 1).await > 0);
}

#[test]
fn a_budget_of_a_key_or_a_model_that_cannot_hold_is_an_error_at_its_place() {
    let prices = "prices: {models: {\"*\": {input: 1, output: 2}}}\n";
    let budget = "budget: {cost_per_day: 3}";
    let key_of_ann = |rest: &str| {
        let digest = "1".repeat(64);
        let models = "    models: [demo-small]\n";
        let keys = format!("    keys:\n      - label: a\n        key_sha256: \"{digest}\"\n{rest}");
        GOOD.replacen(models, &format!("{models}{keys}"), 1)
    };
    for (text, place, reason) in [
        (
            format!("{GOOD}models: {{demo-small: {{{budget}}}}}\n"),
            "(models.demo-small.budget.cost_per_day)",
            "requires `prices`",
        ),
        (
            format!("{GOOD}{prices}models: {{demo-small: {{{budget}}}}}\n"),
            "(models.demo-small.budget.cost_per_day)",
            "`max_output_tokens`: `demo-small`",
        ),
        (
            format!("{}{prices}", key_of_ann(&format!("        {budget}\n"))),
            "(callers[0].keys[0].budget.cost_per_day)",
            "`max_output_tokens`: `demo-small`",
        ),
        (
            format!(
                "{GOOD}{prices}models: {{demo-small: {{max_output_tokens: 9, budget: {{cost_total: 9000001}}}}}}\n"
            ),
            "(models.demo-small.budget.cost_total)",
            "at most 9000000",
        ),
        (
            GOOD.replacen("name: ann", "name: \"key:ann/a\"", 1),
            "(callers[0].name)",
            "begins with `key:`",
        ),
        (
            GOOD.replacen("name: ann", "name: \"callers:\"", 1),
            "(callers[0].name)",
            "begins with `callers:`",
        ),
    ] {
        let printed = check(&text);
        assert!(!printed.success, "{text}{}", printed.stdout);
        assert!(printed.stderr.contains(place), "{}", printed.stderr);
        assert!(printed.stderr.contains(reason), "{}", printed.stderr);
    }
}
