//! Settles a create of unknown outcome by what an operator found out from the provider.

use super::listing::{PAGE, UnsettledReason};
use super::record::{CreateRecord, CreateState};
use headgate_core::feature::metrics::ChargeChange;
use headgate_core::state::records::{Record, RecordContent, RecordKind};
use headgate_core::state::{StateStore, StoreUnavailable};
use std::sync::Arc;

/// Whether the provider made the create, as the operator found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorVerdict {
    /// The provider made the create: its key stays in use, and its duplicates get `answer_not_kept`.
    Made,
    /// The provider did not make the create: its key is free.
    NotMade,
}

/// The result of [`settle`].
#[derive(Debug)]
pub enum SettleResult {
    Settled {
        request_id: String,
        /// By how much its charge differs from what its exchange was charged with, for each model of a batch, without the
        /// currency. Empty if that reserved nothing of its caller's budgets.
        charges: Vec<ChargeChange>,
    },
    /// No create of unknown outcome has this request id or key.
    NotFound,
    /// Another process changed the record at the same time.
    Changed,
}

/// Settles the create of unknown outcome with this request id, or with this SHA-256 of its key, and what it has reserved of
/// budgets in money, of its caller's and of its channel's.
///
/// # Errors
/// The store is unreachable.
pub async fn settle(
    store: &dyn StateStore,
    id: &str,
    outcome: OperatorVerdict,
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
                let reason = UnsettledReason::from_state(&record.state);
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
    outcome: OperatorVerdict,
) -> Result<SettleResult, StoreUnavailable> {
    let (records, version) = (store.records(), stored.version);
    let charges = charge_changes(&record, outcome);
    let settled = match (kind, outcome) {
        (RecordKind::IdempotencyKey, OperatorVerdict::Made) => {
            record.state = CreateState::Accepted {
                channel: record.state.channel().unwrap_or_default().to_owned(),
                response_id: None,
                is_delivered: true,
                response: None,
            };
            Some(RecordContent {
                value: record.encode(),
                ..stored.content
            })
        }
        // Nobody asks for a create without a key.
        _ => None,
    };
    let changed = match settled.clone() {
        Some(content) => {
            let replaced = records.replace(kind, &stored.key, version, content);
            replaced.get().await.map(|version| version.is_some())
        }
        None => records.remove(kind, &stored.key, version).get().await,
    };
    let is_settled = match changed {
        Ok(is_settled) => is_settled,
        Err(error) => {
            // The change may have been made, and only its result been lost.
            let found = records.get(kind, &stored.key).get().await?;
            if found.as_ref().is_some_and(|found| found.version == version) {
                return Err(error);
            }
            found.map(|found| found.content) == settled
        }
    };
    let reserved = record.money.take().into_iter();
    let reserved = reserved.chain(record.money_of_models);
    let reserved = reserved.chain(record.channel_money);
    for reserved in reserved.filter(|_| is_settled) {
        let amount = match outcome {
            OperatorVerdict::Made => reserved.amount,
            OperatorVerdict::NotMade => 0,
        };
        store.settle_money(reserved, amount);
    }
    Ok(match is_settled {
        true => SettleResult::Settled {
            request_id: record.request_id,
            charges,
        },
        false => SettleResult::Changed,
    })
}

/// By how much the settlement changes what usage has as the charge: an exchange that has ended was charged with what it had
/// reserved, and one whose process died with nothing.
fn charge_changes(record: &CreateRecord, outcome: OperatorVerdict) -> Vec<ChargeChange> {
    let Some(money) = &record.money else {
        return Vec::new();
    };
    let has_ended = matches!(record.state, CreateState::OutcomeUnknown { .. });
    let change = |(model, nanos): (String, u64)| {
        let (added, refunded) = match (has_ended, outcome) {
            (true, OperatorVerdict::NotMade) => (0, nanos),
            (false, OperatorVerdict::Made) => (nanos, 0),
            (true, OperatorVerdict::Made) | (false, OperatorVerdict::NotMade) => (0, 0),
        };
        ChargeChange {
            admitted_ms: money.taken_ms,
            caller: record.caller.as_str().into(),
            model,
            channel: record.state.channel().unwrap_or_default().to_owned(),
            currency: String::new(),
            added,
            refunded,
        }
    };
    let models = match record.batch_models.is_empty() {
        true => vec![(record.model.clone().unwrap_or_default(), money.amount)],
        false => record.batch_models.clone(),
    };
    models.into_iter().map(change).collect()
}
