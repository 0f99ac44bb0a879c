//! Tests of what operators do to channels on the admin pages: drain, undrain, reset of health.

use super::channels_page::with_busy_channel;
use crate::harness::config::admin_keys;
use crate::harness::receiver::CallbackSetup;
use crate::harness::video::{FAMILY_B, GENERIC, ask, cancel};
use crate::harness::{Gateway, Request, Simulator, TestSetup, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// A gateway with admin keys, and a first channel `busy` with `directives`.
async fn setup(directives: &str) -> (Gateway, Simulator) {
    with_busy_channel(directives, |config| {
        config["server"]["admin_keys"] = admin_keys();
    })
    .await
}

/// The response of an action on a channel, which must succeed.
async fn act(gateway: &Gateway, action: &str, channel: &str) -> Value {
    let path = format!("/channels/{action}?channel={channel}");
    let acted = gateway.page("POST", &path).await;
    assert_eq!(acted.status, 200, "{}", acted.text());
    acted.json()
}

/// The channel that serves the next request.
async fn serving(gateway: &Gateway) -> Value {
    let answer = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    gateway.log_of(&answer).await["channel"].clone()
}

async fn named(gateway: &Gateway, list: &str, name: &str) -> Value {
    let page = gateway.page("GET", "/channels").await.json();
    let mut entries = page[list].as_array().unwrap().iter();
    entries.find(|entry| entry["name"] == name).unwrap().clone()
}

async fn gauge(gateway: &Gateway, name: &str, channel: &str) -> f64 {
    let metrics = gateway.metrics().await;
    metrics.sum(name, &[("channel", channel)])
}

#[tokio::test]
async fn a_drained_channel_gets_no_new_requests_and_ends_those_in_flight() {
    let (gateway, _simulator) = setup("").await;
    assert_eq!(serving(&gateway).await, "busy");
    let request = Request::ask_stream(Protocol::Chat).simulate("events=40; pace=20ms");
    let mut stream = gateway.open(&request).await;
    stream.until("data:").await;

    let drained = act(&gateway, "drain", "busy").await;
    let expected = json!({
        "channel": "busy", "drained": true, "usable": false, "in_flight": 1, "unavailable_models": [],
    });
    assert_eq!(drained, expected);
    for _ in 0..3 {
        assert_eq!(serving(&gateway).await, "openai");
    }
    assert!(stream.rest().await.whole);

    let busy = named(&gateway, "channels", "busy").await;
    assert_eq!(
        (&busy["drained"], &busy["usable"], &busy["status"]),
        (&json!(true), &json!(false), &json!("healthy"))
    );
    let candidate = &named(&gateway, "models", "demo-large").await["candidates"][0];
    let shown = ["channel", "reason", "detail"].map(|field| candidate[field].as_str().unwrap());
    assert_eq!(shown, ["busy", "drained", "drained by an operator"]);
    assert_eq!(
        gauge(&gateway, "headgate_channel_drained", "busy").await,
        1.0
    );
    assert_eq!(
        gauge(&gateway, "headgate_channel_usable", "busy").await,
        0.0
    );
    assert_eq!(
        gauge(&gateway, "headgate_channel_drained", "openai").await,
        0.0
    );

    let undrained = act(&gateway, "undrain", "busy").await;
    assert_eq!(
        (&undrained["drained"], &undrained["usable"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(serving(&gateway).await, "busy");
    assert_eq!(
        gauge(&gateway, "headgate_channel_drained", "busy").await,
        0.0
    );
}

#[tokio::test]
async fn a_drain_survives_a_reload_that_changes_the_channel() {
    let (gateway, _simulator) = setup("").await;
    act(&gateway, "drain", "busy").await;
    let mut config: Value = serde_json::from_str(&gateway.config()).unwrap();
    config["channels"]["busy"]["credential"] = json!({"bearer": "sk-busy-canary-2"});
    config["channels"]["busy"]["weight"] = 7.into();
    gateway.reload(&config).await;
    assert_eq!(named(&gateway, "channels", "busy").await["drained"], true);
    assert_eq!(serving(&gateway).await, "openai");
}

#[tokio::test]
async fn a_model_whose_channels_are_all_drained_is_reported_and_refused() {
    let (gateway, _simulator) = setup("").await;
    act(&gateway, "drain", "busy").await;
    let last = act(&gateway, "drain", "openai").await;
    // `demo-large` and `demo-small` are still served to the messages protocol.
    assert_eq!(last["unavailable_models"], json!([]));
    let last = act(&gateway, "drain", "messages").await;
    assert_eq!(
        last["unavailable_models"],
        json!(["demo-large", "demo-small"])
    );
    let refused = gateway.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    let line = gateway.log_of(&refused).await.to_string();
    assert!(line.contains("drained by an operator"), "{line}");
    assert!(!refused.text().contains("drained"), "{}", refused.text());
}

#[tokio::test]
async fn a_reset_ends_the_cool_downs_of_a_channel_and_of_its_models() {
    let (gateway, _simulator) = setup("status=429;retry_after=600;times=1").await;
    assert_eq!(serving(&gateway).await, "openai");
    let busy = named(&gateway, "channels", "busy").await;
    assert_eq!(busy["models"][0]["status"], "cooling_down", "{busy}");
    let reset = act(&gateway, "reset", "busy").await;
    assert_eq!(reset["usable"], true);
    let busy = named(&gateway, "channels", "busy").await;
    let large = &busy["models"][0];
    assert_eq!(
        (&large["status"], &large["last_error"]["status"]),
        (&json!("healthy"), &json!(429))
    );
    assert_eq!(serving(&gateway).await, "busy");
}

#[tokio::test]
async fn tasks_of_a_drained_channel_are_still_queried_and_cancelled() {
    let setup = CallbackSetup::start("queue=5m").await;
    let config: Value = serde_json::from_str(&setup.gateway.config()).unwrap();
    let ids = [
        setup.create(GENERIC, "demo-video-a").await,
        setup.create(FAMILY_B, "demo-video-b").await,
    ];
    for name in config["channels"].as_object().unwrap().keys() {
        act(&setup.gateway, "drain", name).await;
    }
    for (path, id) in [GENERIC, FAMILY_B].into_iter().zip(&ids) {
        let queried = ask(&setup.gateway, path, id).await;
        assert_eq!(queried.status, 200, "{}", queried.text());
        let cancelled = cancel(&setup.gateway, path, id).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    }
    let refused = crate::harness::video::create(&setup.gateway, GENERIC, "demo-video-a").await;
    assert_eq!(refused.status, 503, "{}", refused.text());
}

#[tokio::test]
async fn a_response_is_continued_on_the_drained_channel_that_has_it() {
    let world = TestSetup::with(|config| {
        config["server"]["admin_keys"] = admin_keys();
    })
    .await;
    let first = world.ask(&Request::ask(Protocol::Responses)).await;
    let id = first.json()["id"].clone();
    act(&world.gateway, "drain", "openai").await;
    let next = json!({"model": "demo-large", "input": "On", "previous_response_id": id});
    let next = Request::to(Protocol::Responses, next.to_string());
    let continued = world.ask(&next).await;
    assert_eq!(continued.status, 200, "{}", continued.text());
    let read = Request::get(&format!("/v1/responses/{}", id.as_str().unwrap()));
    assert_eq!(world.ask(&read).await.status, 200);
    assert_eq!(
        world.ask(&Request::ask(Protocol::Responses)).await.status,
        503
    );
}

#[tokio::test]
async fn an_action_on_an_unknown_channel_is_refused_with_the_name_that_was_meant() {
    let (gateway, _simulator) = setup("").await;
    for (query, status, words) in [
        ("", 400, "channel=NAME"),
        ("?channel=busy&channel=openai", 400, "channel=NAME"),
        ("?name=busy", 400, "channel=NAME"),
        ("?channel=bussy", 404, "did you mean `busy`?"),
        ("?channel=%6fpenaj", 404, "did you mean `openai`?"),
        ("?channel=", 404, "the channels are busy, messages, openai"),
    ] {
        for action in ["drain", "undrain", "reset"] {
            let path = format!("/channels/{action}{query}");
            let refused = gateway.page("POST", &path).await;
            assert_eq!(refused.status, status, "{path}: {}", refused.text());
            assert!(refused.text().contains(words), "{}", refused.text());
        }
    }
    assert_eq!(
        gateway
            .page("GET", "/channels/drain?channel=busy")
            .await
            .status,
        405
    );
    let audit = eventually("the audit log", async || {
        let lines = gateway.process.stderr.json();
        let lines: Vec<Value> = lines
            .into_iter()
            .filter(|line| line["message"] == "admin action")
            .collect();
        (lines.len() == 18).then_some(lines)
    })
    .await;
    assert_eq!(
        (&audit[9]["action"], &audit[9]["subject"]),
        (&json!("drain_channel"), &json!("bussy"))
    );
}
