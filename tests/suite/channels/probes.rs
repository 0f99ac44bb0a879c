//! Tests of active probes: the gateway itself finds that a provider has recovered.

use crate::harness::closed_port::ClosedPort;
use crate::harness::config::{self, channel};
use crate::harness::{Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 66\r\n\r\n{\"object\":\"chat.completion\",\"choices\":[],\"usage\":null,\"data\":[  ]}";

/// The provider of a port that was closed.
fn comes_back(down: ClosedPort) -> ScriptedProvider {
    let acts = vec![ScriptedResponse::Send(ANSWER.into())];
    ScriptedProvider::on(down.listen(), acts)
}

/// A gateway with a channel `probed` of tier 0 and a good one of tier 1.
async fn gateway_with(url: &str, good: &Simulator, health: Value) -> Gateway {
    gateway_over("auto", url, good, health).await
}

async fn gateway_over(http: &str, url: &str, good: &Simulator, health: Value) -> Gateway {
    let mut config = config::standard(&good.url());
    config["channels"]["openai"]["tier"] = 1.into();
    let mut probed = channel(url, &["chat"], json!({"bearer": "sk-probed"}));
    probed["health"] = health;
    probed["http"] = http.into();
    config["channels"]["probed"] = probed;
    Gateway::start(&config).await
}

fn health(probe: Option<Value>) -> Value {
    let mut health =
        json!({"consecutive_failures": 1, "cool_down": "100ms", "credential_cool_down": "1h"});
    if let Some(probe) = probe {
        health["probe"] = probe;
    }
    health
}

async fn probed(gateway: &Gateway) -> Value {
    let page = gateway.page("GET", "/channels").await.json();
    let channels = page["channels"].as_array().unwrap();
    let found = channels.iter().find(|channel| channel["name"] == "probed");
    found.unwrap().clone()
}

async fn has_status(gateway: &Gateway, status: &str) {
    eventually(status, async || {
        (probed(gateway).await["status"] == status).then_some(())
    })
    .await;
}

async fn probes(gateway: &Gateway, outcome: &str) -> f64 {
    let labels = [("channel", "probed"), ("outcome", outcome)];
    let metrics = gateway.metrics().await;
    metrics.sum("headgate_probes_total", &labels)
}

/// The channel that responded, and the number of attempts.
async fn answered_by(gateway: &Gateway) -> (Value, Value) {
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let line = gateway.log_of(&answer).await;
    (line["channel"].clone(), line["attempts"].clone())
}

#[tokio::test]
async fn a_provider_that_comes_back_is_used_again_and_no_request_had_to_try_it() {
    let (down, good) = (ClosedPort::new(), Simulator::start().await);
    let probe = json!({"interval": "200ms", "timeout": "2s"});
    let gateway = gateway_with(&down.url(), &good, health(Some(probe))).await;
    has_status(&gateway, "cooling_down").await;
    assert_eq!(probed(&gateway).await["reason"], "connect_error");
    // Far longer than the cool-down: without probes the channel would be tried again.
    for _ in 0..10 {
        assert_eq!(answered_by(&gateway).await, (json!("openai"), json!(1)));
        sleep(Duration::from_millis(100)).await;
    }
    let back = comes_back(down);
    has_status(&gateway, "healthy").await;
    assert_eq!(answered_by(&gateway).await, (json!("probed"), json!(1)));
    let first = back.requests().remove(0);
    assert!(first.starts_with("GET /v1/models HTTP/1.1\r\n"), "{first}");
    let head = first.to_ascii_lowercase();
    assert!(
        head.contains("authorization: bearer sk-probed\r\n"),
        "{first}"
    );
    let metrics = gateway.metrics().await;
    let cool_downs = [("channel", "probed")];
    assert_eq!(metrics.sum("headgate_cool_downs_total", &cool_downs), 1.0);
    assert!(probes(&gateway, "connect_error").await >= 2.0);
    assert!(probes(&gateway, "success").await >= 1.0);
}

#[tokio::test]
async fn a_channel_in_cool_down_is_probed_more_often() {
    let (down, good) = (ClosedPort::new(), Simulator::start().await);
    let mut health = health(Some(json!({"interval": "1h"})));
    health["cool_down_max"] = "200ms".into();
    let gateway = gateway_with(&down.url(), &good, health).await;
    has_status(&gateway, "cooling_down").await;
    let _back = comes_back(down);
    has_status(&gateway, "healthy").await;
    assert_eq!(answered_by(&gateway).await, (json!("probed"), json!(1)));
}

#[tokio::test]
async fn without_a_probe_a_request_tries_it() {
    let (down, good) = (ClosedPort::new(), Simulator::start().await);
    let gateway = gateway_with(&down.url(), &good, health(None)).await;
    assert_eq!(answered_by(&gateway).await, (json!("openai"), json!(2)));
    has_status(&gateway, "half_open").await;
    assert_eq!(answered_by(&gateway).await, (json!("openai"), json!(2)));
    assert_eq!(probes(&gateway, "connect_error").await, 0.0);
}

#[tokio::test]
async fn a_probe_response_counts_for_the_channel_or_the_credential() {
    for (directives, outcome, whole, key) in [
        ("", "success", "healthy", "healthy"),
        ("status=404", "success", "healthy", "healthy"),
        ("status=429", "rate_limited", "healthy", "healthy"),
        ("status=500", "server_error", "cooling_down", "healthy"),
        ("stall", "timeout", "cooling_down", "healthy"),
        ("cut", "success", "healthy", "healthy"),
        ("status=401", "refused_credential", "healthy", "unhealthy"),
        ("status=403", "refused_credential", "healthy", "unhealthy"),
    ] {
        let (provider, good) = (Simulator::start().await, Simulator::start().await);
        let probe = json!({"interval": "1h", "timeout": "1s"});
        let gateway = gateway_with(
            &provider.url_obeying(directives),
            &good,
            health(Some(probe)),
        )
        .await;
        eventually("a probe", async || {
            let count = gateway.metrics().await.sum("headgate_probes_total", &[]);
            (count > 0.0).then_some(())
        })
        .await;
        assert_eq!(probes(&gateway, outcome).await, 1.0, "{directives}");
        let channel = probed(&gateway).await;
        let reported = (&channel["status"], &channel["credentials"][0]["status"]);
        assert_eq!(
            reported,
            (&json!(whole), &json!(key)),
            "{directives}: {channel}"
        );
        let refused = gateway
            .metrics()
            .await
            .sum("headgate_credential_refused", &[]);
        assert_eq!(refused > 0.0, key == "unhealthy", "{directives}");
    }
}

#[tokio::test]
async fn a_refused_key_that_is_mended_is_found_by_a_probe() {
    let (provider, good) = (Simulator::start().await, Simulator::start().await);
    let mut health = health(Some(json!({"interval": "100ms"})));
    health["credential_cool_down"] = "300ms".into();
    let url = provider.url_obeying("status=401;times=2");
    let gateway = gateway_with(&url, &good, health).await;
    eventually("the key", async || {
        let refused = probes(&gateway, "refused_credential").await;
        (refused == 2.0 && probes(&gateway, "success").await >= 1.0).then_some(())
    })
    .await;
    let metrics = gateway.metrics().await;
    assert_eq!(metrics.sum("headgate_credential_refused", &[]), 0.0);
    assert_eq!(answered_by(&gateway).await, (json!("probed"), json!(1)));
}

#[tokio::test]
async fn probes_follow_each_other_over_both_versions_of_http() {
    let good = Simulator::start().await;
    for http in ["http1", "http2"] {
        let provider = Simulator::start().await;
        let health = health(Some(json!({"interval": "100ms"})));
        let gateway = gateway_over(http, &provider.url(), &good, health).await;
        eventually("probes", async || {
            (probes(&gateway, "success").await >= 5.0).then_some(())
        })
        .await;
        let metrics = gateway.metrics().await;
        let sum = |labels: &[_]| metrics.sum("headgate_probes_total", labels);
        assert_eq!(sum(&[]), sum(&[("outcome", "success")]), "{http}");
        let record = provider.last().await;
        assert_eq!(
            record["headers"]["host"].is_null(),
            http == "http2",
            "{record}"
        );
    }
}

#[tokio::test]
async fn probes_begin_change_and_end_with_a_reload() {
    let (provider, good) = (Simulator::start().await, Simulator::start().await);
    let gateway = gateway_with(&provider.url(), &good, health(None)).await;
    let file = gateway.folder.path().join("routes.yaml");
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut reload = async |probe: Option<Value>| {
        config["channels"]["probed"]["health"] = health(probe);
        gateway.folder.write("routes.yaml", config.to_string());
        assert_eq!(gateway.page("POST", "/reload").await.status, 200);
    };
    let well = async || probes(&gateway, "success").await;
    sleep(Duration::from_millis(700)).await;
    assert_eq!(well().await, 0.0);
    reload(Some(json!({"interval": "1h"}))).await;
    eventually("a first probe", async || {
        (well().await == 1.0).then_some(())
    })
    .await;
    reload(Some(json!({"interval": "100ms"}))).await;
    eventually("more of them", async || (well().await > 3.0).then_some(())).await;
    reload(None).await;
    eventually("no more of them", async || {
        let before = well().await;
        sleep(Duration::from_millis(700)).await;
        (well().await == before).then_some(())
    })
    .await;
    let records = provider.records().await;
    assert!(
        records.iter().all(|record| record["path"] == "/v1/models"),
        "{records:?}"
    );
}
