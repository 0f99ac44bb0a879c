//! Tests of captures: what one caller sends and gets, for a while, within bounds, and without secrets.

use crate::harness::admin::audit_lines;
use crate::harness::config::{CREDENTIALS, admin_keys, channel, standard};
use crate::harness::request::{ANN, BOB, VIEWER};
use crate::harness::{Gateway, Request, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

async fn gateway() -> (Gateway, Simulator) {
    let simulator = Simulator::start().await;
    let mut config = standard(&simulator.url());
    config["server"]["admin_keys"] = admin_keys();
    config["channels"]["openai"]["tier"] = 1.into();
    let url = "http://127.0.0.1:9/v1";
    config["channels"]["down"] = channel(url, &["chat"], json!({"bearer": "sk-down"}));
    (Gateway::start(&config).await, simulator)
}

async fn start(gateway: &Gateway, query: &str) -> String {
    let started = gateway.page("POST", &format!("/captures?{query}")).await;
    assert_eq!(started.status, 200, "{}", started.text());
    started.json()["id"].as_str().unwrap().to_owned()
}

async fn content(gateway: &Gateway, id: &str) -> Value {
    let path = format!("/captures/content?id={id}");
    let content = gateway.page("GET", &path).await;
    assert_eq!(content.status, 200, "{}", content.text());
    content.json()
}

fn step<'v>(exchange: &'v Value, name: &str) -> &'v Value {
    let steps = exchange["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["step"] == name);
    step.unwrap_or_else(|| panic!("no step {name}: {exchange:#}"))
}

fn body(secret: &str) -> String {
    let content = format!("my key is {secret}");
    json!({"model": "demo-large", "stream": true, "messages": [{"role": "user", "content": content}]})
        .to_string()
}

#[tokio::test]
async fn a_capture_has_each_step_of_an_exchange_and_no_secret() {
    let (gateway, _simulator) = gateway().await;
    // What is not captured is not recorded.
    gateway.ask(&Request::ask(Protocol::Chat)).await;
    let id = start(&gateway, "caller=ann&exchanges=1").await;
    let small = json!({"model": "demo-small", "messages": [{"role": "user", "content": "hello"}]});
    let other = Request::to(Protocol::Chat, small.to_string()).key(BOB);
    gateway.ask(&other).await;
    let secret = "sk-prompt-5d1e0f5ff1a8e0b2c3d4";
    let mut asked = Request::to(Protocol::Chat, body(secret)).header("Cookie", "session=canary-1");
    asked.target = "/v1/chat/completions?api-version=2&api_key=canary-2".into();
    let answer = gateway.ask(&asked).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let ended = async || {
        let capture = content(&gateway, &id).await;
        capture["exchanges"][0]["access_log"]
            .is_object()
            .then_some(capture)
    };
    let capture = eventually("the end of the exchange", ended).await;
    assert_eq!(capture["recording"], false, "{capture:#}");
    let exchanges = capture["exchanges"].as_array().unwrap();
    assert_eq!(exchanges.len(), 1, "{capture:#}");
    let exchange = &exchanges[0];
    assert_eq!(exchange["id"], answer.headers.get("x-request-id").unwrap());
    assert_eq!(step(exchange, "request")["method"], "POST");
    let target = step(exchange, "request")["target"].as_str().unwrap();
    assert!(target.contains("api-version=2"), "{target}");
    let sent = step(exchange, "request_body")["body"]["text"]
        .as_str()
        .unwrap();
    assert!(
        sent.contains("demo-large") && sent.contains("[secret]"),
        "{sent}"
    );
    let failed = step(exchange, "failed_attempt");
    assert_eq!(
        (&failed["channel"], &failed["error_code"]),
        (&json!("down"), &json!("upstream_unreachable"))
    );
    let steps = exchange["steps"].as_array().unwrap();
    let upstream = steps
        .iter()
        .rfind(|step| step["step"] == "upstream_request")
        .unwrap();
    assert_eq!(upstream["channel"], "openai");
    let rewritten = upstream["body"]["text"].as_str().unwrap();
    assert!(rewritten.contains("sim-large-2026-08"), "{rewritten}");
    assert_eq!(step(exchange, "upstream_response")["status"], 200);
    assert_eq!(step(exchange, "response")["status"], 200);
    let received = exchange["response_body"]["text"].as_str().unwrap();
    assert!(received.contains("data: "), "{received}");
    assert!(
        exchange["response_first_piece_ms"].as_f64() <= exchange["response_last_piece_ms"].as_f64()
    );
    assert_eq!(exchange["access_log"]["status"], 200);
    let text = capture.to_string();
    for secret in [
        ANN,
        CREDENTIALS[0],
        "sk-down",
        secret,
        "canary-1",
        "canary-2",
    ] {
        assert!(!text.contains(secret), "{secret} is in {capture:#}");
    }
    let audit = audit_lines(&gateway, 2).await;
    assert_eq!(
        audit[0],
        json!(["start_capture", "ann", "operator", "done", 200])
    );
    assert_eq!(audit[1][0], "read_capture");
}

#[tokio::test]
async fn a_capture_is_bounded_and_removed() {
    let (gateway, _simulator) = gateway().await;
    let id = start(&gateway, "caller=ann&bytes=2048&seconds=60").await;
    let findings = gateway.page("GET", "/findings").await.text();
    assert!(
        findings.contains("are captured in memory until"),
        "{findings}"
    );
    for _ in 0..5 {
        let large = "x".repeat(10_000);
        gateway
            .ask(&Request::to(Protocol::Chat, body(&large)))
            .await;
    }
    let capture = content(&gateway, &id).await;
    assert_eq!(capture["bytes_recorded"], 2048);
    assert_eq!(
        capture["exchanges"].as_array().unwrap().len(),
        1,
        "{capture:#}"
    );
    assert_eq!(
        step(&capture["exchanges"][0], "request_body")["body"]["is_cut"],
        true
    );
    let removed = gateway
        .page("POST", &format!("/captures/remove?id={id}"))
        .await;
    assert_eq!(removed.json(), json!({"captures": []}));
    // One that only time ends.
    let short = start(&gateway, "caller=ann&seconds=1").await;
    let is_over = async || {
        let capture = content(&gateway, &short).await;
        (capture["recording"] == false).then_some(())
    };
    eventually("the end of the recording", is_over).await;
    gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(content(&gateway, &short).await["exchanges"], json!([]));
}

#[tokio::test]
async fn captures_are_for_those_who_may_act_and_mistakes_are_explained() {
    let (gateway, _simulator) = gateway().await;
    for (method, path, status, words) in [
        ("POST", "/captures", 400, "expected the query `caller=NAME`"),
        ("POST", "/captures?caller=anm", 404, "did you mean `ann`?"),
        (
            "POST",
            "/captures?caller=ann&seconds=3601",
            400,
            "`seconds` must be a number from 1 to 3600",
        ),
        (
            "POST",
            "/captures?caller=ann&exchanges=x",
            400,
            "`exchanges` must be a number from 1 to 100",
        ),
        (
            "POST",
            "/captures?caller=ann&bytes=1",
            400,
            "`bytes` must be a number from 1024 to 16777216",
        ),
        ("GET", "/captures/content?id=cap_9", 404, "unknown capture"),
        ("POST", "/captures/remove?id=cap_9", 404, "unknown capture"),
    ] {
        let response = gateway.page(method, path).await;
        assert_eq!(response.status, status, "{path}: {}", response.text());
        assert!(
            response.text().contains(words),
            "{path}: {}",
            response.text()
        );
        let viewer = gateway.admin_request(method, path).key(VIEWER);
        assert_eq!(gateway.ask_admin(&viewer).await.status, 403, "{path}");
    }
    for _ in 0..4 {
        start(&gateway, "caller=ann").await;
    }
    let fifth = gateway.page("POST", "/captures?caller=ann").await;
    assert_eq!(fifth.status, 409, "{}", fifth.text());
    let list = gateway.admin_request("GET", "/captures").key(VIEWER);
    let list = gateway.ask_admin(&list).await.json();
    assert_eq!(list["captures"].as_array().unwrap().len(), 4, "{list}");
    assert_eq!(list["captures"][0].get("exchanges"), None);
}
