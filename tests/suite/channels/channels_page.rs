//! Tests of channel health on the admin page and in the gauges for alerts.

use crate::harness::config::{self, CREDENTIALS, channel};
use crate::harness::{Gateway, Request, Simulator, eventually};
use chrono::{DateTime, Utc};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::SystemTime;

/// A gateway whose first channel is `busy` with `directives`, before the healthy `openai`; and their simulator.
pub(super) async fn with_busy_channel(
    directives: &str,
    change: impl FnOnce(&mut Value),
) -> (Gateway, Simulator) {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    let url = simulator.url_obeying(directives);
    config["channels"]["openai"]["tier"] = 1.into();
    config["channels"]["busy"] = channel(&url, &["chat"], json!({"bearer": "sk-busy-canary-1"}));
    change(&mut config);
    let gateway = Gateway::start(&config).await;
    (gateway, simulator)
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
    gauges(gateway, "headgate_channel_usable", ("channel", channel)).await
}

async fn available(gateway: &Gateway, model: &str) -> Vec<f64> {
    gauges(gateway, "headgate_model_available", ("model", model)).await
}

async fn gauges(gateway: &Gateway, name: &str, (label, value): (&str, &str)) -> Vec<f64> {
    let metrics = gateway.metrics().await;
    let samples = metrics.samples.into_iter();
    samples
        .filter(|sample| sample.name == name && sample.labels[label] == value)
        .map(|sample| sample.value)
        .collect()
}

/// Parses a time, which must be RFC 3339 in UTC with milliseconds.
fn time(value: &Value) -> DateTime<Utc> {
    let text = value.as_str().unwrap_or_else(|| panic!("no time: {value}"));
    assert_eq!(
        (text.len(), &text[19..20], &text[23..]),
        (24, ".", "Z"),
        "{text}"
    );
    text.parse().unwrap()
}

/// `entry` without its times and its last error, which vary.
fn without_times(entry: &Value) -> Value {
    let mut entry = entry.clone();
    let fields = entry.as_object_mut().unwrap();
    fields.retain(|name, _| !["since", "until", "last_error"].contains(&name.as_str()));
    entry
}

#[tokio::test]
async fn a_channel_that_was_not_used_yet_is_healthy_and_has_no_rates() {
    let (gateway, _simulator) = with_busy_channel("", |_| {}).await;
    let page = page(&gateway).await;
    let expected = json!({
        "name": "busy", "tier": 0, "weight": 1, "retired": false, "usable": true, "drained": false, "status": "healthy",
        "in_flight": 0, "limits_reached": [], "sole_channel_of": [],
        "models": [
            {"name": "demo-large", "channel_model": "sim-large-2026-08", "status": "healthy", "attempts": 0},
            {"name": "demo-small", "channel_model": "sim-small-2026-08", "status": "healthy", "attempts": 0},
        ],
        "credentials": [{"index": 1, "status": "healthy"}],
    });
    assert_eq!(*named(&page, "channels", "busy"), expected);
    let model = named(&page, "models", "demo-large");
    let expected = json!({"channel": "busy", "channel_model": "sim-large-2026-08", "usable": true, "status": "healthy"});
    assert_eq!(
        (&model["available"], &model["candidates"][0]),
        (&json!(true), &expected)
    );
}

#[tokio::test]
async fn a_cool_down_of_one_model_is_shown_with_reason_and_times_and_leaves_the_others_alone() {
    let (gateway, _simulator) = with_busy_channel("status=429;retry_after=600", |_| {}).await;
    let began = DateTime::<Utc>::from(SystemTime::now());
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200);
    let page = page(&gateway).await;
    let busy = named(&page, "channels", "busy");
    assert_eq!(
        (&busy["status"], &busy["usable"], &busy["last_error"]),
        (&json!("healthy"), &json!(true), &Value::Null)
    );
    let small = named(busy, "models", "demo-small");
    assert_eq!(
        (&small["status"], &small["last_error"]),
        (&json!("healthy"), &Value::Null)
    );

    let large = named(busy, "models", "demo-large");
    let expected = json!({
        "name": "demo-large", "channel_model": "sim-large-2026-08",
        "status": "cooling_down", "reason": "rate_limited", "attempts": 1, "success_rate": 0.0,
    });
    assert_eq!(without_times(large), expected);
    let (since, until) = (time(&large["since"]), time(&large["until"]));
    assert!((since - began).num_milliseconds() >= -1, "{large}");
    assert_eq!((until - since).num_seconds(), 600, "{large}");
    let last = &large["last_error"];
    assert!((time(&last["at"]) - since).num_seconds() < 5, "{large}");
    let id = answer.headers.get("x-request-id").unwrap();
    assert_eq!(
        (&last["outcome"], &last["status"], &last["id"]),
        (&json!("rate_limited"), &json!(429), &json!(id))
    );

    let model = named(&page, "models", "demo-large");
    assert_eq!(model["available"], true);
    let first = &model["candidates"][0];
    let shown = ["channel", "usable", "status", "reason", "until"].map(|field| &first[field]);
    let expected = [
        &json!("busy"),
        &json!(false),
        &json!("cooling_down"),
        &json!("rate_limited"),
        &large["until"],
    ];
    assert_eq!(shown, expected);
    let detail = first["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("model cooling down (rate_limited), "),
        "{detail}"
    );
    for other in &model["candidates"].as_array().unwrap()[1..] {
        assert_eq!(
            (&other["usable"], &other["status"]),
            (&json!(true), &json!("healthy"))
        );
        assert!(other.get("detail").is_none(), "{other}");
    }
    assert_eq!(named(&page, "models", "demo-small")["available"], true);
}

#[tokio::test]
async fn a_model_that_no_channel_can_serve_now_is_not_available_and_the_others_are() {
    let (gateway, _simulator) = with_busy_channel("status=429;retry_after=600", |config| {
        let channels = config["channels"].as_object_mut().unwrap();
        channels.retain(|name, _| name == "busy");
    })
    .await;
    assert_eq!(available(&gateway, "demo-large").await, [1.0]);
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 429);
    let page = page(&gateway).await;
    for (name, is_available) in [("demo-large", false), ("demo-small", true)] {
        let model = named(&page, "models", name);
        let by_chat = model["candidates"].as_array().unwrap().iter();
        let usable = by_chat.filter(|candidate| candidate["usable"] == true);
        assert_eq!(usable.count() > 0, is_available, "{model:#}");
        assert_eq!(model["available"], is_available, "{model:#}");
        let gauge = f64::from(u8::from(is_available));
        assert_eq!(available(&gateway, name).await, [gauge], "{name}");
    }
}

#[tokio::test]
async fn a_model_is_half_open_after_its_cool_down_and_healthy_after_a_success() {
    let (gateway, _simulator) = with_busy_channel("status=500;times=1", |config| {
        config["channels"]["busy"]["health"] =
            json!({"consecutive_failures": 1, "cool_down": "100ms"});
    })
    .await;
    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    let large = async || {
        let page = page(&gateway).await;
        let model = named(named(&page, "channels", "busy"), "models", "demo-large");
        let candidate = &named(&page, "models", "demo-large")["candidates"][0];
        (model.clone(), candidate.clone())
    };
    let (model, candidate) = eventually("half open", async || {
        let (model, candidate) = large().await;
        (model["status"] == "half_open").then_some((model, candidate))
    })
    .await;
    assert_eq!(
        (&model["reason"], &model["until"]),
        (&json!("server_error"), &Value::Null)
    );
    time(&model["since"]);
    assert_eq!(
        (&candidate["status"], &candidate["usable"]),
        (&json!("half_open"), &json!(true))
    );

    assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    let (model, candidate) = large().await;
    for entry in [&model, &candidate] {
        assert_eq!(entry["status"], "healthy", "{entry}");
        for field in ["reason", "since", "until"] {
            assert!(entry.get(field).is_none(), "{entry}");
        }
    }
    let last = &model["last_error"];
    assert_eq!(
        (&last["outcome"], &last["status"]),
        (&json!("server_error"), &json!(500))
    );
}

#[tokio::test]
async fn success_rate_and_latency_are_those_of_the_attempts_on_a_model() {
    let (gateway, _simulator) = with_busy_channel("status=500;times=2", |config| {
        config["channels"]["busy"]["health"] = json!({"consecutive_failures": 0});
        let url = &mut config["channels"]["openai"]["base_url"];
        *url = url
            .as_str()
            .unwrap()
            .replace("/v1", "/~delay=200ms/v1")
            .into();
    })
    .await;
    for _ in 0..8 {
        assert_eq!(gateway.ask(&Request::ask(Protocol::Chat)).await.status, 200);
    }
    let attempts = |page: &Value, channel: &str| {
        named(named(page, "channels", channel), "models", "demo-large")["attempts"].clone()
    };
    // An attempt is counted when its response has ended, which may be after the caller has it.
    let page = eventually("all attempts", async || {
        let page = page(&gateway).await;
        (attempts(&page, "busy") == 8 && attempts(&page, "openai") == 2).then_some(page)
    })
    .await;
    let shown = |channel: &str, name: &str| {
        named(named(&page, "channels", channel), "models", name).clone()
    };
    let large = shown("busy", "demo-large");
    assert_eq!(
        (&large["status"], &large["attempts"], &large["success_rate"]),
        (&json!("healthy"), &json!(8), &json!(0.75)),
    );
    let slow = shown("openai", "demo-large");
    assert_eq!(
        (&slow["attempts"], &slow["success_rate"]),
        (&json!(2), &json!(1.0))
    );
    for model in [&large, &slow] {
        let [p50, p95] = ["p50", "p95"].map(|name| model["latency_ms"][name].as_u64().unwrap());
        assert!(p50 <= p95, "{model}");
    }
    // The latency has an error of at most an eighth.
    assert!(slow["latency_ms"]["p50"].as_u64().unwrap() >= 175, "{slow}");
    assert_eq!(shown("busy", "demo-small")["attempts"], 0);
}

#[tokio::test]
async fn a_refused_credential_is_unhealthy_and_shown_by_its_index() {
    let (gateway, _simulator) = with_busy_channel("status=401", |config| {
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
    for (place, credential) in busy["credentials"].as_array().unwrap().iter().enumerate() {
        let expected =
            json!({"index": place + 1, "status": "unhealthy", "reason": "refused_credential"});
        assert_eq!(without_times(credential), expected);
        assert!(time(&credential["since"]) < time(&credential["until"]));
        assert_eq!(credential["last_error"]["status"], 401);
    }
    let candidate = &named(&page, "models", "demo-large")["candidates"][0];
    assert_eq!(
        (
            &candidate["channel"],
            &candidate["status"],
            &candidate["reason"]
        ),
        (
            &json!("busy"),
            &json!("unhealthy"),
            &json!("refused_credential")
        )
    );
    assert_eq!(busy["usable"], false);
    assert_eq!(usable(&gateway, "busy").await, [0.0]);
    assert_eq!(usable(&gateway, "openai").await, [1.0]);
    let text = page.to_string();
    for secret in [CREDENTIALS[0], CREDENTIALS[1], "sk-busy-canary"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[tokio::test]
async fn the_page_names_the_limit_that_a_channel_has_reached() {
    let (gateway, _simulator) = with_busy_channel("pace=20ms;events=100", |config| {
        config["channels"]["busy"]["limits"] = json!({"concurrent": 1, "requests_per_minute": 2});
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
    assert_eq!(busy["limits_reached"], json!(["concurrent"]));
    let first = &named(&during, "models", "demo-large")["candidates"][0];
    let shown = ["status", "reason", "detail"].map(|field| first[field].as_str().unwrap());
    assert_eq!(shown, ["healthy", "at_limit", "at its limit `concurrent`"]);
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
    let (gateway, _simulator) = with_busy_channel("", |config| kept = config.clone()).await;
    assert_eq!(usable(&gateway, "busy").await, [1.0]);
    kept["channels"].as_object_mut().unwrap().remove("busy");
    gateway.folder.write("routes.yaml", kept.to_string());
    assert_eq!(gateway.page("POST", "/reload").await.status, 200);
    assert_eq!(usable(&gateway, "busy").await, [0.0; 0]);
    assert_eq!(usable(&gateway, "openai").await, [1.0]);
    assert_eq!(gateway.page("POST", "/channels").await.status, 405);
}

#[tokio::test]
async fn a_channel_names_what_no_other_channel_can_serve() {
    let (gateway, _simulator) = with_busy_channel("", |config| {
        config["server"]["admin_keys"] = config::admin_keys();
    })
    .await;
    let sole = async |name: &str| {
        named(&page(&gateway).await, "channels", name)["sole_channel_of"].clone()
    };
    let of = |protocols: &[&str]| {
        json!([
            {"model": "demo-large", "protocols": protocols},
            {"model": "demo-small", "protocols": protocols},
        ])
    };
    assert_eq!(sole("busy").await, json!([]));
    assert_eq!(sole("openai").await, of(&["responses"]));
    assert_eq!(sole("messages").await, of(&["messages"]));
    gateway.page("POST", "/channels/drain?channel=openai").await;
    assert_eq!(sole("busy").await, of(&["chat"]));
    assert_eq!(sole("openai").await, json!([]));
}
