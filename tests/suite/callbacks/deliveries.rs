//! Status changes of tasks, delivered to the callback URLs of callers.

use crate::harness::receiver::{CallbackSetup, SECRETS};
use crate::harness::video::{FAMILY_A, GENERIC, ask};
use serde_json::json;

#[tokio::test]
async fn each_change_of_status_is_delivered_once_signed_with_each_secret() {
    let setup = CallbackSetup::start("queue=1500ms;run=6s").await;
    for (path, count) in [(GENERIC, 2), (FAMILY_A, 4)] {
        let id = setup.create(path, "demo-video-a").await;
        let events = setup.receiver.wait_for(count).await;
        let (running, done) = (&events[count - 2], &events[count - 1]);
        assert_ne!(running.id, done.id);
        assert_eq!(
            running.json()["status"],
            "running",
            "{path}: {}",
            running.body
        );
        assert_eq!(done.json()["status"], "succeeded", "{path}: {}", done.body);
        for event in [running, done] {
            assert!(event.id.starts_with("evt_"), "{}", event.id);
            for secret in SECRETS {
                assert!(event.is_signed_with(secret), "{event:?}");
            }
            let id_at = if path == GENERIC { "task_id" } else { "id" };
            assert_eq!(event.json()[id_at], json!(id));
        }
        let queried = ask(&setup.gateway, path, &id).await;
        assert_eq!(queried.json(), done.json(), "{path}");
    }
    assert_eq!(setup.receiver.events().len(), 4);
}

#[tokio::test]
async fn the_provider_gets_the_gateways_own_url_in_place_of_the_callers() {
    let setup = CallbackSetup::start("queue=100ms;run=100ms").await;
    setup.create(GENERIC, "demo-video-a").await;
    let created = setup
        .simulator
        .record("the create", |record| {
            record["endpoint"] == "family_a.create"
        })
        .await;
    let body = setup.simulator.body(&created["n"]).await;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let url = body["callback_url"].as_str().unwrap();
    let own = setup.config["server"]["public_url"].as_str().unwrap();
    assert!(
        url.starts_with(&format!("{own}/_headgate/callback/")),
        "{url}"
    );
    setup.receiver.wait_for(1).await;
    let token = url.rsplit('/').next().unwrap();
    let is_of_callback = |line: &serde_json::Value| {
        let path = line["path"].as_str().unwrap_or_default();
        path.starts_with("/_headgate/callback/…")
    };
    setup.gateway.log_line(is_of_callback).await;
    let log = json!(setup.gateway.log()).to_string();
    assert!(!log.contains(token), "{log}");
}
