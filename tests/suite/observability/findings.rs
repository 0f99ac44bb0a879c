//! Tests of findings: each fault is named in a sentence with its cause.

use crate::harness::config::{self, channel};
use crate::harness::request::{ANN, BOB};
use crate::harness::{Gateway, Request, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// The finding with this code, once there is one.
async fn finding(gateway: &Gateway, code: &str) -> Value {
    let look = async || {
        let page = gateway.page("GET", "/findings").await.json();
        let findings = page["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|finding| finding["code"] == code)
    };
    eventually(code, look).await
}

fn assert_names(finding: &Value, parts: &[&str]) {
    let cause = finding["cause"].as_str().unwrap();
    for part in parts {
        assert!(cause.contains(part), "{part} is not in: {cause}");
    }
    assert!(!finding["advice"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn a_healthy_gateway_has_no_findings() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&config::standard(&simulator.url())).await;
    gateway.ask(&Request::ask(Protocol::Chat)).await;
    let page = gateway.page("GET", "/findings").await.json();
    assert_eq!(page, json!({"findings": []}));
}

#[tokio::test]
async fn a_fault_of_a_provider_is_named_with_its_channel_and_reason() {
    let simulator = Simulator::start().await;
    for (directives, code, severity, parts) in [
        (
            "status=503",
            "unhealthy",
            "warning",
            &["busy", "rate limit", "last status 503"][..],
        ),
        (
            "status=500",
            "unhealthy",
            "warning",
            &["busy", "server errors", "last status 500"],
        ),
        (
            "status=401",
            "unhealthy",
            "warning",
            &[
                "redential 1 of channel busy",
                "refuses the credential",
                "last status 401",
            ],
        ),
        (
            "status=401",
            "model_unavailable",
            "critical",
            &["`only-busy`", "busy: "],
        ),
    ] {
        let mut config = config::standard(&simulator.url());
        let url = simulator.url_obeying(directives);
        let mut busy = channel(&url, &["chat"], json!({"bearer": "sk-busy"}));
        busy["models"] = json!({"only-busy": "sim-large-2026-08"});
        busy["health"] = json!({"consecutive_failures": 1, "cool_down": "60s"});
        config["channels"]["busy"] = busy;
        let gateway = Gateway::start(&config).await;
        let body =
            json!({"model": "only-busy", "messages": [{"role": "user", "content": "hello"}]});
        gateway
            .ask(&Request::to(Protocol::Chat, body.to_string()))
            .await;
        let finding = finding(&gateway, code).await;
        assert_eq!(finding["severity"], severity, "{finding}");
        assert_names(&finding, parts);
    }
}

#[tokio::test]
async fn a_provider_that_is_down_is_named() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config["channels"]["down"] = channel(
        "http://127.0.0.1:9/v1",
        &["chat"],
        json!({"bearer": "sk-down"}),
    );
    config["channels"]["down"]["health"] = json!({"consecutive_failures": 1, "cool_down": "60s"});
    config["channels"]["openai"]["tier"] = 1.into();
    let gateway = Gateway::start(&config).await;
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    let finding = finding(&gateway, "unhealthy").await;
    assert_eq!(finding["subject"], "channel down");
    assert_names(
        &finding,
        &[
            "no connection to the provider",
            "gets no requests for another",
        ],
    );
}

#[tokio::test]
async fn a_refused_reload_is_named_with_its_first_line() {
    let simulator = Simulator::start().await;
    let config = config::standard(&simulator.url());
    let gateway = Gateway::start(&config).await;
    let mut bad = config.clone();
    bad["routes"][0]["protocol"] = "telepathy".into();
    gateway.folder.write("routes.yaml", bad.to_string());
    gateway.page("POST", "/reload").await;
    assert_names(
        &finding(&gateway, "reload_refused").await,
        &["stays in use", "routes.yaml"],
    );
}

#[tokio::test]
async fn settings_that_need_a_restart_are_named() {
    let simulator = Simulator::start().await;
    let config = config::standard(&simulator.url());
    let gateway = Gateway::start(&config).await;
    let mut changed = config.clone();
    changed["server"]["workers"] = 3.into();
    gateway.folder.write("routes.yaml", changed.to_string());
    assert_eq!(gateway.page("POST", "/reload").await.status, 200);
    let finding = finding(&gateway, "restart_needed").await;
    assert_eq!(finding["severity"], "notice");
    assert_names(&finding, &["`server.workers`"]);
}

#[tokio::test]
async fn an_error_is_the_cause_of_a_refused_reload_even_if_a_warning_precedes_it() {
    let simulator = Simulator::start().await;
    let config = config::standard(&simulator.url());
    let gateway = Gateway::start(&config).await;
    let mut bad = config.clone();
    bad["channels"]["openai"]["credential"] = json!({"bearer": "short"});
    bad["routes"][0]["request"] = json!([{"use": "body"}, {"validate": {"schema": "none.json"}}]);
    gateway.folder.write("routes.yaml", bad.to_string());
    let refused = gateway.page("POST", "/reload").await.text();
    assert!(refused.contains("\n\nwarning: the secret"), "{refused}");
    assert_names(
        &finding(&gateway, "reload_refused").await,
        &["stays in use: cannot read schema `none.json`"],
    );
}

#[tokio::test]
async fn a_storm_of_429_and_the_caller_behind_most_requests_are_named() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config["chains"]["body"]
        .as_array_mut()
        .unwrap()
        .push("rate_limit".into());
    config["callers"][1]["limits"] = json!({"requests_per_minute": 5});
    let gateway = Gateway::start(&config).await;
    let small = json!({"model": "demo-small", "messages": [{"role": "user", "content": "hello"}]});
    for _ in 0..100 {
        gateway
            .ask(&Request::to(Protocol::Chat, small.to_string()).key(BOB))
            .await;
    }
    gateway.ask(&Request::ask(Protocol::Chat).key(ANN)).await;
    let storm = finding(&gateway, "rate_limited").await;
    assert_eq!(storm["subject"], "caller bob");
    assert_names(&storm, &["429", "from caller `bob`"]);
    assert_names(
        &finding(&gateway, "caller_dominates").await,
        &["`bob` made 100 of 101"],
    );
}

#[tokio::test]
async fn failing_providers_are_named_as_the_cause_of_failed_requests() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config::without_cool_downs(&mut config);
    let gateway = Gateway::start(&config).await;
    for number in 0..24 {
        let directives = if number % 4 == 0 { "status=500" } else { "" };
        gateway
            .ask(&Request::ask(Protocol::Chat).simulate(directives))
            .await;
    }
    let counted = async || {
        let found = finding(&gateway, "upstream_errors").await;
        let cause = found["cause"].as_str().unwrap_or_default();
        cause.contains("6 of 24").then_some(found.clone())
    };
    let found = eventually("the finding of all requests", counted).await;
    assert_names(&found, &["providers"]);
}
