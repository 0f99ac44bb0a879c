//! Settles a create of unknown outcome, once an operator knows from the provider whether it was made.

use super::listing::{PAGE, UnsettledReason};
use super::record::{CreateRecord, CreateState};
use crate::state::records::{Record, RecordContent, RecordKind};
use crate::state::{StateStore, StoreUnavailable};
use std::sync::Arc;

/// What the operator found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundOutcome {
    /// The provider made it: its key stays in use, and its duplicates learn that the response is not kept.
    Made,
    /// The provider has nothing: its key is free.
    NotMade,
}

/// The result of [`settle`].
#[derive(Debug)]
pub enum SettleResult {
    Settled {
        request_id: String,
    },
    /// No create of unknown outcome has this request id or key.
    NotFound,
    /// Somebody else changed the record at the same time.
    Changed,
}

/// Settles the create of unknown outcome with this request id, or with this SHA-256 of its key.
///
/// # Errors
/// The store is unreachable.
pub async fn settle(
    store: &dyn StateStore,
    id: &str,
    outcome: FoundOutcome,
) -> Result<SettleResult, StoreUnavailable> {
    for kind in [RecordKind::IdempotencyKey, RecordKind::PaidCreate] {
        let mut after: Arc<str> = "".into();
        loop {
            let page = store.records().list(kind, &after, PAGE).get().await?;
            let Some(last) = page.last() else {
                break;
            };
            after = last.key.clone();
            for stored in page {
                let Ok(record) = CreateRecord::decode(&stored.content.value) else {
                    continue;
                };
                let is_meant = record.request_id == id || *stored.key == *id;
                let reason = UnsettledReason::of(&record.state);
                if is_meant && reason == Some(UnsettledReason::OutcomeUnknown) {
                    return apply(store, kind, stored, record, outcome).await;
                }
            }
        }
    }
    Ok(SettleResult::NotFound)
}

async fn apply(
    store: &dyn StateStore,
    kind: RecordKind,
    stored: Record,
    mut record: CreateRecord,
    outcome: FoundOutcome,
) -> Result<SettleResult, StoreUnavailable> {
    let (records, version) = (store.records(), stored.version);
    let is_applied = match (kind, outcome) {
        (RecordKind::IdempotencyKey, FoundOutcome::Made) => {
            record.state = CreateState::Accepted {
                channel: record.state.channel().unwrap_or_default().to_owned(),
                response_id: None,
                is_delivered: true,
                response: None,
            };
            let content = RecordContent {
                value: record.encode(),
                ..stored.content
            };
            let replaced = records.replace(kind, &stored.key, version, content);
            replaced.get().await?.is_some()
        }
        // Nobody asks for a create without a key.
        _ => records.remove(kind, &stored.key, version).get().await?,
    };
    Ok(match is_applied {
        true => SettleResult::Settled {
            request_id: record.request_id,
        },
        false => SettleResult::Changed,
    })
}
