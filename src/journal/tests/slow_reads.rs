//! Tests of a duplicate whose read of the record takes longer than the end of the create.

use super::*;
use crate::state::admission::{AdmissionRequest, AdmissionResult, AdmissionTicket};
use crate::state::health::StoreHealthReport;
use crate::state::per_second_limiter::PerSecondDecision;
use crate::state::records::{InsertResult, RecordCount, RecordStore};
use crate::state::{StoreFuture, StoreUnavailable};
use tokio::sync::Notify;

/// A store in memory that returns what it has read only when it is allowed to.
#[derive(Default)]
struct SlowReads {
    memory: MemoryStore,
    has_read: Notify,
    may_return: Notify,
}

impl StateStore for SlowReads {
    fn records(&self) -> &dyn RecordStore {
        self
    }

    fn health(&self) -> StoreHealthReport {
        self.memory.health()
    }

    fn remember(&self, _: &Arc<str>, _: &str, _: &Arc<str>) {}

    fn channel_of<'a>(&'a self, _: &'a Arc<str>, _: &'a str) -> StoreFuture<'a, Option<Arc<str>>> {
        unused()
    }

    fn forget(&self, _: &Arc<str>, _: &str) {}

    fn admit<'a>(&'a self, _: &'a AdmissionRequest<'a>) -> StoreFuture<'a, AdmissionResult> {
        unused()
    }

    fn settle(&self, _: AdmissionTicket, _: u64) {}

    fn take_per_second<'a>(&'a self, _: &'a str, _: u16) -> StoreFuture<'a, PerSecondDecision> {
        unused()
    }

    fn put_note(&self, _: &str, _: &Bytes) {}

    fn get_note<'a>(&'a self, _: &'a str) -> StoreFuture<'a, Option<Bytes>> {
        unused()
    }
}

impl RecordStore for SlowReads {
    fn is_durable(&self) -> bool {
        false
    }

    fn insert<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        content: RecordContent,
        owner_max: u32,
    ) -> StoreFuture<'a, InsertResult> {
        self.memory.records().insert(kind, key, content, owner_max)
    }

    fn replace<'a>(
        &'a self,
        kind: RecordKind,
        key: &'a str,
        version: u64,
        content: RecordContent,
    ) -> StoreFuture<'a, Option<u64>> {
        self.memory.records().replace(kind, key, version, content)
    }

    fn remove<'a>(&'a self, kind: RecordKind, key: &'a str, version: u64) -> StoreFuture<'a, bool> {
        self.memory.records().remove(kind, key, version)
    }

    fn get<'a>(&'a self, kind: RecordKind, key: &'a str) -> StoreFuture<'a, Option<Record>> {
        StoreFuture::Later(Box::pin(async move {
            let found = self.memory.records().get(kind, key).get().await;
            self.has_read.notify_one();
            self.may_return.notified().await;
            found
        }))
    }

    fn due(&self, _: RecordKind, _: u64, _: usize) -> StoreFuture<'_, Vec<Record>> {
        unused()
    }

    fn count(&self, _: RecordKind) -> StoreFuture<'_, RecordCount> {
        unused()
    }

    fn list<'a>(&'a self, _: RecordKind, _: &'a str, _: usize) -> StoreFuture<'a, Vec<Record>> {
        unused()
    }
}

fn unused<'a, T>() -> StoreFuture<'a, T> {
    StoreFuture::Ready(Err(StoreUnavailable("not part of this test".into())))
}

#[tokio::test]
async fn an_end_that_is_stored_during_a_read_is_found() {
    let store = Arc::new(SlowReads::default());
    let setup = JournalSetup::on(store.clone());
    // The store was unreachable for longer than the lease of a create in this process.
    let sending = CreateState::Sending {
        channel: "a".into(),
        lease_ms: 1,
    };
    setup.leave("key", sending).await;
    let in_flight = setup.journal.in_flight.begin(&"key".into());
    let (journal, states) = (setup.journal.clone(), setup.store.clone());
    let duplicate = tokio::spawn(async move {
        let keyed = KeyedRequest {
            record_key: "key".into(),
            fingerprint: Fingerprint("a".into()),
            wait_max: Duration::from_secs(60),
            body_bytes: 1,
        };
        let create = create("req_2");
        journal.claim(&states, &create, &keyed, LIMITS).await
    });
    store.has_read.notified().await;
    let records = store.memory.records();
    let kind = RecordKind::IdempotencyKey;
    let found = records.get(kind, "key").get().await.unwrap().unwrap();
    let mut record = CreateRecord::decode(&found.content.value).unwrap();
    record.state = CreateState::Accepted {
        channel: "a".into(),
        response_id: None,
        is_delivered: true,
        response: Some(response()),
    };
    let content = RecordContent {
        value: record.encode(),
        ..found.content
    };
    let replaced = records.replace(kind, "key", found.version, content);
    replaced.get().await.unwrap();
    drop(in_flight);
    // It reads again, since the create had not ended before the first read.
    store.may_return.notify_one();
    store.has_read.notified().await;
    store.may_return.notify_one();
    match duplicate.await.unwrap().unwrap() {
        KeyClaim::Response(replay) => assert_eq!(replay.response, response()),
        _ => panic!("the response is recorded"),
    }
}
