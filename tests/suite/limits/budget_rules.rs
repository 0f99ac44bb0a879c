//! Tests of what a budget in money refuses, and of what a request costs of it, however the request ends.

use super::budgets::{NANOS, OUTPUT, OUTPUT_COST, budget_config, chat, key, left};
use crate::harness::error_shape::assert_error_body;
use crate::harness::request::ANN;
use crate::harness::{Gateway, RedisServer, Request, Simulator, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

#[tokio::test]
async fn what_is_refused_reserves_nothing_and_what_has_no_limit_uses_that_of_the_model() {
    let simulator = Simulator::start().await;
    let budget = 5 * OUTPUT_COST;
    let config = budget_config(&simulator.url(), &json!("memory"), 1, budget);
    let gateway = Gateway::start(&config).await;
    let unlimited = json!({"model": "demo-large", "messages": [{"role": "user", "content": "x"}]});
    let unlimited = Request::to(Protocol::Chat, unlimited.to_string()).key(&key(0));
    let refused = gateway.ask(&unlimited).await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert!(
        refused.text().contains("may cost 0.01 USD"),
        "{}",
        refused.text()
    );
    for directives in ["status=400", "status=429", "status=500"] {
        let failed = chat("demo-large", 0, OUTPUT).simulate(directives);
        assert_ne!(gateway.ask(&failed).await.status, 200);
        eventually("nothing is spent", async || {
            (left(&gateway, 0).await == budget).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_stream_whose_caller_leaves_costs_what_it_had_sent() {
    let simulator = Simulator::start().await;
    let budget = 5 * OUTPUT_COST;
    let config = budget_config(&simulator.url(), &json!("memory"), 1, budget);
    let gateway = Gateway::start(&config).await;
    let message = json!({"role": "user", "content": "Count to a thousand."});
    let body =
        json!({"model": "demo-small", "max_tokens": OUTPUT, "stream": true, "messages": [message]});
    let request = Request::to(Protocol::Chat, body.to_string()).key(&key(0));
    let request = request.simulate("events=20; event_bytes=20; pace=100ms");
    let mut stream = gateway.open(&request).await;
    stream.until("data:").await;
    drop(stream);
    let line = gateway
        .log_line(|line| line["settlement"] == "client_cancelled")
        .await;
    let charge = (line["budget_charge"].as_f64().unwrap() * NANOS).round() as u64;
    assert!(charge > 0 && charge < OUTPUT_COST, "{line}");
    assert_eq!(line["cost"], Value::Null, "{line}");
    assert_eq!(left(&gateway, 0).await, budget - charge);
}

#[tokio::test]
async fn a_provider_that_exceeds_the_limit_of_a_request_is_named_in_the_log() {
    let simulator = Simulator::start().await;
    let budget = 2 * OUTPUT_COST;
    let config = budget_config(&simulator.url(), &json!("memory"), 1, budget);
    let mut gateway = Gateway::start(&config).await;
    let longer = chat("demo-large", 0, OUTPUT).simulate("body_bytes=600");
    assert_eq!(gateway.ask(&longer).await.status, 200);
    let message = "a request cost more than was reserved of the caller's budget";
    let line = gateway.process.wait_for_line(message).await;
    assert_eq!(
        [&line["caller"], &line["cost"], &line["reserved"]],
        ["caller-0", "0.0015", "0.001"]
    );
    assert_eq!(left(&gateway, 0).await, budget - OUTPUT_COST / 2 * 3);
    let labels = [
        ("caller", "caller-0"),
        ("limit", "cost_total"),
        ("currency", "USD"),
    ];
    let metrics = gateway.metrics().await;
    let level = ["headgate_budget_remaining", "headgate_budget_limit"];
    assert_eq!(
        level.map(|name| metrics.sum(name, &labels)),
        [0.0005, 0.002]
    );
    assert_eq!(gateway.ask(&longer).await.status, 429);
}

#[tokio::test]
async fn a_budget_is_reported_for_what_was_spent_and_not_for_what_was_reserved() {
    let simulator = Simulator::start().await;
    let budget = 10 * OUTPUT_COST;
    let config = budget_config(&simulator.url(), &json!("memory"), 1, budget);
    let gateway = Gateway::start(&config).await;
    for (tokens, left, subjects) in [
        (OUTPUT / 10, budget - OUTPUT_COST / 10, &[][..]),
        (
            9 * OUTPUT,
            budget - OUTPUT_COST / 10 - 9 * OUTPUT_COST,
            &["cost_total of caller caller-0"],
        ),
    ] {
        // A token has four bytes.
        let directives = format!("body_bytes={}", 4 * tokens);
        let request = chat("demo-large", 0, 9 * OUTPUT).simulate(&directives);
        assert_eq!(gateway.ask(&request).await.status, 200);
        let labels = [("caller", "caller-0"), ("limit", "cost_total")];
        eventually("the request is settled", async || {
            let metrics = gateway.metrics().await;
            let level = metrics.sum("headgate_budget_remaining", &labels);
            ((level * NANOS).round() as u64 == left).then_some(())
        })
        .await;
        let findings = gateway.page("GET", "/findings").await.json();
        let findings = findings["findings"].as_array().unwrap();
        let used = findings.iter().filter(|one| one["code"] == "budget_used");
        let found: Vec<&str> = used.map(|one| one["subject"].as_str().unwrap()).collect();
        assert_eq!(found, subjects, "{findings:?}");
    }
}

#[tokio::test]
async fn while_the_store_is_unreachable_no_money_is_spent_although_other_limits_are_not_checked() {
    let (mut redis, simulator) = (RedisServer::start(), Simulator::start().await);
    let state = json!({"redis": {"url": redis.url(), "on_store_failure": "allow"}});
    let mut config = budget_config(&simulator.url(), &state, 1, 5 * OUTPUT_COST);
    config["callers"][0]["limits"] = json!({"requests_per_minute": 100});
    let gateway = Gateway::start(&config).await;
    let request = chat("demo-large", 0, OUTPUT).simulate("body_bytes=400");
    assert_eq!(gateway.ask(&request).await.status, 200);
    redis.kill();
    let refused = gateway.ask(&request).await;
    assert_error_body(Protocol::Chat, &refused, 503);
    assert_eq!(gateway.ask(&request.clone().key(ANN)).await.status, 200);
    redis.restart();
    eventually("Redis is back", async || {
        (gateway.ask(&request).await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_refusal_has_the_shape_of_each_protocol_and_the_time_until_the_day_ends() {
    let simulator = Simulator::start().await;
    let mut config = budget_config(&simulator.url(), &json!("memory"), 1, OUTPUT_COST);
    config["callers"][2]["limits"] = json!({"cost_per_day": 0.001});
    for route in ["messages", "responses"] {
        let chain = config::route(&mut config, route)["request"].as_array_mut();
        chain.unwrap().push("rate_limit".into());
    }
    let gateway = Gateway::start(&config).await;
    let spent = chat("demo-large", 0, OUTPUT).simulate("body_bytes=400");
    assert_eq!(gateway.ask(&spent).await.status, 200);
    for protocol in [Protocol::Chat, Protocol::Messages, Protocol::Responses] {
        let mut body: Value =
            serde_json::from_slice(&Request::ask(protocol).body.unwrap()).unwrap();
        body["model"] = json!("demo-large");
        let output = match protocol {
            Protocol::Responses => "max_output_tokens",
            _ => "max_tokens",
        };
        body[output] = json!(10);
        let request = Request::to(protocol, body.to_string());
        let refused = gateway.ask(&request.key(&key(0))).await;
        assert_error_body(protocol, &refused, 429);
        assert_eq!(refused.headers.get("x-should-retry"), Some("false"));
        let wait: u64 = refused.headers.get("retry-after").unwrap().parse().unwrap();
        assert!(wait <= 24 * 60 * 60, "{wait}");
        let text = refused.text();
        assert!(
            text.contains("0.001 USD per day (`cost_per_day`), 0 USD are left"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_model_that_stands_in_is_reserved_too_or_passed_over() {
    let simulator = Simulator::start().await;
    // The first model fails at once; the one that stands in is ten times as dear.
    for (budget, status) in [(11 * OUTPUT_COST, 200), (10 * OUTPUT_COST, 502)] {
        let mut config = budget_config(&simulator.url(), &json!("memory"), 1, budget);
        config["prices"]["models"]["demo-small"] = json!({"output": 100});
        config["models"]["demo-large"]["fallback"] = json!({"unavailable": "demo-small"});
        config["channels"]["broken"] = config["channels"]["openai"].clone();
        config["channels"]["broken"]["base_url"] = simulator.url_obeying("status=503").into();
        config["channels"]["broken"]["models"] = json!({"demo-large": "sim-large-2026-08"});
        config["channels"]["openai"]["models"] = json!({"demo-small": "sim-small-2026-08"});
        config::without_cool_downs(&mut config);
        let gateway = Gateway::start(&config).await;
        let request = chat("demo-large", 0, OUTPUT).simulate("body_bytes=400");
        let response = gateway.ask(&request).await;
        assert_eq!(response.status == 200, status == 200, "{}", response.text());
        let spent = if status == 200 { 10 * OUTPUT_COST } else { 0 };
        eventually("the reservations are settled", async || {
            (left(&gateway, 0).await == budget - spent).then_some(())
        })
        .await;
    }
}
