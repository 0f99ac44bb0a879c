//! Tests of the records in Redis: several gateways, expired records, an unreachable Redis.

use super::records::{content, get, inserted};
use super::redis_server::RedisServer;
use super::redis_store::{open, site};
use super::*;
use crate::state::calendar::unix_ms;
use crate::state::health::StoreOperation;
use crate::state::records::{RecordContent, RecordKind};

#[tokio::test]
async fn gateways_share_records_and_expired_ones_leave_no_trace() {
    let server = RedisServer::start();
    let (one, other) = (open(site(&server.url())), open(site(&server.url())));
    let ann = caller();
    let first = RecordContent {
        expires_ms: unix_ms() + 300,
        due_ms: Some(1),
        ..content(&ann, "1")
    };
    inserted(one.records(), "k", &first).await;
    let found = get(other.records(), "k").await;
    assert_eq!(found.map(|record| record.content), Some(first));
    eventually("the record has expired", async || {
        get(other.records(), "k").await.is_none()
    })
    .await;
    let second = content(&ann, "2");
    inserted(other.records(), "l", &second).await;
    let mut redis = site(&server.url())
        .client()
        .unwrap()
        .get_connection()
        .unwrap();
    for (set, keys) in [("keys", vec!["l"]), ("due", vec![])] {
        let mut range = redis::cmd("ZRANGE");
        range.arg(format!("test:{{delivery}}:records:{set}"));
        let left: Vec<String> = range.arg(0).arg(-1).query(&mut redis).unwrap();
        assert_eq!(left, keys, "{set}");
    }
}

#[tokio::test]
async fn records_fail_while_redis_is_unreachable() {
    let mut server = RedisServer::start();
    let store = open(site(&server.url()));
    let first = content(&caller(), "1");
    inserted(store.records(), "k", &first).await;
    server.kill();
    eventually("the record cannot be read", async || {
        let found = store.records().get(RecordKind::Delivery, "k").get().await;
        found.is_err()
    })
    .await;
    assert!(store.health().failed[StoreOperation::Record as usize] > 0);
}
