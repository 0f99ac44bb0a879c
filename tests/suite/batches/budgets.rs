//! Tests of budgets in money of batches: the create reserves what all requests can cost, and the end settles it once.

use crate::harness::batch_budgets::{
    PLENTY, PRICES, bound_of_lines, budgeted_config, decimal, left, reconciled, settlements,
    settles,
};
use crate::harness::batches::{BATCHES, create, id_in, line, received, upload_lines};
use crate::harness::error_shape::assert_error_body;
use crate::harness::folder::Folder;
use crate::harness::patient_redis::patient_redis;
use crate::harness::{Gateway, RedisServer, Request, Simulator, WholeResponse};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Batches for which a crowd's budget has room.
const ROOM: u64 = 3;
const CROWD: usize = 20;

fn poll(id: &str) -> Request {
    Request::get(&format!("{BATCHES}/{id}"))
}

fn two_lines() -> Vec<String> {
    vec![line("a", "demo-small"), line("b", "demo-small")]
}

/// Polls a batch until its end, each time another gateway, and returns what it costs by its usage.
async fn end(gateways: &[Gateway], id: &str) -> u64 {
    let mut polled = Value::Null;
    for gateway in gateways.iter().cycle().take(4) {
        polled = gateway.ask(&poll(id)).await.json();
    }
    assert_eq!(polled["status"], "completed", "{polled}");
    let tokens = ["input_tokens", "output_tokens"].map(|name| polled["usage"][name].as_u64());
    let [input, output] = tokens.map(Option::unwrap);
    (PRICES[0] * input + PRICES[1] * output).div_ceil(2)
}

/// Sends creates of the same file at once, in turns to each gateway.
async fn crowd(gateways: &[Gateway], file: &str) -> Vec<WholeResponse> {
    let mut sent = JoinSet::new();
    for number in 0..CROWD {
        let mut connection = gateways[number % gateways.len()].connect().await;
        let bytes = create(file).bytes();
        sent.spawn(async move {
            connection.send(&bytes).await.unwrap();
            connection.answer().await.expect("a response")
        });
    }
    sent.join_all().await
}

async fn spend_in_crowd(simulator: &Simulator, state: &Value, count: usize) {
    let lines = two_lines();
    let (each, before) = (bound_of_lines(&lines), received(simulator).await);
    let budget = ROOM * each;
    let config = budgeted_config(&simulator.url(), state, budget);
    let mut gateways = Vec::new();
    for _ in 0..count {
        gateways.push(Gateway::start(&config).await);
    }
    let file = upload_lines(&gateways[0], &lines).await;
    let responses = crowd(&gateways, &file).await;
    let (made, refused): (Vec<_>, Vec<_>) = responses.iter().partition(|it| it.status == 200);
    assert_eq!(made.len() as u64, ROOM, "{state}");
    for refused in refused {
        assert_error_body(Protocol::Chat, refused, 429);
        let error = refused.json()["error"].clone();
        assert_eq!(error["code"], "insufficient_quota", "{error}");
        let message = error["message"].as_str().unwrap();
        let need = format!("this request may cost {} USD", short(each));
        assert!(message.contains(&need), "{message}");
        assert_eq!(refused.headers.get("x-should-retry"), Some("false"));
        assert_eq!(refused.headers.get("retry-after"), None);
    }
    // The upload and the creates that were admitted.
    assert_eq!(received(simulator).await, before + 1 + made.len());
    let all: Vec<&Gateway> = gateways.iter().collect();
    assert_eq!(reconciled(&all, budget).await, budget, "{state}");
    let mut cost = 0;
    for made in made {
        cost += end(&gateways, &id_in(made)).await;
    }
    assert!(cost > 0 && cost < budget);
    assert_eq!(reconciled(&all, budget).await, cost, "{state}");
    let settled: Vec<_> = gateways.iter().flat_map(settlements).collect();
    assert_eq!(settled.len() as u64, ROOM, "{settled:?}");
    assert!(settled.iter().all(|(_, reserved)| *reserved == each));
}

/// A decimal number as errors have it, without zeros at its end.
fn short(nanos: u64) -> String {
    decimal(nanos).trim_end_matches('0').to_owned()
}

#[tokio::test]
async fn a_crowd_of_batches_spends_no_more_than_the_budget_and_each_is_settled_once() {
    let (redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let folder = Folder::new();
    let file = format!("sqlite:{}", folder.path().join("budgets.sqlite").display());
    for (state, gateways) in [
        (json!("memory"), 1),
        (json!(file), 1),
        (patient_redis(&redis), 2),
    ] {
        spend_in_crowd(&simulator, &state, gateways).await;
    }
}

#[tokio::test]
async fn a_batch_costs_its_usage_at_the_price_of_batches_also_after_a_restart() {
    let simulator = Simulator::start().await;
    let folder = Folder::new();
    let state = format!("sqlite:{}", folder.path().join("budgets.sqlite").display());
    let config = budgeted_config(&simulator.url(), &json!(state), PLENTY);
    let first = Gateway::start(&config).await;
    let file = upload_lines(&first, &two_lines()).await;
    let id = id_in(&first.ask(&create(&file)).await);
    let reserved = bound_of_lines(&two_lines());
    assert_eq!(reconciled(&[&first], PLENTY).await, reserved);
    drop(first);
    // Prices of another day are not those of the batch.
    let mut dearer = config.clone();
    dearer["prices"]["models"]["demo-small"] = json!({"input": 200, "output": 1000});
    let gateways = [Gateway::start(&dearer).await];
    let cost = end(&gateways, &id).await;
    settles(&gateways[0], &[(cost, reserved)]).await;
    assert_eq!(PLENTY - left(&gateways[0], PLENTY).await, cost);
}
