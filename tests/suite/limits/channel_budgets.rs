//! Tests of budgets in money of channels: requests go to other channels when one has none left, whoever sends them.

use super::budgets::{OUTPUT, OUTPUT_COST, budget_config, chat};
use crate::configuration::check::{GOOD, check};
use crate::harness::error_shape::assert_error_body;
use crate::harness::folder::Folder;
use crate::harness::patient_redis::patient_redis;
use crate::harness::request::ANN;
use crate::harness::state_file::StateFile;
use crate::harness::vendors::vendors;
use crate::harness::video::{GENERIC, ask, id_of, video_config};
use crate::harness::{Gateway, RedisServer, Request, Simulator, WholeResponse, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::task::JoinSet;

/// Requests for which the budget of the first channel has room.
const ROOM: usize = 7;

/// The channel `openai` has a budget for `ROOM` requests, and `spare` stands in for it.
fn channel_config(provider: &str, state: &Value) -> Value {
    let mut config = budget_config(provider, state, 2, 1_000 * OUTPUT_COST);
    config["channels"]["spare"] = config["channels"]["openai"].clone();
    config["channels"]["spare"]["tier"] = json!(1);
    config["channels"]["openai"]["budget"] = json!({"cost_per_day": 0.001 * ROOM as f64});
    // Were another channel a retry, the retry budget would not have so many.
    config["retries"] = json!({"budget_percent": 1, "min_per_second": 1});
    config
}

fn request(key: Option<&str>) -> Request {
    let request = chat("demo-large", 0, OUTPUT).simulate("delay=30ms; body_bytes=400");
    match key {
        Some(key) => request.key(key),
        None => request,
    }
}

/// Sends so many requests at once, in turns to each gateway, of a caller with a budget and of one without any limit.
async fn crowd(gateways: &[Gateway], count: usize) -> Vec<WholeResponse> {
    let mut sent = JoinSet::new();
    for number in 0..count {
        let mut connection = gateways[number % gateways.len()].connect().await;
        let bytes = request((number % 2 == 0).then_some(ANN)).bytes();
        sent.spawn(async move {
            connection.send(&bytes).await.unwrap();
            connection.answer().await.expect("a response")
        });
    }
    sent.join_all().await
}

/// The number of served requests by channel, as the logs of all gateways have them.
async fn served(gateways: &[Gateway], count: usize) -> BTreeMap<String, usize> {
    eventually("a log line of each request", async || {
        let lines: Vec<Value> = gateways.iter().flat_map(Gateway::log).collect();
        let mut channels = BTreeMap::new();
        for line in lines.iter().filter(|line| line["status"] == 200) {
            let channel = line["channel"].as_str().unwrap().to_owned();
            *channels.entry(channel).or_default() += 1;
        }
        (lines.len() == count).then_some(channels)
    })
    .await
}

#[tokio::test]
async fn a_crowd_spends_no_more_than_the_budget_of_a_channel_and_is_served_by_the_next() {
    let (redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let folder = Folder::new();
    let file = format!("sqlite:{}", folder.path().join("budgets.sqlite").display());
    for (state, count) in [
        (json!("memory"), 1),
        (json!(file), 2),
        (patient_redis(&redis), 3),
    ] {
        let config = channel_config(&simulator.url(), &state);
        let mut gateways = Vec::new();
        for _ in 0..count {
            gateways.push(Gateway::start(&config).await);
        }
        let responses = crowd(&gateways, 60).await;
        assert!(responses.iter().all(|it| it.status == 200), "{state}");
        let channels = served(&gateways, 60).await;
        let expected = [("openai", ROOM), ("spare", 60 - ROOM)];
        let expected = expected.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(channels, BTreeMap::from(expected), "{state}");
        let metrics = gateways[0].metrics().await;
        let labels = [("caller", "channel:openai"), ("limit", "cost_per_day")];
        assert_eq!(metrics.sum("headgate_budget_limit", &labels), 0.007);
        assert_eq!(metrics.sum("headgate_budget_remaining", &labels), 0.0);
    }
}

#[tokio::test]
async fn a_channel_without_budget_left_refuses_what_no_other_channel_serves_and_nothing_is_sent() {
    let simulator = Simulator::start().await;
    let mut config = channel_config(&simulator.url(), &json!("memory"));
    config["channels"].as_object_mut().unwrap().remove("spare");
    let gateways = [Gateway::start(&config).await];
    let responses = crowd(&gateways, 30).await;
    let refused: Vec<_> = responses.iter().filter(|it| it.status != 200).collect();
    assert_eq!(refused.len(), 30 - ROOM);
    for refused in refused {
        assert_error_body(Protocol::Chat, refused, 503);
        let text = refused.text();
        assert!(text.contains("has no room for the request"), "{text}");
        assert!(!text.contains("openai") && !text.contains("USD"), "{text}");
        let wait: u64 = refused.headers.get("retry-after").unwrap().parse().unwrap();
        assert!(wait <= 24 * 3_600, "{wait}");
    }
    let lines = served(&gateways, 30).await;
    assert_eq!(lines.values().sum::<usize>(), ROOM);
    let attempts = gateways[0]
        .metrics()
        .await
        .sum("headgate_attempts_total", &[]);
    assert_eq!(attempts, ROOM as f64);
}

#[tokio::test]
async fn retry_after_is_sent_only_if_the_budget_of_a_channel_comes_back() {
    let simulator = Simulator::start().await;
    let day = json!({"cost_per_day": 0.001});
    let small = json!({"cost_per_day": 0.0005});
    let total = json!({"cost_total": 0.001});
    for (budgets, waits) in [
        (vec![&day], true),
        (vec![&total], false),
        (vec![&small], false),
        (vec![&total, &day], true),
        (vec![&day, &total], true),
        (vec![&small, &total], false),
    ] {
        let mut config = channel_config(&simulator.url(), &json!("memory"));
        let channels = config["channels"].as_object_mut().unwrap();
        channels.remove("spare");
        for (index, budget) in budgets.iter().enumerate() {
            let mut channel = channels["openai"].clone();
            channel["budget"] = (*budget).clone();
            channel["tier"] = json!(index);
            channels.insert(["openai", "spare"][index].to_owned(), channel);
        }
        let gateway = Gateway::start(&config).await;
        // A budget has room for one request, or for none.
        for _ in 0..2 {
            gateway.ask(&request(Some(ANN))).await;
        }
        let refused = gateway.ask(&request(Some(ANN))).await;
        assert_error_body(Protocol::Chat, &refused, 503);
        for name in ["retry-after", "retry-after-ms"] {
            let has = refused.headers.get(name).is_some();
            assert_eq!(has, waits, "{name} {budgets:?}");
        }
        let retries = refused.headers.get("x-should-retry");
        assert_eq!(retries.is_none(), waits, "{budgets:?}");
        assert_eq!(refused.text().contains("try again"), waits, "{budgets:?}");
    }
}

#[tokio::test]
async fn what_an_attempt_does_not_cost_is_free_again() {
    let simulator = Simulator::start().await;
    let mut config = channel_config(&simulator.url(), &json!("memory"));
    config::without_cool_downs(&mut config);
    let gateway = Gateway::start(&config).await;
    let channel = async |directives: &str| {
        let request = chat("demo-large", 0, OUTPUT).simulate(directives);
        let response = gateway.ask(&request).await;
        gateway.log_of(&response).await["channel"].clone()
    };
    // An error costs nothing, a short response what it has.
    for _ in 0..2 * ROOM {
        channel("status=400").await;
    }
    for _ in 0..2 * ROOM {
        assert_eq!(channel("body_bytes=4").await, "openai");
    }
}

#[tokio::test]
async fn a_video_keeps_the_budget_of_its_channel_until_its_end() {
    let simulator = Simulator::start().await;
    let state = StateFile::new();
    let directives = "queue=0ms;run=0ms;ends=failed";
    let mut config = video_config(&simulator, directives);
    let minimax = vendors()
        .into_iter()
        .find(|it| it.family == "minimax")
        .unwrap();
    let base = format!(
        "http://{}/~{directives}/vendor/{}",
        simulator.address, minimax.base
    );
    config["state"] = json!(state.url());
    let price = json!({"video_second": {"*": 0.1}, "video_default_seconds": 5});
    config["prices"] = json!({"currency": "EUR", "models": {"*": price}});
    config["channels"]["minimax"] = json!({
        "base_url": base, "protocols": ["video"], "family": "minimax", "budget": {"cost_total": 1},
        "credential": minimax.credential.config(), "models": {"minimax": minimax.model},
    });
    for route in config["routes"].as_array_mut().unwrap() {
        let chain = route["request"].as_array_mut().unwrap();
        let is_create = |filter: &Value| filter["map_task"]["operation"] == "create";
        if let Some(at) = chain.iter().position(is_create) {
            chain.insert(at, json!("rate_limit"));
        }
    }
    let gateway = Gateway::start(&config).await;
    let mut body = minimax.create.clone();
    body["model"] = json!("minimax");
    let create = Request::post(GENERIC, body.to_string());
    let created = gateway.ask(&create).await;
    assert_eq!(created.status, 200, "{}", created.text());
    let refused = gateway.ask(&create).await;
    assert_eq!(refused.status, 503, "0.4 of 1 are left: {}", refused.text());
    ask(&gateway, GENERIC, &id_of(GENERIC, &created)).await;
    eventually("the budget is free again", async || {
        (state.money_used("channel:minimax", "cost_total") == 0).then_some(())
    })
    .await;
    assert_eq!(gateway.ask(&create).await.status, 200);
}

#[test]
fn a_budget_of_a_channel_that_cannot_hold_is_an_error_at_its_place() {
    let prices = "prices: {models: {\"*\": {input: 1, output: 2}}}\n";
    let with_budget = |budget: &str| {
        let protocols = "    protocols: [chat]\n";
        assert!(GOOD.contains(protocols), "{GOOD}");
        GOOD.replacen(
            protocols,
            &format!("{protocols}    budget: {{{budget}}}\n"),
            1,
        )
    };
    for (text, place, reason) in [
        (
            with_budget("cost_per_day: 3"),
            ".budget.cost_per_day)",
            "requires `prices`",
        ),
        (
            format!("{}{prices}", with_budget("cost_per_day: 3")),
            ".budget.cost_per_day)",
            "have a price of output and no `max_output_tokens`",
        ),
        (
            with_budget("cost_total: 9000001"),
            ".budget.cost_total)",
            "at most 9000000",
        ),
        (with_budget("cost_per_week: 1"), ".budget", "cost_per_week"),
        (
            with_budget("cost_total: 8999999.1234567891"),
            ".budget.cost_total)",
            "at most 9 decimal places",
        ),
        (
            with_budget("cost_total: \"0.0000000001\""),
            ".budget.cost_total)",
            "at most 9 decimal places",
        ),
        (
            format!("{GOOD}prices: {{models: {{\"*\": {{input: 0.0000000004}}}}}}\n"),
            ".input)",
            "found `0.0000000004`",
        ),
    ] {
        let printed = check(&text);
        assert!(!printed.success, "{text}{}", printed.stdout);
        assert!(printed.stderr.contains(place), "{}", printed.stderr);
        assert!(printed.stderr.contains(reason), "{}", printed.stderr);
    }
}
