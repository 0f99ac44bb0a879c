//! Tests of where a create with a `callback_url` goes, and of what its response says about it.

use crate::harness::receiver::{CallbackSetup, create_with_callback, set_callbacks_filter};
use crate::harness::video::{FAMILY_B, GENERIC, create_body};
use crate::harness::{Request, WholeResponse};
use serde_json::{Value, json};

const CREATES: usize = 20;

/// Creates a task of a model that both families serve.
async fn create(setup: &CallbackSetup, url: Option<&str>) -> WholeResponse {
    let mut body = create_body(GENERIC, "both");
    body["callback_url"] = json!(url);
    let request = Request::post(GENERIC, body.to_string());
    let created = setup.gateway.ask(&request).await;
    assert_eq!(created.status, 200, "{}", created.text());
    created
}

/// A model that both families serve; the route leaves out what a family does not support.
fn serve_both(config: &mut Value) {
    for channel in ["a", "b"] {
        config["channels"][channel]["models"]["both"] = json!("upstream-both");
        config["channels"][channel]["tier"] = json!(u8::from(channel == "a"));
    }
}

async fn endpoints(setup: &CallbackSetup) -> Vec<String> {
    let records = setup.simulator.records().await;
    let endpoint = |record: &Value| record["endpoint"].as_str().unwrap_or_default().to_owned();
    let creates = records.iter().map(endpoint);
    creates
        .filter(|endpoint| endpoint.ends_with(".create"))
        .collect()
}

#[tokio::test]
async fn a_create_with_a_callback_url_goes_to_a_channel_that_can_deliver() {
    let setup = CallbackSetup::with("queue=5m;callback_fault=lost", serve_both).await;
    let url = setup.receiver.url("/done");
    for _ in 0..CREATES {
        let created = create(&setup, Some(&url)).await;
        assert!(created.headers.get("x-headgate-ignored").is_none());
    }
    assert_eq!(endpoints(&setup).await, ["family_a.create"; CREATES]);
    // Without one, the tier decides.
    create(&setup, None).await;
    assert_eq!(endpoints(&setup).await.last().unwrap(), "family_b.create");
}

#[tokio::test]
async fn without_such_a_channel_the_url_is_named_as_ignored_unless_the_task_is_polled() {
    for polled in [false, true] {
        let setup = CallbackSetup::with("queue=5m", |config| {
            serve_both(config);
            config["channels"]["a"]["models"] = json!({"other": "upstream-other"});
            set_callbacks_filter(config, &json!({"poll_without_callbacks": polled}));
        })
        .await;
        let url = setup.receiver.url("/done");
        let created = create(&setup, Some(&url)).await;
        let ignored = created.headers.get("x-headgate-ignored");
        let expected = (!polled).then_some("callback_url");
        assert_eq!(ignored, expected, "polled: {polled}");
    }
}

#[tokio::test]
async fn family_b_itself_gets_no_callback_url() {
    let setup = CallbackSetup::start("queue=5m").await;
    let url = setup.receiver.url("/done");
    let mut body = create_body(FAMILY_B, "demo-video-b");
    body["callback_url"] = json!(url);
    let request = Request::post(FAMILY_B, body.to_string());
    let created = setup.gateway.ask(&request).await;
    assert_eq!(created.status, 200, "{}", created.text());
    assert_eq!(
        created.headers.get("x-headgate-ignored"),
        Some("callback_url")
    );
    let sent: Value = serde_json::from_slice(&setup.simulator.last_body().await).unwrap();
    assert!(sent.get("callback_url").is_none(), "{sent}");
    create_with_callback(&setup.gateway, GENERIC, "demo-video-a", &url).await;
}
