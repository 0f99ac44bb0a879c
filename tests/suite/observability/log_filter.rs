//! Tests of the filter of the process log, which operators change while the process runs.

use crate::harness::admin::audit_lines;
use crate::harness::config::{admin_keys, standard, without_cool_downs};
use crate::harness::gateway::folder_with_schemas;
use crate::harness::request::VIEWER;
use crate::harness::{Gateway, Request, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// A gateway with these directives as `RUST_LOG`, whose attempts fail.
async fn gateway(directives: &str) -> (Gateway, Simulator) {
    let simulator = Simulator::start().await;
    let mut config = standard(&simulator.url_obeying("status=500"));
    without_cool_downs(&mut config);
    config["server"]["admin_keys"] = admin_keys();
    let gateway = Gateway::start_logging(folder_with_schemas(), &config, directives).await;
    (gateway, simulator)
}

/// Whether the attempt of a request is in the process log.
async fn is_logged(gateway: &Gateway) -> bool {
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    let id = answer.headers.get("x-request-id").unwrap().to_owned();
    gateway.log_of(&answer).await;
    // Whoever writes a line after the request shows that the log is written so far.
    gateway.page("POST", "/reload").await;
    let reloads = || {
        let lines = gateway.process.stderr.json();
        lines
            .iter()
            .filter(|line| line["action"] == "reload")
            .count()
    };
    let before = reloads();
    gateway.page("POST", "/reload").await;
    eventually("the lines so far", async || {
        (reloads() > before).then_some(())
    })
    .await;
    let lines = gateway.process.stderr.json();
    lines
        .iter()
        .any(|line| line["message"] == "attempt failed" && line["id"] == id[..])
}

async fn change(gateway: &Gateway, query: &str) -> Value {
    let response = gateway.page("POST", &format!("/log-filter?{query}")).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

#[tokio::test]
async fn the_log_filter_is_changed_and_comes_back() {
    let (gateway, _simulator) = gateway("warn,headgate::cli=info").await;
    assert!(!is_logged(&gateway).await);
    let page = change(&gateway, "filter=debug").await;
    assert_eq!(page["filter"], "debug");
    assert_eq!(page["usual"], "warn,headgate::cli=info");
    assert!(is_logged(&gateway).await);
    // A reload is about the configuration only.
    gateway.page("POST", "/reload").await;
    let overview = gateway.page("GET", "/overview").await.json();
    assert_eq!(overview["log_filter"]["filter"], "debug");
    let finding = &overview["findings"][0];
    assert_eq!(finding["code"], "log_filter_changed");
    assert_eq!(finding["severity"], "notice");
    let page = change(&gateway, "filter=usual").await;
    assert_eq!(page["change"], Value::Null);
    assert!(!is_logged(&gateway).await);
    change(
        &gateway,
        "filter=headgate%3A%3Agateway=info,headgate=warn&seconds=3",
    )
    .await;
    assert!(is_logged(&gateway).await);
    let is_back = async || {
        let page = gateway.page("GET", "/log-filter").await.json();
        (page["change"] == Value::Null).then_some(())
    };
    eventually("the usual filter", is_back).await;
    assert!(!is_logged(&gateway).await);
    let audit = audit_lines(&gateway, 3).await;
    let changes: Vec<&Value> = audit
        .iter()
        .filter(|line| line[0] == "set_log_filter")
        .collect();
    assert_eq!(
        *changes[0],
        json!(["set_log_filter", "debug", "operator", "done", 200])
    );
    assert_eq!(changes.len(), 3);
}

#[tokio::test]
async fn a_log_filter_that_cannot_be_used_is_refused_with_the_reason() {
    let (gateway, _simulator) = gateway("warn,headgate::cli=info").await;
    for (query, words) in [
        ("", "expected the query `filter=LEVEL`"),
        (
            "filter=verbose",
            "expected a level (off, error, warn, info, debug, trace)",
        ),
        (
            "filter=h2=debug",
            "libraries are logged at level `error` only",
        ),
        (
            "filter=debug&seconds=0",
            "`seconds` must be a number from 1 to 86400",
        ),
        ("filter=debug&seconds=soon", "`seconds` must be a number"),
        (
            "filter=debug&seconds=1&seconds=2",
            "`seconds` must be a number",
        ),
    ] {
        let response = gateway.page("POST", &format!("/log-filter?{query}")).await;
        assert_eq!(response.status, 400, "{query}");
        assert!(
            response.text().contains(words),
            "{query}: {}",
            response.text()
        );
    }
    let viewer = gateway
        .admin_request("POST", "/log-filter?filter=debug")
        .key(VIEWER);
    assert_eq!(gateway.ask_admin(&viewer).await.status, 403);
    let viewer = gateway.admin_request("GET", "/log-filter").key(VIEWER);
    let page = gateway.ask_admin(&viewer).await.json();
    assert_eq!(page["change"], Value::Null);
}
