//! Callbacks that no provider sent: forged, foreign, expired and used tokens.

use crate::harness::receiver::CallbackSetup;
use crate::harness::state_file::{FileRecord, StateFile};
use crate::harness::video::{GENERIC, ask, count};
use crate::harness::{Request, eventually};
use headgate_core::task::id::{TaskIdKey, TaskIdKeyRing};
use headgate_core::task::token::UrlTokenPurpose;
use headgate_video::callbacks::CallbackToken;
use serde_json::json;
use std::time::Duration;

/// The key in `task_keys` of the setup.
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// Status and body of the reply to a callback, without the id of its request.
async fn call_back(setup: &CallbackSetup, token: &str) -> (u16, String) {
    let response = setup.call_back(token).await;
    let mut body = response.json();
    body["error"]["message"] = json!(
        body["error"]["message"]
            .as_str()
            .map(|text| text.split(" (").next())
    );
    (response.status, body.to_string())
}

/// Tokens that the gateway's key has sealed, and that must not work.
fn sealed_tokens() -> Vec<String> {
    let key = TaskIdKey::new(KEY).unwrap();
    let keys = TaskIdKeyRing::new(key, Vec::new());
    let token = |caller: &str, channel: &str, expires_ms: u64| {
        let token = CallbackToken::new(caller, channel, expires_ms).unwrap();
        token.seal(&keys)
    };
    let media = keys.seal_token(
        UrlTokenPurpose::Media,
        b"[\"n\",\"ann\",\"a\",99999999999999]",
    );
    vec![token("ann", "a", u64::MAX), token("ann", "a", 1), media]
}

/// The true token with one field changed: another caller, another channel, or expired.
fn altered_tokens(token: &str) -> Vec<String> {
    let keys = TaskIdKeyRing::new(TaskIdKey::new(KEY).unwrap(), Vec::new());
    let opened = CallbackToken::open(&keys, token, 0).expect("the gateway's own token");
    let altered = [
        CallbackToken {
            caller: "bob".into(),
            ..opened.clone()
        },
        CallbackToken {
            channel: "b".into(),
            ..opened.clone()
        },
        CallbackToken {
            expires_ms: 1_000,
            ..opened
        },
    ];
    altered.iter().map(|token| token.seal(&keys)).collect()
}

/// All records of subscriptions and deliveries, as stored.
fn stored(state: &StateFile) -> Vec<FileRecord> {
    [state.records("subscription"), state.records("delivery")].concat()
}

#[tokio::test]
async fn unknown_tokens_are_the_same_404_and_change_nothing() {
    let state = StateFile::new();
    let setup = CallbackSetup::with("queue=5m;callback_fault=lost", |config| {
        config["state"] = json!(state.url());
        config["routes"].as_array_mut().unwrap().push(json!({
            "name": "media", "match": "GET|HEAD /_headgate/media/{token}", "request": ["serve_media"],
        }));
    })
    .await;
    let foreign = CallbackSetup::with("queue=5m;callback_fault=lost", |config| {
        config["task_keys"] = json!(["fedcba9876543210fedcba9876543210"]);
    })
    .await;
    let id = setup.create(GENERIC, "demo-video-a").await;
    foreign.create(GENERIC, "demo-video-a").await;
    let token = setup.provider_token().await;
    let mut altered = token.clone().into_bytes();
    altered[20] = if altered[20] == b'A' { b'B' } else { b'A' };
    let altered = String::from_utf8(altered).unwrap();
    let before = stored(&state);
    assert_eq!(
        before.len(),
        2,
        "the subscription, and the way to it from its task"
    );
    let mut forged: Vec<String> = vec![
        "x".into(),
        altered,
        token[1..].into(),
        foreign.provider_token().await,
        id.trim_start_matches("task_").into(),
        "A".repeat(4_000),
    ];
    forged.extend(sealed_tokens());
    forged.extend(altered_tokens(&token));
    let mut replies = Vec::new();
    for forged in &forged {
        replies.push(call_back(&setup, forged).await);
    }
    replies.dedup();
    assert_eq!(replies.len(), 1, "{replies:?}");
    assert_eq!(replies[0].0, 404);
    let media = Request::get(&format!("/_headgate/media/{token}"));
    let media = setup.gateway.ask(&media.without("authorization")).await;
    assert_eq!(media.status, 404, "{}", media.text());
    // Longer than the worker takes to find what is due.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(count(&setup.simulator, "query").await, 0);
    assert_eq!(stored(&state), before);
    println!(
        "callbacks: {} tokens that do not open: the same 404, no change of state",
        forged.len()
    );
    // A true token with a forged status: the status is the provider's.
    assert_eq!(call_back(&setup, &token).await.0, 200);
    eventually("the query", async || {
        (count(&setup.simulator, "query").await >= 1).then_some(())
    })
    .await;
    assert_eq!(
        ask(&setup.gateway, GENERIC, &id).await.json()["status"],
        "queued"
    );
    assert!(setup.receiver.events().is_empty());
}
