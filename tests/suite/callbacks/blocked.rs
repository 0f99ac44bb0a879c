//! Events that can be neither stored nor sent for long: they end as an event, a dead letter, or a count.

use crate::harness::receiver::{CallbackSetup, Receiver, create_with_callback, hang};
use crate::harness::state_file::{StateFile, unix_ms};
use crate::harness::video::{FAMILY_A, GENERIC};
use crate::harness::{ScriptedProvider, eventually};
use serde_json::json;

const MINUTE_MS: u64 = 60_000;

async fn setup(state: &StateFile) -> CallbackSetup {
    let directives = "queue=5m;callback_fault=lost";
    CallbackSetup::with(directives, |config| config["state"] = json!(state.url())).await
}

#[tokio::test]
async fn a_task_that_its_provider_does_not_find_when_its_polls_end_has_expired() {
    let state = StateFile::new();
    let setup = setup(&state).await;
    let other = Receiver::responding("200 OK").await;
    let generic = setup.create(GENERIC, "demo-video-a").await;
    let url = other.url("/done");
    let native = create_with_callback(&setup.gateway, FAMILY_A, "demo-video-a", &url).await;
    setup.simulator.obey("status=404;only=GET").await;
    // Earlier, it may be found again.
    let polled_until = |polled_until_ms: u64| {
        state.change("subscription", |value, _| {
            value["polled_until_ms"] = json!(polled_until_ms);
        })
    };
    assert_eq!(polled_until(unix_ms() + 30 * MINUTE_MS), 2);
    eventually("queries that find no task", async || {
        let polled = state.records("subscription").iter().all(|record| {
            let value: serde_json::Value = serde_json::from_slice(&record.value).unwrap();
            !value.is_object() || value["polls"].as_u64() >= Some(1)
        });
        polled.then_some(())
    })
    .await;
    assert!(setup.receiver.events().is_empty() && other.events().is_empty());
    polled_until(unix_ms() + 5 * MINUTE_MS);
    let event = setup.receiver.wait_for(1).await.remove(0).json();
    assert_eq!(event["status"], "expired", "{event}");
    assert_eq!(event["task_id"], json!(generic));
    let event = other.wait_for(1).await.remove(0).json();
    assert_eq!(event, json!({"id": native, "status": "expired"}));
}

#[tokio::test]
async fn an_event_that_gets_no_attempt_until_it_expires_is_a_dead_letter() {
    let state = StateFile::new();
    let setup = CallbackSetup::with("queue=1s;run=5m", |config| {
        config["state"] = json!(state.url());
    })
    .await;
    let hanging = ScriptedProvider::start(hang()).await;
    for _ in 0..12 {
        let url = format!("http://{}/x", hanging.address);
        create_with_callback(&setup.gateway, GENERIC, "demo-video-a", &url).await;
    }
    eventually("more events than attempts", async || {
        (hanging.open() >= 8 && state.records("delivery").len() == 12).then_some(())
    })
    .await;
    state.change("delivery", |_, expires_ms| {
        *expires_ms = unix_ms() + 30 * MINUTE_MS
    });
    let page = eventually("dead letters", async || {
        let page = setup.gateway.page("GET", "/callbacks").await.json();
        (page["dead"].as_u64() >= Some(1)).then_some(page)
    })
    .await;
    let letter = &page["dead_letters"][0];
    assert_eq!(
        letter["last_error"],
        "no attempt was possible within a week"
    );
    assert_eq!(letter["attempts"], 0, "{letter}");
}

#[tokio::test]
async fn events_of_a_channel_that_was_removed_are_logged_and_counted_as_lost() {
    let state = StateFile::new();
    let setup = setup(&state).await;
    setup.create(GENERIC, "demo-video-a").await;
    let mut config = setup.config.clone();
    config["channels"].as_object_mut().unwrap().remove("a");
    setup.gateway.reload(&config).await;
    state.change("subscription", |_, _| {});
    let logged = async |message: &str| {
        eventually(message, async || {
            let mut lines = setup.gateway.process.stderr.json().into_iter();
            lines.find(|line| line["message"] == message)
        })
        .await
    };
    let line = logged("events of tasks wait").await;
    assert_eq!(line["channel"], "a", "{line}");
    assert!(
        line["reason"].as_str().unwrap().contains("`retired`"),
        "{line}"
    );
    state.change("subscription", |_, expires_ms| {
        *expires_ms = unix_ms() + MINUTE_MS
    });
    let line = logged("events lost: no event could be stored until the subscription expired").await;
    assert_eq!(line["caller"], "ann", "{line}");
    let metrics = setup.gateway.metrics().await;
    assert_eq!(
        metrics.sum("headgate_deliveries_total", &[("outcome", "lost")]),
        1.0
    );
}
