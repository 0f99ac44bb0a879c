//! Callbacks that no provider sent: forged, foreign, expired and used tokens.

use crate::harness::receiver::CallbackSetup;
use crate::harness::video::{GENERIC, ask, count};
use crate::harness::{Request, eventually};
use serde_json::{Value, json};

/// The token that the provider of the setup got with its last create.
async fn token_of(setup: &CallbackSetup) -> String {
    let records = setup.simulator.records().await;
    let mut creates = records
        .iter()
        .filter(|record| record["endpoint"] == "family_a.create");
    let n = creates.next_back().unwrap()["n"].clone();
    let body: Value = serde_json::from_slice(&setup.simulator.body(&n).await).unwrap();
    let url = body["callback_url"].as_str().unwrap().to_owned();
    url.rsplit('/').next().unwrap().to_owned()
}

async fn call_back(setup: &CallbackSetup, token: &str) -> (u16, String) {
    let body = json!({"id": "cgt-1", "status": "succeeded"}).to_string();
    let request = Request::post(&format!("/_headgate/callback/{token}"), body);
    let answer = setup.gateway.ask(&request.without("authorization")).await;
    let mut body = answer.json();
    body["error"]["message"] = json!(
        body["error"]["message"]
            .as_str()
            .map(|text| text.split(" (").next())
    );
    (answer.status, body.to_string())
}

#[tokio::test]
async fn unknown_tokens_are_the_same_404_and_change_nothing() {
    let setup = CallbackSetup::start("queue=5m;callback_fault=lost").await;
    let foreign = CallbackSetup::with("queue=5m;callback_fault=lost", |config| {
        config["task_keys"] = json!(["fedcba9876543210fedcba9876543210"]);
    })
    .await;
    let id = setup.create(GENERIC, "demo-video-a").await;
    foreign.create(GENERIC, "demo-video-a").await;
    let token = token_of(&setup).await;
    let mut altered = token.clone().into_bytes();
    altered[20] = if altered[20] == b'A' { b'B' } else { b'A' };
    let altered = String::from_utf8(altered).unwrap();
    let mut replies = Vec::new();
    for forged in [
        "x",
        &altered,
        &token[1..],
        &token_of(&foreign).await,
        id.trim_start_matches("task_"),
        &"A".repeat(4_000),
    ] {
        replies.push(call_back(&setup, forged).await);
    }
    replies.dedup();
    assert_eq!(replies.len(), 1, "{replies:?}");
    assert_eq!(replies[0].0, 404);
    assert_eq!(count(&setup.simulator, "query").await, 0);
    // A true token with a forged status: the status is the provider's.
    assert_eq!(call_back(&setup, &token).await.0, 200);
    eventually("the query", async || {
        (count(&setup.simulator, "query").await == 1).then_some(())
    })
    .await;
    assert_eq!(
        ask(&setup.gateway, GENERIC, &id).await.json()["status"],
        "queued"
    );
    assert!(setup.receiver.events().is_empty());
}

#[tokio::test]
async fn a_token_whose_task_has_ended_is_unknown() {
    let setup = CallbackSetup::start("queue=100ms;run=100ms").await;
    setup.create(GENERIC, "demo-video-a").await;
    setup.receiver.wait_for(1).await;
    let token = token_of(&setup).await;
    let used = eventually("the end", async || {
        let used = call_back(&setup, &token).await;
        (used.0 == 404).then_some(used)
    })
    .await;
    assert_eq!(used, call_back(&setup, "x").await);
}
