//! Tests of keys with names: rotation, times, restrictions, and what is seen of their use.

use crate::configuration::check::check;
use crate::harness::config::{route, sha256};
use crate::harness::error_shape::assert_error_body;
use crate::harness::request::{ANN, BOB, body_of};
use crate::harness::{Gateway, PROTOCOLS, Request, Simulator, TestSetup, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::task::JoinSet;

const EARLIER: &str = "2020-01-01T00:00:00Z";
const LATER: &str = "2100-01-01T01:00:00+01:00";

/// An entry of `keys` with some settings more.
fn key(label: &str, key: &str, settings: Value) -> Value {
    let mut entry = json!({"label": label, "key_sha256": sha256(key.as_bytes())});
    let entry_members = entry.as_object_mut().unwrap();
    entry_members.extend(settings.as_object().unwrap().clone());
    entry
}

/// Gives Ann these keys in place of her only one.
fn give_keys(config: &mut Value, keys: Vec<Value>) {
    let ann = config["callers"][0].as_object_mut().unwrap();
    ann.remove("key_sha256");
    ann.insert("keys".into(), keys.into());
}

async fn world(keys: Vec<Value>) -> TestSetup {
    TestSetup::with(|config| give_keys(config, keys)).await
}

#[tokio::test]
async fn a_key_is_valid_in_its_time_and_otherwise_unknown_in_each_protocols_words() {
    let world = world(vec![
        key(
            "now",
            "sk-now",
            json!({"not_before": EARLIER, "not_after": LATER}),
        ),
        key("expired", "sk-expired", json!({"not_after": EARLIER})),
        key("early", "sk-early", json!({"not_before": LATER})),
    ])
    .await;
    for protocol in PROTOCOLS {
        let ask = |key| Request::ask(protocol).key(key);
        let answer = world.ask(&ask("sk-now")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(world.gateway.log_of(&answer).await["key"], "now");
        let unknown = world.ask(&ask("sk-unknown")).await;
        for (sent, reason) in [
            (
                "sk-expired",
                "key `expired` of caller `ann`: expired at 2020-01-01",
            ),
            (
                "sk-early",
                "key `early` of caller `ann`: not valid before 2100-01-01",
            ),
        ] {
            let answer = world.ask(&ask(sent)).await;
            assert_error_body(protocol, &answer, 401);
            let message =
                |answer: &crate::harness::WholeResponse| answer.json()["error"]["message"].clone();
            assert_eq!(message(&answer), message(&unknown), "{sent}");
            let line = world.gateway.log_of(&answer).await;
            assert!(
                line["error_detail"].as_str().unwrap().starts_with(reason),
                "{line}"
            );
        }
    }
    let sent = world.simulator.records().await.len();
    assert_eq!(
        sent,
        PROTOCOLS.len(),
        "only the valid key reached the provider"
    );
}

#[tokio::test]
async fn a_restricted_key_serves_only_what_it_is_for() {
    let world = world(vec![
        key("all", ANN, json!({})),
        key("small", "sk-small", json!({"models": ["demo-s*"]})),
        key("chat", "sk-chat", json!({"routes": ["chat"]})),
        key("far", "sk-far", json!({"networks": ["192.0.2.0/24"]})),
        key("near", "sk-near", json!({"networks": ["127.0.0.0/8"]})),
    ])
    .await;
    for (sent, protocol, model, status) in [
        (ANN, Protocol::Chat, "demo-large", 200),
        ("sk-small", Protocol::Chat, "demo-small", 200),
        ("sk-small", Protocol::Chat, "demo-large", 403),
        ("sk-small", Protocol::Messages, "demo-large", 403),
        ("sk-chat", Protocol::Chat, "demo-large", 200),
        ("sk-chat", Protocol::Messages, "demo-large", 403),
        ("sk-far", Protocol::Chat, "demo-large", 403),
        ("sk-near", Protocol::Chat, "demo-large", 200),
    ] {
        let mut body = body_of(protocol);
        body["model"] = model.into();
        let request = Request::to(protocol, body.to_string()).key(sent);
        let answer = world.ask(&request).await;
        assert_eq!(answer.status, status, "{sent} {model}: {}", answer.text());
    }
    let list = world.ask(&Request::get("/v1/models").key("sk-small")).await;
    let ids = list.json()["data"].as_array().unwrap().clone();
    let ids: Vec<_> = ids
        .iter()
        .map(|model| model["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["demo-small"]);
}

#[tokio::test]
async fn the_use_of_each_key_is_counted_and_survives_a_reload() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    config["callers"][0]["keys"] = json!([key("new", "sk-new", json!({"not_after": LATER}))]);
    let gateway = Gateway::start(&config).await;
    for (sent, times) in [(ANN, 2), ("sk-new", 3)] {
        for _ in 0..times {
            assert_eq!(
                gateway
                    .ask(&Request::ask(Protocol::Chat).key(sent))
                    .await
                    .status,
                200
            );
        }
    }
    assert_eq!(
        gateway
            .ask(&Request::ask(Protocol::Chat).key(BOB))
            .await
            .status,
        403
    );
    let count = async |gateway: &Gateway, label| {
        let labels = [("caller", "ann"), ("key", label)];
        gateway
            .metrics()
            .await
            .sum("headgate_key_requests_total", &labels)
    };
    assert_eq!(count(&gateway, "key_sha256").await, 2.0);
    assert_eq!(count(&gateway, "new").await, 3.0);
    config["callers"][0]
        .as_object_mut()
        .unwrap()
        .remove("key_sha256");
    gateway.reload(&config).await;
    assert_eq!(
        gateway
            .ask(&Request::ask(Protocol::Chat).key(ANN))
            .await
            .status,
        401
    );
    assert_eq!(count(&gateway, "new").await, 3.0);
    assert_eq!(count(&gateway, "key_sha256").await, 0.0);
    let metrics = gateway.metrics().await;
    let expiry = metrics.sum("headgate_key_expiry_timestamp_seconds", &[("key", "new")]);
    assert_eq!(expiry, 4_102_444_800.0);
    assert!(
        metrics.sum(
            "headgate_key_last_used_timestamp_seconds",
            &[("key", "new")]
        ) > 1.7e9
    );
}

#[tokio::test]
async fn a_rotation_under_load_refuses_nothing() {
    let simulator = Simulator::start().await;
    let mut config = config::standard(&simulator.url());
    give_keys(&mut config, vec![key("old", "sk-old", json!({}))]);
    let gateway = Arc::new(Gateway::start(&config).await);
    let uses_new_key = Arc::new(AtomicBool::new(false));
    let is_over = Arc::new(AtomicBool::new(false));
    let served = Arc::new(AtomicUsize::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let (gateway, is_over, served) = (gateway.clone(), is_over.clone(), served.clone());
        let uses_new_key = uses_new_key.clone();
        callers.spawn(async move {
            let mut connection = gateway.connect().await;
            while !is_over.load(Ordering::Acquire) {
                let sent = match uses_new_key.load(Ordering::Acquire) {
                    true => "sk-new",
                    false => "sk-old",
                };
                let answer = connection
                    .ask(&Request::ask(Protocol::Chat).key(sent))
                    .await;
                assert_eq!(answer.status, 200, "{sent}: {}", answer.text());
                served.fetch_add(1, Ordering::AcqRel);
            }
        });
    }
    let until_served = async |more: usize| {
        let least = served.load(Ordering::Acquire) + more;
        while served.load(Ordering::Acquire) < least {
            tokio::task::yield_now().await;
        }
    };
    until_served(50).await;
    let both = vec![
        key("old", "sk-old", json!({})),
        key("new", "sk-new", json!({})),
    ];
    give_keys(&mut config, both);
    gateway.reload(&config).await;
    uses_new_key.store(true, Ordering::Release);
    until_served(50).await;
    give_keys(&mut config, vec![key("new", "sk-new", json!({}))]);
    gateway.reload(&config).await;
    until_served(50).await;
    is_over.store(true, Ordering::Release);
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
    assert_eq!(
        gateway
            .ask(&Request::ask(Protocol::Chat).key("sk-old"))
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn keys_that_cannot_be_used_are_refused_with_their_places() {
    let good = || key("a", "sk-a", json!({}));
    for (keys, place, reason) in [
        (
            vec![],
            "callers[0]",
            "has no key: it needs `key_sha256` or `keys`",
        ),
        (
            vec![good(), key("a", "sk-b", json!({}))],
            "label",
            "duplicate key `a`",
        ),
        (
            vec![good(), key("b", "sk-a", json!({}))],
            "key_sha256",
            "another key of this caller is the same",
        ),
        (
            vec![key("b", BOB, json!({}))],
            "key_sha256",
            "another caller has the same key",
        ),
        (
            vec![key("a", "", json!({}))],
            "key_sha256",
            "the digest of an empty key",
        ),
        (
            vec![key("a", "sk-a", json!({"not_after": "2030-01-01"}))],
            "not_after",
            "is not a time",
        ),
        (
            vec![key(
                "a",
                "sk-a",
                json!({"not_before": LATER, "not_after": LATER}),
            )],
            "not_after",
            "not later than `not_before`",
        ),
        (
            vec![key("a", "sk-a", json!({"models": []}))],
            "models",
            "`models` is empty",
        ),
        (
            vec![key("a", "sk-a", json!({"routes": ["chatt"]}))],
            "routes",
            "there is no route `chatt`",
        ),
        (
            vec![key("a", "sk-a", json!({"networks": ["office"]}))],
            "networks",
            "not an IP address or network",
        ),
        (
            vec![key("a b", "sk-a", json!({}))],
            "label",
            "expected letters, digits",
        ),
    ] {
        let mut config = config::standard("https://provider.test/v1");
        give_keys(&mut config, keys);
        route(&mut config, "chat");
        let text = check(&format!("{config:#}")).stderr;
        assert!(
            text.contains(reason) && text.contains(place),
            "{reason}: {text}"
        );
    }
}
