//! Lists creates that an operator must look at: of unknown outcome, or with a response that reached no caller.

use super::record::{CreateRecord, CreateState};
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::RecordKind;
use headgate_core::state::{StateStore, StoreUnavailable};
use std::sync::Arc;

/// Records that are read at once; each may have a response of 64 KiB.
pub(super) const PAGE: usize = 50;

/// A create that is not settled.
#[derive(Debug)]
pub struct UnsettledCreate {
    pub reason: UnsettledReason,
    /// The SHA-256 of caller, route and idempotency key; `None` for a create without a key.
    pub key: Option<Arc<str>>,
    pub record: CreateRecord,
}

/// Why a create is not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsettledReason {
    /// The provider may have accepted it.
    OutcomeUnknown,
    /// The response was recorded, and is not known to have reached a caller.
    ResponseUndelivered,
}

/// The creates that are not settled, the oldest first, and the number of records that this version cannot read.
///
/// # Errors
/// The store is unreachable.
pub async fn unsettled(
    store: &dyn StateStore,
) -> Result<(Vec<UnsettledCreate>, usize), StoreUnavailable> {
    let (mut found, mut unreadable) = (Vec::new(), 0);
    for kind in [RecordKind::IdempotencyKey, RecordKind::PaidCreate] {
        let mut after: Arc<str> = "".into();
        loop {
            let page = store.records().list(kind, &after, PAGE).get().await?;
            let Some(last) = page.last() else {
                break;
            };
            after = last.key.clone();
            for stored in &page {
                let Ok(record) = CreateRecord::decode(&stored.content.value) else {
                    unreadable += 1;
                    continue;
                };
                let has_key = kind == RecordKind::IdempotencyKey;
                found.extend(UnsettledReason::from_state(&record.state).map(|reason| {
                    UnsettledCreate {
                        reason,
                        key: has_key.then(|| stored.key.clone()),
                        record,
                    }
                }));
            }
        }
    }
    found.sort_by_key(|create| create.record.created_ms);
    Ok((found, unreadable))
}

impl UnsettledReason {
    pub(super) fn from_state(state: &CreateState) -> Option<Self> {
        match state {
            CreateState::OutcomeUnknown { .. } => Some(Self::OutcomeUnknown),
            CreateState::Sending { lease_ms, .. } if *lease_ms <= unix_ms() => {
                Some(Self::OutcomeUnknown)
            }
            CreateState::Accepted {
                is_delivered: false,
                ..
            } => Some(Self::ResponseUndelivered),
            CreateState::Reserved { .. }
            | CreateState::Sending { .. }
            | CreateState::Accepted { .. } => None,
        }
    }

    /// The value in lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutcomeUnknown => "outcome_unknown",
            Self::ResponseUndelivered => "response_undelivered",
        }
    }
}
