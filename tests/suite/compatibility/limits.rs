//! What an earlier version counted of callers' limits.

use crate::harness::earlier_version::{AGE, EarlierState, STORES, SharedStore};
use crate::harness::paid::error_code;
use crate::harness::{Request, WholeResponse};
use serde_json::json;
use std::time::Duration;

async fn chat(earlier: &EarlierState, model: &str) -> WholeResponse {
    let messages = json!([{"role": "user", "content": "gate chat. Once more"}]);
    let body = json!({"model": model, "messages": messages});
    let request = Request::post("/v1/chat/completions", body.to_string());
    let request = request.header("Cache-Control", "no-store");
    earlier.gateway.ask(&request).await
}

#[tokio::test]
async fn a_quota_that_was_used_up_stays_used_up() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        let refused = chat(&earlier, "demo-small").await;
        let found = (refused.status, error_code(&refused));
        assert_eq!(found, (429, "insufficient_quota".to_owned()), "{store:?}");
        assert!(earlier.received().is_empty(), "{store:?}");
        // Of the 5000 tokens of the month, 1600 were used before, and as many are now.
        for used in [1600, 3200] {
            let made = chat(&earlier, "demo-chat").await;
            assert_eq!(made.status, 200, "{store:?} {used}: {}", made.text());
        }
        let used_up = chat(&earlier, "demo-chat").await;
        assert_eq!(used_up.status, 200, "{store:?}: a rest of 200 is left");
        assert_eq!(chat(&earlier, "demo-chat").await.status, 429, "{store:?}");
    }
}

#[tokio::test]
async fn requests_of_the_last_minute_count_in_redis() {
    let earlier = EarlierState::open(SharedStore::Redis, Duration::ZERO).await;
    let made = chat(&earlier, "demo-chat").await;
    assert_eq!(made.status, 200, "{}", made.text());
    let left = made.headers.get("x-ratelimit-remaining-requests").unwrap();
    // 200 are allowed, 18 were counted before.
    assert_eq!(left, "181", "{:?}", made.headers);
}
