//! Tests of credentials that a provider refuses: their cool-down, and how operators are alerted.

use crate::harness::config::{self, CREDENTIALS, channel};
use crate::harness::{Gateway, Request, Simulator, TestSetup, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// The longest first cool-down of the only credential of a model, in seconds.
const FIRST: f64 = 2.0;

/// The log line about a refused credential of `channel`.
async fn warning(gateway: &Gateway, channel: &str) -> Value {
    eventually("the warning", async || {
        let lines = gateway.process.stderr.json();
        lines.into_iter().find(|line| {
            line["message"] == "provider refused a credential" && line["channel"] == channel
        })
    })
    .await
}

async fn refused(gateway: &Gateway, channel: &str, credential: &str) -> f64 {
    let labels = [("channel", channel), ("credential", credential)];
    gateway
        .metrics()
        .await
        .sum("headgate_credential_refused", &labels)
}

#[tokio::test]
async fn a_refused_key_that_alone_serves_a_model_is_tried_again_within_seconds() {
    for directives in ["status=401", "status=401; delay=100ms"] {
        let world = TestSetup::start().await;
        world.simulator.obey(directives).await;
        let chat = Request::ask(Protocol::Chat);
        assert_eq!(world.ask(&chat).await.status, 502);
        // The metric and the log report it at once.
        assert_eq!(refused(&world.gateway, "openai", "1").await, 1.0);
        let line = warning(&world.gateway, "openai").await;
        assert_eq!(
            (&line["level"], &line["credential"]),
            (&json!("WARN"), &json!(1)),
            "{line}"
        );
        let seconds = line["cool_down_seconds"].as_f64().unwrap();
        assert!((FIRST / 2.0..=FIRST).contains(&seconds), "{line}");
        let output = world.gateway.process.stderr.all().concat();
        assert!(!output.contains(CREDENTIALS[0]), "{output}");
        let metrics = world.gateway.metrics().await;
        let why = [("channel", "openai"), ("reason", "refused_credential")];
        assert_eq!(metrics.sum("headgate_cool_downs_total", &why), 1.0);

        let during = world.ask(&chat).await;
        if during.status == 503 {
            let wait: f64 = during.headers.get("retry-after").unwrap().parse().unwrap();
            assert!(wait <= FIRST, "{wait}");
        }
        world.simulator.obey("").await;
        let began = Instant::now();
        eventually("the model is served again", async || {
            (world.ask(&chat).await.status == 200).then_some(())
        })
        .await;
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(refused(&world.gateway, "openai", "1").await, 0.0);
        // After a success, the next cool-down is as short as the first.
        world.simulator.obey(directives).await;
        world.ask(&chat).await;
        let twice = eventually("the second warning", async || {
            let lines = world.gateway.process.stderr.json();
            let mut lines = lines
                .into_iter()
                .filter(|line| line["message"] == "provider refused a credential");
            lines
                .next_back()
                .filter(|last| last["time"] != line["time"])
        })
        .await;
        assert!(
            twice["cool_down_seconds"].as_f64() <= Some(2.0 * FIRST),
            "{twice}"
        );
    }
}

/// Starts a gateway with changed channels; returns the cool-down of the refused credential of `bad` in seconds.
async fn cool_down(directives: &str, change: impl FnOnce(&mut Value, &Value, &Value)) -> f64 {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    let bad = channel(
        &simulator.url_obeying(directives),
        &["chat"],
        json!({"bearer": "sk-bad-canary"}),
    );
    let mut good = channel(&simulator.url(), &["chat"], json!({"bearer": "sk-good"}));
    good["tier"] = 1.into();
    let channels = config["channels"].as_object_mut().unwrap();
    channels.remove("openai");
    config["channels"]["bad"] = bad.clone();
    change(&mut config, &bad, &good);
    let gateway = Gateway::start(&config).await;
    gateway.ask(&Request::ask(Protocol::Chat)).await;
    warning(&gateway, "bad").await["cool_down_seconds"]
        .as_f64()
        .unwrap()
}

#[tokio::test]
async fn the_first_cool_down_is_short_only_where_nothing_else_serves_a_model() {
    let long = 40.0..=60.0;
    let short = FIRST / 2.0..=FIRST;
    let refuse = "status=401";
    let alone = cool_down(refuse, |_, _, _| {}).await;
    assert!(short.contains(&alone), "alone: {alone}");
    let other_channel = cool_down(refuse, |config, _, good| {
        config["channels"]["good"] = good.clone();
    })
    .await;
    assert!(
        long.contains(&other_channel),
        "another channel: {other_channel}"
    );
    let other_key = cool_down(refuse, |config, _, _| {
        let bad = config["channels"]["bad"].as_object_mut().unwrap();
        bad.remove("credential");
        bad.insert(
            "credentials".into(),
            json!([{"bearer": "sk-one"}, {"bearer": "sk-two"}]),
        );
    })
    .await;
    assert!(long.contains(&other_key), "another key: {other_key}");
    let other_model = cool_down(refuse, |config, _, good| {
        // Only the bad channel serves the small model.
        let mut good = good.clone();
        good["models"].as_object_mut().unwrap().remove("demo-small");
        config["channels"]["good"] = good;
    })
    .await;
    assert!(short.contains(&other_model), "another model: {other_model}");
    let other_protocol = cool_down(refuse, |config, _, good| {
        let mut good = good.clone();
        good["protocols"] = json!(["responses"]);
        config["channels"]["good"] = good;
    })
    .await;
    assert!(
        short.contains(&other_protocol),
        "another protocol: {other_protocol}"
    );
    let retired = cool_down(refuse, |config, _, good| {
        let mut good = good.clone();
        good["retired"] = true.into();
        config["channels"]["good"] = good;
    })
    .await;
    assert!(short.contains(&retired), "a retired channel: {retired}");
    let as_configured = cool_down(refuse, |config, _, _| {
        config["channels"]["bad"]["health"] = json!({"credential_cool_down": "500ms"});
    })
    .await;
    assert!(as_configured <= 0.5, "as configured: {as_configured}");
}

#[tokio::test]
async fn of_two_refused_channels_the_last_is_tried_again_within_seconds() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config["channels"].as_object_mut().unwrap().remove("openai");
    for (tier, name) in ["first", "second"].into_iter().enumerate() {
        let mut refusing = channel(
            &simulator.url(),
            &["chat"],
            json!({"bearer": format!("sk-{name}")}),
        );
        refusing["tier"] = tier.into();
        config["channels"][name] = refusing;
    }
    let gateway = Gateway::start(&config).await;
    simulator.obey("status=401").await;
    let chat = Request::ask(Protocol::Chat);
    assert_eq!(gateway.ask(&chat).await.status, 502);
    assert!(warning(&gateway, "first").await["cool_down_seconds"].as_f64() > Some(40.0));
    assert!(warning(&gateway, "second").await["cool_down_seconds"].as_f64() <= Some(FIRST));
    simulator.obey("").await;
    let again = async || (gateway.ask(&chat).await.status == 200).then_some(());
    eventually("the model is served again", again).await;
}
