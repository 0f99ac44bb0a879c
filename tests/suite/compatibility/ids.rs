//! Ids that an earlier version remembered, and its copies of files.

use crate::harness::earlier_version::{AGE, EarlierState, STORES};
use crate::harness::request::BOB;
use crate::harness::{Request, images};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The credential of the channel that made all ids.
const MAKER: &str = "Bearer sk-second\r\n";

#[tokio::test]
async fn ids_lead_to_the_channel_that_made_them_for_their_caller() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        for path in [
            "/v1/responses/resp_of_second",
            "/v1/conversations/conv_of_second",
            "/v1/files/file-of-second",
        ] {
            let before = earlier.received().len();
            let strangers = earlier.gateway.ask(&Request::get(path).key(BOB)).await;
            assert_eq!(strangers.status, 404, "{store:?} {path}");
            let found = earlier.gateway.ask(&Request::get(path)).await;
            assert_eq!(found.status, 200, "{store:?} {path}: {}", found.text());
            let received = earlier.received();
            assert_eq!(received.len(), before + 1, "{store:?} {path}");
            assert!(received[before].contains(MAKER), "{}", received[before]);
        }
        // Without an id, requests prefer the other channel.
        let body = |more: Value| {
            let mut body = json!({"model": "demo-chat", "input": "gate response."});
            body.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            Request::post("/v1/responses", body.to_string())
        };
        let bound = json!({"previous_response_id": "resp_of_second"});
        for (more, is_bound) in [(bound, true), (json!({}), false)] {
            let made = earlier.gateway.ask(&body(more)).await;
            assert_eq!(made.status, 200, "{store:?}: {}", made.text());
            let last = earlier.received().pop().unwrap();
            assert_eq!(last.contains(MAKER), is_bound, "{store:?}: {last}");
        }
    }
}

#[tokio::test]
async fn a_copy_of_a_file_serves_edits_on_another_channel() {
    for store in STORES {
        let earlier = EarlierState::open(store, AGE).await;
        let body = json!({"model": images::MODEL, "prompt": "Open it", "images": [{"file_id": "file-of-second"}]});
        let edited = earlier
            .gateway
            .ask(&Request::post(images::PATH, body.to_string()))
            .await;
        assert_eq!(edited.status, 200, "{store:?}: {}", edited.text());
        let sent = earlier.provider.requests().pop().unwrap();
        let upload = earlier.request("file").body.unwrap();
        let start = memchr::memmem::find(&upload, b"\x89PNG").unwrap();
        let end = memchr::memmem::rfind(&upload, b"\r\n--gate--").unwrap();
        assert!(
            sent.contains(&STANDARD.encode(&upload[start..end])),
            "{store:?}: {sent}"
        );
    }
}
