//! Events of OpenAI's webhooks, for tasks that were created in its format.

use crate::harness::receiver::{CallbackSetup, ReceivedEvent, SECRETS};
use crate::harness::video::{GENERIC, OPENAI, ask, openai_routes};
use crate::harness::{Request, eventually};
use serde_json::{Value, json};

async fn start(directives: &str, change: impl FnOnce(&mut Value)) -> CallbackSetup {
    CallbackSetup::with(directives, |config| {
        let routes = config["routes"].as_array_mut().unwrap();
        routes.extend(openai_routes());
        change(config);
    })
    .await
}

/// Creates a video; returns its id.
async fn create(setup: &CallbackSetup, model: &str, callback_url: Option<String>) -> String {
    let mut body = json!({"model": model, "prompt": "a gate", "seconds": "5"});
    if let Some(url) = callback_url {
        body["callback_url"] = json!(url);
    }
    let request = Request::post(OPENAI, body.to_string());
    let created = setup.gateway.ask(&request).await;
    assert_eq!(created.status, 200, "{}", created.text());
    created.json()["id"].as_str().unwrap().to_owned()
}

/// The path that the delivery of the last event went to.
fn last_path(setup: &CallbackSetup) -> String {
    let request = setup.receiver.0.requests().pop().unwrap();
    request.split(' ').nth(1).unwrap().to_owned()
}

fn assert_event(event: &ReceivedEvent, kind: &str, id: &str) {
    let body = event.json();
    let created_at = body["created_at"].as_u64().unwrap();
    assert!(created_at.abs_diff(event.timestamp) < 3_600, "{body}");
    let expected = json!({
        "id": event.id, "object": "event", "created_at": created_at, "type": kind, "data": {"id": id},
    });
    assert_eq!(body, expected);
    assert!(event.id.starts_with("evt_"), "{event:?}");
    for secret in SECRETS {
        assert!(event.is_signed_with(secret), "{event:?}");
    }
}

#[tokio::test]
async fn the_end_of_a_video_is_one_signed_event_and_its_start_is_none() {
    for (ends, kind) in [
        ("", "video.completed"),
        (";ends=failed", "video.failed"),
        (";ends=expired", "video.failed"),
    ] {
        let setup = start(&format!("queue=300ms;run=2s{ends}"), |_| {}).await;
        let url = setup.receiver.url("/openai");
        let id = create(&setup, "demo-video-a", Some(url)).await;
        let events = setup.receiver.wait_for(1).await;
        assert_event(&events[0], kind, &id);
        assert_eq!(last_path(&setup), "/openai");
        let ended = ask(&setup.gateway, OPENAI, &id).await.json();
        assert_eq!(kind, format!("video.{}", ended["status"].as_str().unwrap()));
        assert_eq!(setup.receiver.events().len(), 1, "{kind}");
    }
}

#[tokio::test]
async fn videos_without_a_callback_url_lead_to_events_at_the_url_of_their_caller() {
    let setup = start("queue=0ms;run=0ms", |_| {}).await;
    let mut config = setup.config.clone();
    config["callers"][0]["webhook_url"] = json!(setup.receiver.url("/hooks?of=ann"));
    setup.gateway.reload(&config).await;
    // A provider that sends no callbacks is polled, here by its caller.
    for (count, model) in [(1, "demo-video-a"), (2, "demo-video-b")] {
        let id = create(&setup, model, None).await;
        eventually("the end", async || {
            let video = ask(&setup.gateway, OPENAI, &id).await.json();
            (video["status"] == "completed").then_some(())
        })
        .await;
        let events = setup.receiver.wait_for(count).await;
        assert_event(events.last().unwrap(), "video.completed", &id);
        assert_eq!(last_path(&setup), "/hooks?of=ann");
    }
    let own = setup.receiver.url("/own");
    let id = create(&setup, "demo-video-a", Some(own)).await;
    let events = setup.receiver.wait_for(3).await;
    assert_event(events.last().unwrap(), "video.completed", &id);
    assert_eq!(last_path(&setup), "/own");
    // Callers of other formats name their URL in each create.
    let body = json!({"model": "demo-video-a", "prompt": "a gate", "duration": 5});
    let request = Request::post(GENERIC, body.to_string());
    assert_eq!(setup.gateway.ask(&request).await.status, 200);
    let last = create(&setup, "demo-video-a", None).await;
    let events = setup.receiver.wait_for(4).await;
    assert_event(&events[3], "video.completed", &last);
}

#[tokio::test]
async fn a_cancelled_video_is_a_failed_one() {
    let setup = start("queue=10m", |_| {}).await;
    let id = create(&setup, "demo-video-a", Some(setup.receiver.url("/openai"))).await;
    let cancel = Request::new("DELETE", &format!("{GENERIC}/{id}"));
    assert_eq!(setup.gateway.ask(&cancel).await.status, 200);
    let events = setup.receiver.wait_for(1).await;
    assert_event(&events[0], "video.failed", &id);
}
