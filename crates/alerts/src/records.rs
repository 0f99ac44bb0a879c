//! Events that wait for their delivery, as records that outlive the gateway.

use crate::event::AlertEvent;
use crate::receiver::AlertReceivers;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::records::{InsertResult, Record, RecordContent, RecordKind, RecordStore};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const KIND: RecordKind = RecordKind::Alert;
/// Events that wait for one receiver.
const WAITING_MAX: u32 = 1000;
/// How long one gateway has an event for itself: longer than it waits for its turn and for the response.
pub(crate) const LEASE_MS: u64 = 45_000;
/// How often it is looked for events that are due.
pub(crate) const SEARCH_INTERVAL: Duration = Duration::from_secs(5);
/// Events that are taken at once.
const PAGE: usize = 256;

/// The value of a record.
#[derive(Serialize, Deserialize)]
struct StoredAlert {
    body: String,
    attempts: u32,
}

/// A stored event that this gateway delivers now.
pub(crate) struct LeasedAlert {
    pub event: AlertEvent,
    version: u64,
}

/// Stores an event. Returns `false` if too many wait for its receiver. One that is stored already stays.
///
/// # Errors
/// The store is unreachable.
pub(crate) async fn store(
    records: &dyn RecordStore,
    event: &AlertEvent,
) -> Result<bool, StoreUnavailable> {
    let content = content(event);
    let inserted = records.insert(KIND, &event.id, content, WAITING_MAX);
    Ok(!matches!(inserted.get().await?, InsertResult::OwnerFull))
}

/// Takes events that are due from all gateways. Those of receivers that this gateway does not know are left for others.
///
/// # Errors
/// The store is unreachable.
pub(crate) async fn lease_due(
    records: &dyn RecordStore,
    receivers: &AlertReceivers,
) -> Result<Vec<LeasedAlert>, StoreUnavailable> {
    let mut leased = Vec::new();
    loop {
        let now_ms = unix_ms();
        let page = records.due(KIND, now_ms, PAGE).get().await?;
        let is_full = page.len() == PAGE;
        for record in page {
            let is_known = receivers.by_name.contains_key(&*record.content.owner);
            if !is_known {
                log_unknown(&record, now_ms);
            }
            // Events of unknown receivers must not hide what is due of others.
            if is_known || is_full {
                let alert = lease(records, record, now_ms + LEASE_MS).await?;
                leased.extend(alert.filter(|_| is_known));
            }
        }
        if !is_full {
            return Ok(leased);
        }
    }
}

/// Has a record become due later, and this gateway use it until then.
async fn lease(
    records: &dyn RecordStore,
    record: Record,
    due_ms: u64,
) -> Result<Option<LeasedAlert>, StoreUnavailable> {
    let Record {
        key,
        version,
        content,
    } = record;
    let Ok(alert) = serde_json::from_slice::<StoredAlert>(&content.value) else {
        tracing::warn!(event_id = &*key, "a stored alert cannot be read");
        records.remove(KIND, &key, version).get().await?;
        return Ok(None);
    };
    let event = AlertEvent {
        id: key.to_string(),
        receiver: content.owner.to_string(),
        body: alert.body,
        attempts: alert.attempts,
        due_ms,
        expires_ms: content.expires_ms,
    };
    let held = RecordContent {
        due_ms: Some(due_ms),
        ..content
    };
    let replaced = records.replace(KIND, &key, version, held).get().await?;
    Ok(replaced.map(|version| LeasedAlert { event, version }))
}

impl LeasedAlert {
    /// Removes the event.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn remove(self, records: &dyn RecordStore) -> Result<(), StoreUnavailable> {
        let removed = records.remove(KIND, &self.event.id, self.version);
        removed.get().await.map(drop)
    }

    /// Has the event tried again when it says.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn postpone(self, records: &dyn RecordStore) -> Result<(), StoreUnavailable> {
        let event = &self.event;
        let content = content(event);
        let replaced = records.replace(KIND, &event.id, self.version, content);
        replaced.get().await.map(drop)
    }
}

fn content(event: &AlertEvent) -> RecordContent {
    let alert = StoredAlert {
        body: event.body.clone(),
        attempts: event.attempts,
    };
    RecordContent {
        value: serde_json::to_vec(&alert).expect("an alert is JSON").into(),
        owner: (*event.receiver).into(),
        expires_ms: event.expires_ms,
        due_ms: Some(event.due_ms),
    }
}

/// Logs an event about once, when it becomes due.
fn log_unknown(record: &Record, now_ms: u64) {
    let due_ms = record.content.due_ms.unwrap_or_default();
    if now_ms.saturating_sub(due_ms) < whole_ms(SEARCH_INTERVAL) {
        tracing::info!(
            event_id = &*record.key,
            receiver = &*record.content.owner,
            "alert left for other gateways: its receiver is not configured"
        );
    }
}

#[cfg(test)]
mod tests;
