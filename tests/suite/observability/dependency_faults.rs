//! Tests of findings about what the gateway depends on: services, plugins, receivers, names, certificates, Redis.

use crate::harness::admin::PROVIDER;
use crate::harness::caching::insert_step;
use crate::harness::config::{self, channel, without_cool_downs};
use crate::harness::plugins::{declare_plugin, folder_with_plugin};
use crate::harness::receiver::{CallbackSetup, respond};
use crate::harness::request::BOB;
use crate::harness::service::{add_service, call_on_requests};
use crate::harness::video::GENERIC;
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Fails at its first request.
const TRAP: &str = r#"
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) unreachable)"#;

async fn findings(gateway: &Gateway) -> Vec<Value> {
    let page = gateway.page("GET", "/findings").await.json();
    page["findings"].as_array().unwrap().clone()
}

/// The cause and the severity of the finding with this code and subject, once there is one.
async fn finding(gateway: &Gateway, code: &str, subject: &str) -> (String, String) {
    let look = async || {
        let findings = findings(gateway).await.into_iter();
        let mut meant = findings.filter(|one| one["code"] == code && one["subject"] == subject);
        meant.next()
    };
    let found = eventually(&format!("{code} about {subject}"), look).await;
    assert!(!found["advice"].as_str().unwrap().is_empty());
    let text = |key: &str| found[key].as_str().unwrap().to_owned();
    (text("cause"), text("severity"))
}

#[tokio::test]
async fn a_service_that_is_down_is_the_cause_of_refused_requests() {
    let service = ScriptedProvider::start(vec![ScriptedResponse::Close]).await;
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    let breaker = json!({"consecutive_failures": 0});
    add_service(&mut config, &service, json!({"breaker": breaker}));
    let settings = json!({"send": {"fields": ["/messages"]}, "on_failure": "deny"});
    call_on_requests(&mut config, "chat", settings);
    let gateway = Gateway::start(&config).await;
    for _ in 0..24 {
        assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 503);
    }
    let (cause, severity) = finding(&gateway, "service_failing", "service moderation").await;
    assert!(
        cause.contains("24 of 24 calls of service `moderation` failed")
            && cause.contains("`connection_closed`"),
        "{cause}"
    );
    assert_eq!(severity, "warning");
    let (cause, _) = finding(&gateway, "gateway_errors", "requests").await;
    assert!(
        cause.ends_with("failed because of service moderation."),
        "{cause}"
    );
}

#[tokio::test]
async fn a_plugin_that_fails_and_copies_that_fail_are_named() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    without_cool_downs(&mut config);
    declare_plugin(&mut config, "tested", json!({}));
    let filter = json!({"plugin": {"use": "tested", "on_failure": "allow"}});
    let chain = &mut config::route(&mut config, "chat")["request"];
    chain.as_array_mut().unwrap().push(filter);
    let mut copies = channel(PROVIDER, &["messages"], json!({"bearer": "sk-copies"}));
    copies["tier"] = json!(9);
    copies["models"] = json!({"demo-large": "copy-large"});
    copies["health"] = json!({"consecutive_failures": 0});
    config["channels"]["copies"] = copies;
    insert_step(
        &mut config,
        "messages",
        json!({"mirror": {"channel": "copies"}}),
    );
    let folder = folder_with_plugin("tested", TRAP);
    let gateway = Gateway::start_in(folder, &format!("{config:#}")).await;
    for protocol in [Protocol::Chat, Protocol::Messages] {
        for _ in 0..4 {
            assert_eq!(gateway.ask(&Request::ask(protocol)).await.status, 200);
        }
    }
    let (cause, severity) = finding(&gateway, "plugin_failing", "plugin tested").await;
    assert!(cause.contains("Plugin `tested` "), "{cause}");
    assert_eq!(severity, "warning");
    let (cause, severity) = finding(&gateway, "copies_failing", "route messages").await;
    assert!(
        cause.contains("4 of 4 copies") && cause.contains("`failed`"),
        "{cause}"
    );
    assert_eq!(severity, "notice");
}

#[tokio::test]
async fn a_receiver_that_is_down_is_named_with_its_caller_and_the_error_until_it_accepts_an_event()
{
    let setup = CallbackSetup::start("queue=2s;run=5m").await;
    setup.receiver.0.next(respond("500 Internal Server Error"));
    setup.create(GENERIC, "demo-video-a").await;
    let receiver = format!("receiver {}", setup.receiver.0.address);
    let (cause, severity) = finding(&setup.gateway, "receiver_failing", &receiver).await;
    assert!(
        cause.contains("caller `ann`") && cause.contains("the receiver responded 500"),
        "{cause}"
    );
    assert_eq!(severity, "warning");
    eventually("the end of the finding", async || {
        let findings = findings(&setup.gateway).await;
        let is_failing = |one: &Value| one["code"] == "receiver_failing";
        (!findings.iter().any(is_failing)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_cause_of_a_missing_connection_is_in_the_sentence() {
    let simulator = Simulator::start().await;
    let plain = simulator.url().replace("http://", "https://");
    for (url, words) in [
        (
            "http://nowhere.invalid/v1",
            "its name could not be resolved (DNS)",
        ),
        ("http://127.0.0.1:9/v1", "its host refuses connections"),
        (&*plain, "the TLS handshake failed"),
    ] {
        let mut config = config::standard(&simulator.url());
        config["channels"]["down"] = channel(url, &["chat"], json!({"bearer": "sk-down"}));
        config["channels"]["down"]["health"] =
            json!({"consecutive_failures": 1, "cool_down": "60s"});
        config["channels"]["openai"]["tier"] = 1.into();
        let gateway = Gateway::start(&config).await;
        assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
        let (cause, _) = finding(&gateway, "unhealthy", "channel down").await;
        assert!(cause.contains(words), "{url}: {cause}");
        if url.contains("nowhere") {
            let (cause, _) = finding(&gateway, "dns_failing", "host nowhere.invalid").await;
            assert!(cause.contains("`nowhere.invalid`"), "{cause}");
        }
    }
}

#[tokio::test]
async fn a_channel_that_nobody_tests_after_its_cool_down_is_a_notice() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config["channels"]["openai"]["health"] = json!({"consecutive_failures": 1, "cool_down": "1s"});
    let gateway = Gateway::start(&config).await;
    gateway
        .ask(&Request::ask(Protocol::Chat).simulate("status=500"))
        .await;
    let is_notice = async || {
        let findings = findings(&gateway).await;
        let about = |one: &&Value| one["code"] == "unhealthy";
        let found = findings.iter().find(about)?;
        (found["severity"] == "notice").then(|| found["cause"].to_string())
    };
    let cause = eventually("a notice", is_notice).await;
    assert!(cause.contains("is tested by its next request"), "{cause}");
}

#[tokio::test]
async fn a_model_whose_requests_are_all_refused_is_named_if_several_callers_get_that() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&config::standard(&simulator.url())).await;
    let small = json!({"model": "demo-small", "messages": [{"role": "user", "content": "hello"}]});
    let refused = Request::to(Protocol::Chat, small.to_string()).simulate("status=400");
    for _ in 0..30 {
        assert_eq!(gateway.ask(&refused).await.status, 400);
    }
    // One caller may send what no provider accepts.
    let codes = findings(&gateway).await;
    assert!(
        codes.iter().all(|one| one["code"] != "model_refused"),
        "{codes:?}"
    );
    assert_eq!(gateway.ask(&refused.key(BOB)).await.status, 400);
    let subject = "model demo-small on channel openai";
    let (cause, severity) = finding(&gateway, "model_refused", subject).await;
    assert!(
        cause.contains("refused all 31 requests") && cause.contains("`demo-small`"),
        "{cause}"
    );
    assert_eq!(severity, "warning");
}
