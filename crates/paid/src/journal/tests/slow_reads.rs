//! Tests of a duplicate whose read of the record takes longer than the end of the create.

use super::*;
use headgate_core::state::test_stores::{InterceptedStore, RecordStoreOperation};
use tokio::sync::Notify;

/// When a record was read, and when the result may be returned.
#[derive(Default)]
struct ReadSignals {
    has_read: Notify,
    may_return: Notify,
}

/// A store in memory that returns what it has read only when it is allowed to.
fn slow_store() -> (Arc<InterceptedStore>, Arc<ReadSignals>) {
    let signals: Arc<ReadSignals> = Arc::default();
    let hooked = signals.clone();
    let store = InterceptedStore::new(move |call| {
        let signals = hooked.clone();
        Box::pin(async move {
            if call == RecordStoreOperation::Get {
                signals.has_read.notify_one();
                signals.may_return.notified().await;
            }
            Ok(())
        })
    });
    (Arc::new(store), signals)
}

#[tokio::test]
async fn an_end_that_is_stored_during_a_read_is_found() {
    let (store, signals) = slow_store();
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
            fingerprint: CreateFingerprint("a".into()),
            wait_max: Duration::from_secs(60),
            body_bytes: 1,
        };
        let create = create("req_2");
        journal.claim(&states, &create, &keyed, LIMITS).await
    });
    signals.has_read.notified().await;
    let accepted = CreateState::Accepted {
        channel: "a".into(),
        response_id: None,
        is_delivered: true,
        response: Some(response()),
    };
    change_state(store.memory.records(), "key", accepted).await;
    drop(in_flight);
    // It reads again, since the create had not ended before the first read.
    signals.may_return.notify_one();
    signals.has_read.notified().await;
    signals.may_return.notify_one();
    match duplicate.await.unwrap().unwrap() {
        KeyClaim::Response(replay) => assert_eq!(replay.response, response()),
        _ => panic!("the response is recorded"),
    }
}
