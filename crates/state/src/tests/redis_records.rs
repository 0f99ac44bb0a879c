//! Tests of the records in Redis: several gateways, expired records, an unreachable Redis.

use super::records::{content, get, inserted};
use super::redis_server::RedisServer;
use super::redis_store::{command, open, site};
use super::*;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::health::StoreOperation;
use headgate_core::state::records::{InsertResult, RecordContent, RecordKind};

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
    let mut redis = crate::redis_store::client(&site(&server.url()))
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
async fn a_redis_that_lost_its_records_gives_no_version_again() {
    let mut server = RedisServer::start();
    let store = open(site(&server.url()));
    let records = store.records();
    let content = content(&caller(), "x");
    let mut versions = Vec::new();
    for round in 0..2 {
        for nth in 0..50 {
            versions.push(inserted(records, &format!("k-{nth}"), &content).await);
        }
        match round {
            // As an operator does, and as a failover to a replica without the latest writes.
            0 => command(&server, "FLUSHDB"),
            _ => server.restart(),
        }
        let old = versions[0];
        eventually("a record of another request", async || {
            let inserted = records.insert(RecordKind::Delivery, "k-0", content.clone(), 100);
            matches!(inserted.get().await, Ok(InsertResult::Inserted { .. }))
        })
        .await;
        let replaced = records.replace(RecordKind::Delivery, "k-0", old, content.clone());
        assert_eq!(replaced.get().await.unwrap(), None);
        let removed = records.remove(RecordKind::Delivery, "k-0", old);
        assert!(!removed.get().await.unwrap());
        command(&server, "FLUSHDB");
    }
    let count = versions.len();
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions.len(), count);
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
