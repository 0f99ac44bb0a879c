//! Ids of tasks and URLs of media that callers and providers got from an earlier version.

use crate::harness::Request;
use crate::harness::earlier_version::{AGE, EarlierState, STORES};
use crate::harness::request::BOB;
use crate::harness::video::{FAMILY_A, FAMILY_B, GENERIC};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// A task: the request that created it, where it is queried, where its id stands in the create's response, where the
/// provider has it, with which credential, and where the status of a query stands.
const TASKS: [(&str, &str, &str, &str, &str, &str); 4] = [
    (
        "generic_a",
        GENERIC,
        "/task_id",
        "/api/v3/contents/generations/tasks/cgt-generic",
        "sk-a",
        "/status",
    ),
    (
        "generic_b",
        GENERIC,
        "/task_id",
        "/api/v1/tasks/b-generic",
        "sk-b",
        "/status",
    ),
    (
        "native_a",
        FAMILY_A,
        "/id",
        "/api/v3/contents/generations/tasks/cgt-native",
        "sk-a",
        "/status",
    ),
    (
        "native_b",
        FAMILY_B,
        "/output/task_id",
        "/api/v1/tasks/b-native",
        "sk-b",
        "/output/task_status",
    ),
];

#[tokio::test]
async fn ids_of_tasks_lead_to_their_tasks_for_their_callers() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        for (name, path, id_at, upstream, credential, status_at) in TASKS {
            let id = earlier.result(name, id_at);
            let query = Request::get(&format!("{path}/{id}"));
            let strangers = earlier.gateway.ask(&query.clone().key(BOB)).await;
            assert_eq!(strangers.status, 404, "{store:?} {name}");
            let before = earlier.received().len();
            let found = earlier.gateway.ask(&query).await;
            assert_eq!(found.status, 200, "{store:?} {name}: {}", found.text());
            let status = found.json().pointer(status_at).cloned();
            let status = status.as_ref().and_then(Value::as_str).unwrap_or_default();
            assert_eq!(
                status.to_lowercase(),
                "succeeded",
                "{name}: {}",
                found.text()
            );
            assert_eq!(found.json().pointer(id_at).unwrap(), &id, "{name}");
            let received = earlier.received();
            assert_eq!(received.len(), before + 1, "{store:?} {name}");
            let last = received.last().unwrap();
            assert!(last.starts_with(&format!("GET {upstream} ")), "{last}");
            assert!(last.contains(&format!("Bearer {credential}\r\n")), "{last}");
        }
    }
}

#[tokio::test]
async fn the_end_of_a_task_that_an_earlier_version_saw_is_not_queried_again() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        let path = format!("{GENERIC}/{}", earlier.result("ended", "/task_id"));
        let found = earlier.gateway.ask(&Request::get(&path)).await;
        assert_eq!(found.text(), earlier.text("ended", "query"), "{store:?}");
        assert!(earlier.received().is_empty(), "{store:?}");
    }
}

#[tokio::test]
async fn urls_of_media_serve_their_files() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        let path = earlier.text("medium", "media_path");
        let file = earlier
            .gateway
            .ask(&Request::get(path).without("authorization"))
            .await;
        assert_eq!(file.status, 200, "{store:?}: {}", file.text());
        assert_eq!(file.headers.get("content-type"), Some("image/png"));
        let sent = String::from_utf8(earlier.request("medium").body.unwrap()).unwrap();
        assert!(sent.contains(&STANDARD.encode(&file.body)), "{store:?}");
        assert!(!file.body.is_empty());
    }
}
