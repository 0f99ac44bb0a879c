//! Callbacks that an earlier version still owed: its subscriptions, its events, and its dead letters.

use crate::harness::earlier_version::{AGE, EarlierState, STORES};
use crate::harness::receiver::{ReceivedEvent, SECRETS};
use crate::harness::{Request, eventually};
use serde_json::Value;
use std::time::Duration;

/// After this time without a callback, a task is polled.
const QUIET: Duration = Duration::from_secs(60);

/// The event that arrived at a path of the receiver, once it is there.
async fn event_at(earlier: &EarlierState, path: &str) -> ReceivedEvent {
    eventually(&format!("an event at {path}"), async || {
        let requests = earlier.receiver.0.requests();
        let line = format!("POST {path} ");
        let at = requests
            .iter()
            .position(|request| request.starts_with(&line))?;
        earlier.receiver.events().into_iter().nth(at)
    })
    .await
}

#[tokio::test]
async fn an_event_that_an_earlier_version_could_not_deliver_is_delivered() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        let event = event_at(&earlier, "/waiting").await;
        assert!(event.id.starts_with("evt_"), "{store:?}");
        assert!(event.is_signed_with(SECRETS[0]), "{store:?}");
        assert_eq!(
            event.json()["task_id"],
            *earlier.result("waiting", "/task_id")
        );
        assert_eq!(event.json()["status"], "succeeded", "{store:?}");
    }
}

#[tokio::test]
async fn a_provider_calls_back_at_the_url_of_an_earlier_version() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        for (name, path, id_at) in [
            ("subscribed", "/subscribed", "/task_id"),
            ("subscribed_native", "/subscribed_native", "/id"),
        ] {
            let token = earlier.text(name, "callback_path");
            let called = Request::post(token, r#"{"status":"succeeded"}"#);
            let called = earlier.gateway.ask(&called.without("authorization")).await;
            assert_eq!(called.status, 200, "{store:?} {name}: {}", called.text());
            let event = event_at(&earlier, path).await;
            let id = event.json().pointer(id_at).cloned();
            let id = id.as_ref().and_then(Value::as_str).unwrap_or_default();
            assert_eq!(id, earlier.result(name, id_at), "{store:?} {name}");
            assert_eq!(event.json()["status"], "succeeded", "{store:?} {name}");
        }
    }
}

#[tokio::test]
async fn a_task_whose_provider_does_not_call_back_is_polled() {
    for store in STORES {
        let earlier = EarlierState::open(store, QUIET).await;
        let event = event_at(&earlier, "/subscribed").await;
        assert_eq!(
            event.json()["task_id"],
            *earlier.result("subscribed", "/task_id")
        );
    }
}

#[tokio::test]
async fn dead_letters_of_an_earlier_version_are_listed_and_sent_again() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        let listed = earlier.gateway.page("GET", "/callbacks").await.json();
        let letters = listed["dead_letters"].as_array().unwrap();
        assert_eq!(letters.len(), 1, "{store:?}: {listed}");
        let id = letters[0]["id"].as_str().unwrap();
        let redriven = earlier
            .gateway
            .page("POST", &format!("/callbacks/redrive?id={id}"))
            .await;
        assert_eq!(redriven.status, 200, "{store:?}: {}", redriven.text());
        let event = event_at(&earlier, "/dead").await;
        assert_eq!(event.id, id, "{store:?}");
        assert_eq!(event.json()["task_id"], *earlier.result("dead", "/task_id"));
    }
}
