//! Tests of channel health on the admin page, in the gauge for alerts, and in `headgate explain --live`.

use crate::harness::config::{self, CREDENTIALS, channel};
use crate::harness::process::BINARY;
use crate::harness::{Gateway, Request, Simulator, body_of, eventually};
use headgate::protocol::Protocol;
use serde_json::{Value, json};
use std::process::{Command, Output};

const CHAT: &str = "/v1/chat/completions";

/// A gateway whose first channel is `busy` with `directives`, before the healthy `openai`.
async fn with_busy_channel(directives: &str, change: impl FnOnce(&mut Value)) -> Gateway {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    let url = simulator.url_obeying(directives);
    config["channels"]["openai"]["tier"] = 1.into();
    config["channels"]["busy"] = channel(&url, &["chat"], json!({"bearer": "sk-busy-canary-1"}));
    change(&mut config);
    let gateway = Gateway::start(&config).await;
    // The simulator must live as long as the test.
    std::mem::forget(simulator);
    gateway
}

async fn page(gateway: &Gateway) -> Value {
    let answer = gateway.page("GET", "/channels").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn named<'p>(page: &'p Value, list: &str, name: &str) -> &'p Value {
    let entries = page[list].as_array().unwrap();
    let found = entries.iter().find(|entry| entry["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {page:#}"))
}

async fn usable(gateway: &Gateway, channel: &str) -> Vec<f64> {
    let metrics = gateway.metrics().await;
    let samples = metrics.samples.into_iter();
    samples
        .filter(|sample| sample.name == "headgate_channel_usable")
        .filter(|sample| sample.labels["channel"] == channel)
        .map(|sample| sample.value)
        .collect()
}

fn explain(args: &[&str]) -> Output {
    Command::new(BINARY)
        .arg("explain")
        .args(args)
        .output()
        .unwrap()
}

#[tokio::test]
async fn a_cool_down_is_shown_with_reason_and_time() {
    let gateway = with_busy_channel("status=429;retry_after=600", |_| {}).await;
    let before = page(&gateway).await;
    let busy = named(&before, "channels", "busy");
    let expected = json!({
        "name": "busy", "tier": 0, "weight": 1, "retired": false, "usable": true, "standing": "well",
        "in_flight": 0, "limits_reached": [],
        "models": [
            {"name": "demo-large", "channel_model": "sim-large-2026-08", "standing": "well"},
            {"name": "demo-small", "channel_model": "sim-small-2026-08", "standing": "well"},
        ],
        "credentials": [{"place": 1, "standing": "well"}],
    });
    assert_eq!(*busy, expected);
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    let after = page(&gateway).await;
    let busy = named(&after, "channels", "busy");
    assert_eq!(
        (&busy["standing"], &busy["usable"]),
        (&json!("well"), &json!(true))
    );
    let large = named(busy, "models", "demo-large");
    assert_eq!(
        (&large["standing"], &large["why"]),
        (&json!("cooling"), &json!("rate_limited"))
    );
    let left = large["seconds_left"].as_f64().unwrap();
    assert!((1.0..=600.0).contains(&left), "{left}");
    assert_eq!(named(busy, "models", "demo-small")["standing"], "well");
    let candidates = &named(&after, "models", "demo-large")["candidates"];
    let first = &candidates[0];
    assert_eq!(
        (&first["channel"], &first["usable"]),
        (&json!("busy"), &json!(false))
    );
    let reason = first["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("model cooling down (rate_limited), "),
        "{reason}"
    );
    for other in &candidates.as_array().unwrap()[1..] {
        assert_eq!(other["usable"], true, "{other}");
        assert!(other.get("reason").is_none(), "{other}");
    }
}

#[tokio::test]
async fn a_refused_credential_is_shown_by_its_index() {
    let gateway = with_busy_channel("status=401", |config| {
        let busy = config["channels"]["busy"].as_object_mut().unwrap();
        busy.remove("credential");
        let keys = json!([{"bearer": "sk-busy-canary-1"}, {"bearer": "sk-busy-canary-2"}]);
        busy.insert("credentials".into(), keys);
    })
    .await;
    assert_eq!(usable(&gateway, "busy").await, [1.0]);
    for _ in 0..2 {
        assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    }
    let page = page(&gateway).await;
    let busy = named(&page, "channels", "busy");
    for (place, key) in busy["credentials"].as_array().unwrap().iter().enumerate() {
        assert_eq!(key["place"], place + 1);
        assert_eq!(
            (&key["standing"], &key["why"]),
            (&json!("cooling"), &json!("refused_credential"))
        );
    }
    assert_eq!(busy["usable"], false);
    assert_eq!(usable(&gateway, "busy").await, [0.0]);
    assert_eq!(usable(&gateway, "openai").await, [1.0]);
    let text = page.to_string();
    for secret in [CREDENTIALS[0], CREDENTIALS[1], "sk-busy-canary"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[tokio::test]
async fn a_channel_that_is_full_says_which_limit_it_has_reached() {
    let gateway = with_busy_channel("pace=20ms;events=100", |config| {
        config["channels"]["busy"]["limits"] = json!({"in_flight": 1, "requests_per_minute": 2});
    })
    .await;
    let mut reply = gateway.open(&Request::ask_stream(Protocol::Chat)).await;
    reply.until("data:").await;
    let during = page(&gateway).await;
    let busy = named(&during, "channels", "busy");
    assert_eq!(
        (&busy["in_flight"], &busy["usable"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(busy["limits_reached"], json!(["in_flight"]));
    let first = &named(&during, "models", "demo-large")["candidates"][0];
    assert_eq!(first["reason"], "at its limit `in_flight`");
    assert_eq!(usable(&gateway, "busy").await, [0.0]);
    assert!(reply.rest().await.whole);
    eventually("room", async || {
        (usable(&gateway, "busy").await == [1.0]).then_some(())
    })
    .await;
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    eventually("the other limit", async || {
        let page = page(&gateway).await;
        let reached = &named(&page, "channels", "busy")["limits_reached"];
        (*reached == json!(["requests_per_minute"])).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_removed_channel_disappears_from_the_metrics() {
    let mut kept = Value::Null;
    let gateway = with_busy_channel("", |config| kept = config.clone()).await;
    assert_eq!(usable(&gateway, "busy").await, [1.0]);
    kept["channels"].as_object_mut().unwrap().remove("busy");
    gateway.folder.write("routes.yaml", kept.to_string());
    assert_eq!(gateway.page("POST", "/reload").await.status, 200);
    assert_eq!(usable(&gateway, "busy").await, [0.0; 0]);
    assert_eq!(usable(&gateway, "openai").await, [1.0]);
    assert_eq!(gateway.page("POST", "/channels").await.status, 405);
}

#[tokio::test]
async fn explain_asks_the_running_gateway_what_is_usable_now() {
    let gateway = with_busy_channel("status=429;retry_after=600", |_| {}).await;
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    let file = gateway.folder.path().join("routes.yaml");
    let file = file.to_str().unwrap();
    let body = body_of(Protocol::Chat).to_string();
    let admin = format!("http://{}", gateway.admin);
    let said = explain(&[CHAT, "-c", file, "-d", &body, "--live", &admin]);
    let text = String::from_utf8(said.stdout).unwrap();
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    let now: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("   now      "))
        .collect();
    assert!(
        now[0].starts_with("not usable: model cooling down (rate_limited), "),
        "{text}"
    );
    assert_eq!(now[1..], ["usable"], "{text}");
    assert!(
        text.contains(&format!("gateway   {}, revision ", gateway.admin)),
        "{text}"
    );
    // Another file, in which `server.admin` is set, and a channel that the gateway does not have.
    let mut other: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    other["server"]["admin"] = gateway.admin.to_string().into();
    other["channels"]["new"] = other["channels"]["busy"].clone();
    let other = gateway.folder.write("other.yaml", other.to_string());
    let said = explain(&[CHAT, "-c", other.to_str().unwrap(), "-d", &body, "--live"]);
    let text = String::from_utf8(said.stdout).unwrap();
    assert!(
        text.contains("now      unknown to the running gateway"),
        "{text}"
    );
    assert!(text.contains("(this file is "), "{text}");
}

#[tokio::test]
async fn explain_says_so_where_no_gateway_answers() {
    let gateway = with_busy_channel("", |_| {}).await;
    let file = gateway.folder.path().join("routes.yaml");
    let (file, body) = (file.to_str().unwrap(), body_of(Protocol::Chat).to_string());
    let kept = tokio::net::TcpSocket::new_v4().unwrap();
    kept.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = format!("http://{}", kept.local_addr().unwrap());
    let another = format!("http://{}", gateway.address);
    for (live, told) in [
        (
            vec!["--live", &nobody],
            "error: cannot reach the admin pages at ",
        ),
        (
            vec!["--live", &another],
            "is not an admin page of this version of headgate: HTTP/1.1 404",
        ),
        (vec!["--live"], "`server.admin` has port 0"),
        (vec!["--live", "/v1/models"], "put --live after the path"),
    ] {
        let args = [&[CHAT, "-c", file, "-d", &body], live.as_slice()].concat();
        let said = explain(&args);
        let text = String::from_utf8(said.stderr).unwrap();
        assert!(
            !said.status.success() && text.contains(told),
            "{live:?}: {text}"
        );
    }
}
