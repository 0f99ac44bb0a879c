//! Budgets in money of batches: what a create reserves, what is used, and what the logs have of both.

use super::batches::{batch_config, create, line, upload_lines};
use super::{Gateway, eventually};
use serde_json::{Value, json};

/// Billionths of a token of input and of output, at the full price.
pub const PRICES: [u64; 2] = [2_000, 10_000];
/// The most tokens of output of each model.
const OUTPUT_MAX: u64 = 1_000;
/// A budget that few batches do not use up, in billionths.
pub const PLENTY: u64 = 1_000_000_000;

/// Two accounts, prices of 2 and 10 a million tokens, and a caller `ann` who may spend `budget` billionths in all.
pub fn budgeted_config(provider: &str, state: &Value, budget: u64) -> Value {
    let mut config = batch_config(provider, provider);
    config["state"] = state.clone();
    let price = json!({"input": 2, "output": 10});
    config["prices"] = json!({"models": {"demo-large": price, "demo-small": price}});
    for model in ["demo-large", "demo-small"] {
        config["models"][model]["max_output_tokens"] = json!(OUTPUT_MAX);
    }
    config["callers"][0]["limits"] = json!({"cost_total": decimal(budget)});
    config
}

/// An amount in billionths as a decimal number.
pub fn decimal(nanos: u64) -> String {
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// A decimal number in billionths.
pub fn nanos(decimal: &str) -> u64 {
    let (units, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    format!("{units}{fraction:0<9}").parse().unwrap()
}

/// The most that a request of a batch costs whose body has so many bytes and sets this limit of output, in billionths at the
/// full price.
pub fn bound(body: &Value, output: Option<u64>) -> u64 {
    let bytes = body.to_string().len() as u64;
    PRICES[0] * bytes + PRICES[1] * output.unwrap_or(OUTPUT_MAX)
}

/// The most that a batch of these lines costs, none of which limits its output.
pub fn bound_of_lines(lines: &[String]) -> u64 {
    let bounds = lines.iter().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        bound(&line["body"], None)
    });
    bounds.sum::<u64>().div_ceil(2)
}

/// What the caller has left of its total budget: a batch that costs more than all of it is refused, and names that.
pub async fn left(gateway: &Gateway, budget: u64) -> u64 {
    let count = (budget / (OUTPUT_MAX * PRICES[1] / 2) + 1) as usize;
    let lines = (0..count).map(|at| line(&at.to_string(), "demo-small"));
    let file = upload_lines(gateway, &lines.collect::<Vec<_>>()).await;
    let refused = gateway.ask(&create(&file)).await;
    let text = refused.text();
    assert_eq!(refused.status, 429, "{text}");
    let (before, _) = text.split_once(" USD are left").expect("what is left");
    nanos(before.rsplit(' ').next().unwrap())
}

/// What the logs of the gateways have of what the caller was charged, in billionths: that of its requests, and by how much
/// batches have cost less or more than they reserved.
pub fn logged_charges(gateways: &[&Gateway]) -> i64 {
    let lines: Vec<Value> = gateways.iter().flat_map(|gateway| gateway.log()).collect();
    let charges = lines.iter().filter(|line| line["caller"] == "ann");
    let charges = charges.filter_map(|line| line["budget_charge"].as_f64());
    let charges = charges.map(|charge| (charge * 1e9).round() as i64);
    let settled = gateways.iter().flat_map(|gateway| settlements(gateway));
    let settled = settled.map(|(charge, reserved)| charge as i64 - reserved as i64);
    charges.sum::<i64>() + settled.sum::<i64>()
}

/// What each batch was charged that the gateway has settled, and what it had reserved.
pub fn settlements(gateway: &Gateway) -> Vec<(u64, u64)> {
    let lines = gateway.process.stderr.json().into_iter();
    let settled = lines.filter(|line| line["charge"].is_string() && line["batch"].is_string());
    let amount = |line: &Value, name: &str| nanos(line[name].as_str().unwrap());
    settled
        .map(|line| (amount(&line, "charge"), amount(&line, "reserved")))
        .collect()
}

/// Waits until a gateway has logged these settlements, in any order: what each batch was charged, and what it had reserved.
pub async fn settles(gateway: &Gateway, expected: &[(u64, u64)]) {
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    eventually(&format!("{expected:?} settled"), async || {
        let mut settled = settlements(gateway);
        settled.sort_unstable();
        (settled == expected).then_some(())
    })
    .await;
}

/// Waits until the logs have what is used of the budget, and returns that.
pub async fn reconciled(gateways: &[&Gateway], budget: u64) -> u64 {
    eventually("the logs have what is used", async || {
        let used = budget - left(gateways[0], budget).await;
        (logged_charges(gateways) == used as i64).then_some(used)
    })
    .await
}
