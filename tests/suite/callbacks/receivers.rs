//! Receivers that fail, redirect, hang, refuse for good, and come back.

use crate::harness::receiver::{
    CallbackSetup, SECRETS, create_with_callback, hang, respond, set_callbacks_filter,
};
use crate::harness::video::{FAMILY_A, GENERIC, cancel};
use crate::harness::{ScriptedProvider, eventually};
use serde_json::json;
use std::time::Duration;

/// The task begins to run after two seconds, and does not end during the test.
const RUNS: &str = "queue=2s;run=5m";

#[tokio::test]
async fn a_failed_event_is_sent_again_with_the_same_id() {
    let decoy = ScriptedProvider::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let setup = CallbackSetup::start(RUNS).await;
    let location = format!("302 Found\r\nLocation: http://{}/decoy", decoy.address);
    setup.receiver.0.next(respond(&location));
    setup.create(GENERIC, "demo-video-a").await;
    let events = setup.receiver.wait_for(2).await;
    assert_eq!(events[0].id, events[1].id);
    assert_eq!(events[0].body, events[1].body);
    assert!(events[1].timestamp >= events[0].timestamp + 5, "{events:?}");
    assert!(events.iter().all(|event| event.is_signed_with(SECRETS[0])));
    assert_eq!(decoy.connections().len(), 0, "redirects are not followed");
    eventually("the counts", async || {
        let metrics = setup.gateway.metrics().await;
        let count = |outcome| metrics.sum("headgate_deliveries_total", &[("outcome", outcome)]);
        (count("retried") == 1.0 && count("delivered") == 1.0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_event_that_is_gone_is_a_dead_letter_until_it_is_redriven() {
    let setup = CallbackSetup::start(RUNS).await;
    setup.receiver.0.next(respond("410 Gone"));
    setup.create(GENERIC, "demo-video-a").await;
    let sent = setup.receiver.wait_for(1).await.remove(0);
    let dead = eventually("a dead letter", async || {
        let page = setup.gateway.page("GET", "/callbacks").await.json();
        (page["dead"] == 1).then_some(page)
    })
    .await;
    let letter = &dead["dead_letters"][0];
    assert_eq!(letter["id"], json!(sent.id));
    assert_eq!(letter["caller"], "ann");
    assert_eq!(letter["task_status"], "running");
    assert_eq!(letter["last_error"], "the receiver responded 410");
    assert!(!dead.to_string().contains("/done"), "{dead}");
    let unknown = setup
        .gateway
        .page("POST", "/callbacks/redrive?id=evt_x")
        .await;
    assert_eq!(unknown.status, 404);
    for malformed in [
        "",
        "?",
        "?event=evt_x",
        "?x=1&id=evt_x",
        "?all=false",
        "?ID=evt_x",
        "?id=",
        "?id=x",
    ] {
        let path = format!("/callbacks/redrive{malformed}");
        let refused = setup.gateway.page("POST", &path).await;
        assert_eq!(refused.status, 400, "{malformed}: {}", refused.text());
    }
    let redriven = setup
        .gateway
        .page("POST", &format!("/callbacks/redrive?id={}", sent.id))
        .await;
    assert_eq!(redriven.json()["redriven"], 1);
    let events = setup.receiver.wait_for(2).await;
    assert_eq!(events[1].id, sent.id);
}

#[tokio::test]
async fn a_receiver_that_hangs_delays_no_other() {
    let setup = CallbackSetup::start(RUNS).await;
    let hanging = ScriptedProvider::start(hang()).await;
    for _ in 0..20 {
        let url = format!("http://{}/x", hanging.address);
        create_with_callback(&setup.gateway, GENERIC, "demo-video-a", &url).await;
    }
    setup.create(GENERIC, "demo-video-a").await;
    let began = std::time::Instant::now();
    setup.receiver.wait_for(1).await;
    assert!(
        began.elapsed() < Duration::from_secs(12),
        "{:?}",
        began.elapsed()
    );
    assert!(
        hanging.requests().len() >= 8,
        "{}",
        hanging.requests().len()
    );
}

#[tokio::test]
async fn a_cancel_is_an_event() {
    let setup = CallbackSetup::start("queue=5m").await;
    for (count, path) in [(1, GENERIC), (2, FAMILY_A)] {
        let id = setup.create(path, "demo-video-a").await;
        let cancelled = cancel(&setup.gateway, path, &id).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.text());
        let events = setup.receiver.wait_for(count).await;
        assert_eq!(events[count - 1].json()["status"], "cancelled");
    }
}

#[tokio::test]
async fn a_caller_without_secrets_gets_no_signature_or_a_400() {
    for (mode, status) in [("deliver", 200), ("signed_only", 400), ("refuse", 400)] {
        let setup = CallbackSetup::with("queue=100ms;run=5m", |config| {
            config["callers"][0]["webhook_secrets"] = json!([]);
            set_callbacks_filter(config, &json!({"mode": mode}));
        })
        .await;
        let mut body = crate::harness::video::create_body(GENERIC, "demo-video-a");
        body["callback_url"] = json!(setup.receiver.url("/done"));
        let request = crate::harness::Request::post(GENERIC, body.to_string());
        let made = setup.gateway.ask(&request).await;
        assert_eq!(made.status, status, "{mode}: {}", made.text());
        if status == 200 {
            let events = setup.receiver.wait_for(1).await;
            assert!(events[0].signatures.is_empty(), "{events:?}");
        } else {
            assert_eq!(made.json()["error"]["param"], "callback_url");
        }
    }
}

#[tokio::test]
async fn tasks_of_a_provider_without_callbacks_are_polled_on_request() {
    let setup = CallbackSetup::with("queue=1s;run=1s", |config| {
        set_callbacks_filter(config, &json!({"poll_without_callbacks": true}));
    })
    .await;
    let id = setup.create(GENERIC, "demo-video-b").await;
    let events = setup.receiver.wait_for(1).await;
    assert_eq!(events[0].json()["status"], "succeeded");
    assert_eq!(events[0].json()["task_id"], json!(id));
}

#[tokio::test]
async fn doubled_and_reordered_callbacks_are_one_event_each() {
    for fault in ["doubled", "reordered"] {
        let directives = format!("queue=1500ms;run=1500ms;callback_fault={fault}");
        let setup = CallbackSetup::start(&directives).await;
        setup.create(GENERIC, "demo-video-a").await;
        eventually("the end", async || {
            let events = setup.receiver.events();
            events
                .iter()
                .find(|event| event.json()["status"] == "succeeded")
                .cloned()
        })
        .await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let events = setup.receiver.events();
        let last = events.last().unwrap().json();
        assert_eq!(last["status"], "succeeded", "{fault}: {events:?}");
        let mut ids: Vec<_> = events.iter().map(|event| &event.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), events.len(), "{fault}: {events:?}");
    }
}

#[tokio::test]
async fn lost_callbacks_are_made_up_for_by_polls_after_a_quiet_minute() {
    let setup = CallbackSetup::start("queue=1s;run=1s;callback_fault=lost").await;
    setup.create(GENERIC, "demo-video-a").await;
    let began = std::time::Instant::now();
    let events = loop {
        let events = setup.receiver.events();
        if !events.is_empty() {
            break events;
        }
        assert!(began.elapsed() < Duration::from_secs(90), "no delivery");
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert!(
        began.elapsed() > Duration::from_secs(50),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(events[0].json()["status"], "succeeded");
}
