//! Tests of what providers say about a task or a create: errors in any format, and texts with their own ids.

use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::json_response;
use crate::harness::video::{
    FAMILY_A, FAMILY_B, GENERIC, ask, create, fresh_for, id_of, video_config,
};
use crate::harness::{Gateway, ScriptedProvider, ScriptedResponse, Simulator};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::sleep;

const SHAPES: [(&str, &str, Protocol); 4] = [
    (GENERIC, "demo-video-a", Protocol::Video),
    (GENERIC, "demo-video-b", Protocol::Video),
    (FAMILY_A, "demo-video-a", Protocol::FamilyA),
    (FAMILY_B, "demo-video-b", Protocol::FamilyB),
];
/// The provider's id of every task.
const UPSTREAM: &str = "cgt-20261126-x7k2p";

fn reply(status: u16, body: &str) -> Vec<ScriptedResponse> {
    vec![ScriptedResponse::Send(json_response(status, body))]
}

/// A response of both families.
fn task(status: &str, more: &Value) -> Vec<ScriptedResponse> {
    let mut body = json!({
        "id": UPSTREAM, "status": status,
        "output": {"task_id": UPSTREAM, "task_status": status.to_ascii_uppercase()},
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        match (body.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
            _ => body[key] = value.clone(),
        }
    }
    reply(200, &body.to_string())
}

async fn start() -> (ScriptedProvider, Gateway) {
    let provider = ScriptedProvider::start(task("queued", &json!({}))).await;
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "");
    fresh_for(&mut config, "1ms", "1ms", &json!({}));
    crate::harness::config::without_cool_downs(&mut config);
    for channel in ["a", "b"] {
        config["channels"][channel]["base_url"] = json!(provider.url());
    }
    let gateway = Gateway::start(&config).await;
    (provider, gateway)
}

#[tokio::test]
async fn an_error_that_is_not_in_the_familys_format_gets_the_callers() {
    let (provider, gateway) = start().await;
    for (path, model, protocol) in SHAPES {
        for (status, body, words) in [
            (422, r#"{"detail": "too long"}"#, "too long"),
            (
                422,
                r#"{"detail": [{"loc": ["body"], "msg": "too long"}]}"#,
                "too long",
            ),
            (400, "oops", "gave no reason"),
            (400, "{\"error\":", "without a message"),
            (413, "{}", "without a message"),
        ] {
            provider.next(reply(status, body));
            let created = create(&gateway, path, model).await;
            assert_error_body(protocol, &created, status);
            let text = created.text();
            assert!(text.contains(words), "{path} {body}: {text}");

            let id = id_of(path, &create(&gateway, path, model).await);
            // The provider gives each task the same id, and a status is fresh for a millisecond.
            sleep(Duration::from_millis(5)).await;
            provider.next(reply(status, body));
            let queried = ask(&gateway, path, &id).await;
            let expected = if body == "oops" { 502 } else { status };
            assert_error_body(protocol, &queried, expected);
            let text = queried.text();
            assert!(text.contains(words), "{path} {body}: {text}");
        }
    }
}

#[tokio::test]
async fn a_rate_limit_of_the_provider_is_one_in_the_generic_protocol() {
    let (provider, gateway) = start().await;
    let error = json!({"message": "slow down", "code": "X"});
    let body = json!({"error": error, "message": "slow down", "code": "X"}).to_string();
    for model in ["demo-video-a", "demo-video-b"] {
        for (status, class) in [(429, "rate_limit_error"), (400, "invalid_request_error")] {
            provider.next(reply(status, &body));
            let created = create(&gateway, GENERIC, model).await;
            assert_eq!(created.json()["error"]["type"], class, "{}", created.text());
        }
    }
}

#[tokio::test]
async fn a_failure_names_the_callers_task_not_the_providers() {
    let (provider, gateway) = start().await;
    let message = format!("task {UPSTREAM} was refused by a check");
    for (path, model, _) in SHAPES {
        let id = id_of(path, &create(&gateway, path, model).await);
        let body = match model {
            "demo-video-a" => json!({
                "id": UPSTREAM, "status": "failed",
                "error": {"code": "Sensitive", "message": message},
            }),
            _ => json!({"output": {
                "task_id": UPSTREAM, "task_status": "FAILED",
                "code": "Sensitive", "message": message,
            }}),
        };
        provider.next(reply(200, &body.to_string()));
        let failed = ask(&gateway, path, &id).await;
        assert_eq!(failed.status, 200, "{path}: {}", failed.text());
        assert!(
            !failed.text().contains(UPSTREAM),
            "{path}: {}",
            failed.text()
        );
        let named = format!("task {id} was refused");
        assert!(failed.text().contains(&named), "{path}: {}", failed.text());
    }
}

#[tokio::test]
async fn a_task_that_runs_longer_than_it_may_has_expired() {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    for (path, model, at) in [
        (GENERIC, "demo-video-a", "/status"),
        (FAMILY_A, "demo-video-a", "/status"),
    ] {
        for (hours, expires_after, expected) in [
            (80, json!(3600), "expired"),
            (80, Value::Null, "expired"),
            (2, json!(3600), "expired"),
            (2, json!(36_000), "running"),
            (60, Value::Null, "running"),
        ] {
            let more = json!({
                "created_at": now - hours * 3_600, "execution_expires_after": expires_after,
            });
            for status in ["queued", "running"] {
                // A gateway of its own each time: an ended task is not queried again.
                let (provider, gateway) = start().await;
                let id = id_of(path, &create(&gateway, path, model).await);
                provider.next(task(status, &more));
                let polled = ask(&gateway, path, &id).await;
                let expected = match expected {
                    "running" => status,
                    ended => ended,
                };
                let found = polled.json().pointer(at).cloned();
                assert_eq!(found, Some(json!(expected)), "{hours} h: {}", polled.text());
            }
        }
    }
}
