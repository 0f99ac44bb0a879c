//! Tests of changes that the store made, and whose results were lost on the way.

use super::*;
use headgate_core::state::test_stores::{InterceptedStore, RecordStoreOperation};

/// A store in memory that makes all changes, and loses the results of these operations.
fn store_without_results(lost: &'static [RecordStoreOperation]) -> Arc<InterceptedStore> {
    Arc::new(InterceptedStore::new(move |call| {
        let result = match lost.contains(&call) {
            true => Err(StoreUnavailable("the connection was lost".into())),
            false => Ok(()),
        };
        Box::pin(async move { result })
    }))
}

fn unknown_outcome() -> CreateState {
    CreateState::OutcomeUnknown {
        channel: "a".into(),
        upstream_request_id: None,
    }
}

#[tokio::test]
async fn a_settlement_whose_result_was_lost_is_no_error() {
    for outcome in [OperatorVerdict::Made, OperatorVerdict::NotMade] {
        let store =
            store_without_results(&[RecordStoreOperation::Replace, RecordStoreOperation::Remove]);
        let setup = JournalSetup::on(store.clone());
        setup.leave("key", unknown_outcome()).await;
        match settle(&*store, "key", outcome).await.unwrap() {
            SettleResult::Settled { request_id, .. } => assert_eq!(request_id, "req_gone"),
            other => panic!("{outcome:?}: {other:?}"),
        }
        let is_kept = setup.stored("key").await.is_some();
        assert_eq!(is_kept, outcome == OperatorVerdict::Made);
    }
}

#[tokio::test]
async fn a_settlement_that_cannot_be_confirmed_is_an_error() {
    let lost = &[
        RecordStoreOperation::Replace,
        RecordStoreOperation::Remove,
        RecordStoreOperation::Get,
    ];
    let store = store_without_results(lost);
    JournalSetup::on(store.clone())
        .leave("key", unknown_outcome())
        .await;
    assert!(settle(&*store, "key", OperatorVerdict::Made).await.is_err());
}
