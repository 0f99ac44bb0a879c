//! Events that wait for their delivery, as records that outlive the gateway.

use headgate_core::state::StoreUnavailable;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::{InsertResult, Record, RecordContent, RecordKind, RecordStore};
use serde::{Deserialize, Serialize};

const KIND: RecordKind = RecordKind::Alert;
/// How long an event is tried.
const KEPT_MS: u64 = 25 * 60 * 60 * 1000;
/// Events that wait for one receiver.
const WAITING_MAX: u32 = 1000;
/// How long one gateway has an event for itself: longer than an attempt takes.
const LEASE_MS: u64 = 40_000;
/// Events that are taken at once.
const PAGE: usize = 16;

/// An event for a receiver.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredAlert {
    /// JSON text.
    pub body: String,
    pub attempts: u32,
}

/// An event that this gateway delivers now.
pub(crate) struct LeasedAlert {
    pub id: String,
    pub receiver: String,
    pub alert: StoredAlert,
    version: u64,
    expires_ms: u64,
}

/// Stores an event that is due.
///
/// # Errors
/// The store is unreachable.
pub(crate) async fn store(
    records: &dyn RecordStore,
    id: &str,
    receiver: &str,
    body: String,
) -> Result<bool, StoreUnavailable> {
    let now_ms = unix_ms();
    let content = RecordContent {
        value: encode(&StoredAlert { body, attempts: 0 }).into(),
        owner: receiver.into(),
        expires_ms: now_ms + KEPT_MS,
        due_ms: Some(now_ms),
    };
    let inserted = records.insert(KIND, id, content, WAITING_MAX).get().await?;
    Ok(!matches!(inserted, InsertResult::OwnerFull))
}

/// Takes events that are due from all gateways.
///
/// # Errors
/// The store is unreachable.
pub(crate) async fn lease_due(
    records: &dyn RecordStore,
) -> Result<Vec<LeasedAlert>, StoreUnavailable> {
    let now_ms = unix_ms();
    let mut leased = Vec::new();
    for record in records.due(KIND, now_ms, PAGE).get().await? {
        let Record {
            key,
            version,
            content,
        } = record;
        let Ok(alert) = serde_json::from_slice::<StoredAlert>(&content.value) else {
            tracing::warn!(event_id = &*key, "a stored alert cannot be read");
            records.remove(KIND, &key, version).get().await?;
            continue;
        };
        let (receiver, expires_ms) = (content.owner.to_string(), content.expires_ms);
        let held = RecordContent {
            due_ms: Some(now_ms + LEASE_MS),
            ..content
        };
        if let Some(version) = records.replace(KIND, &key, version, held).get().await? {
            leased.push(LeasedAlert {
                id: key.to_string(),
                receiver,
                alert,
                version,
                expires_ms,
            });
        }
    }
    Ok(leased)
}

impl LeasedAlert {
    /// Removes the event.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn remove(self, records: &dyn RecordStore) -> Result<(), StoreUnavailable> {
        records
            .remove(KIND, &self.id, self.version)
            .get()
            .await
            .map(drop)
    }

    /// Has the event tried again at a time in Unix milliseconds.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn postpone(
        self,
        records: &dyn RecordStore,
        due_ms: u64,
    ) -> Result<(), StoreUnavailable> {
        let content = RecordContent {
            value: encode(&self.alert).into(),
            owner: (*self.receiver).into(),
            expires_ms: self.expires_ms,
            due_ms: Some(due_ms),
        };
        let replaced = records.replace(KIND, &self.id, self.version, content);
        replaced.get().await.map(drop)
    }
}

fn encode(alert: &StoredAlert) -> Vec<u8> {
    serde_json::to_vec(alert).expect("an alert is JSON")
}
