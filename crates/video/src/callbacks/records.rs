//! Reads and changes subscriptions and deliveries in the state store.

use super::counters::StoredDeliveryTotals;
use super::delivery::Delivery;
use super::subscription::Subscription;
use bytes::Bytes;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::{InsertResult, Record, RecordContent, RecordKind, RecordStore};
use headgate_core::state::{StateStore, StoreUnavailable};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The maximum number of deliveries of a caller, and of its dead letters.
const DELIVERIES_MAX: u32 = 20_000;
const DEAD_LETTERS_MAX: u32 = 20_000;
/// How long a subscription is kept after its task has ended, so that late reports change nothing.
const ENDED_KEPT_MS: u64 = 60 * 60 * 1_000;
/// How long a delivery is kept, dead or not.
const DELIVERY_KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
/// How often a change is tried again that another gateway interfered with.
const CHANGE_TRIES: usize = 16;
/// How much later a record is due that this program cannot read.
const UNREADABLE_DUE_MS: u64 = 60 * 60 * 1_000;

/// Subscriptions and deliveries in the state store.
#[derive(Clone)]
pub struct CallbackRecordStore {
    state: Arc<dyn StateStore>,
}

/// A record as read, with its value parsed.
#[derive(Clone, Debug)]
pub(super) struct StoredRecord<V> {
    pub key: Arc<str>,
    pub version: u64,
    pub value: V,
    pub owner: Arc<str>,
    pub expires_ms: u64,
    pub due_ms: Option<u64>,
}

/// What became of a dead letter that was to be delivered again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedriveOutcome {
    Redriven,
    /// There is no dead letter with this id.
    NotFound,
    /// It has nothing that could be sent.
    NoBody,
    /// Too many events of the caller wait for their delivery.
    NoRoom,
}

/// Records that are due.
pub(super) struct DueQueriesAndDeliveries<V> {
    /// The earliest first.
    pub found: Vec<StoredRecord<V>>,
    /// Whether as many were found as were requested.
    pub is_full: bool,
}

impl<V: Serialize + DeserializeOwned> StoredRecord<V> {
    /// `None` for a record that is not of this type.
    pub(super) fn from_record(record: Record) -> Option<Self> {
        let Record {
            key,
            version,
            content,
        } = record;
        Some(Self {
            key,
            version,
            value: serde_json::from_slice(&content.value).ok()?,
            owner: content.owner,
            expires_ms: content.expires_ms,
            due_ms: content.due_ms,
        })
    }

    pub(super) fn content(&self) -> RecordContent {
        RecordContent {
            value: json(&self.value),
            owner: self.owner.clone(),
            expires_ms: self.expires_ms,
            due_ms: self.due_ms,
        }
    }
}

impl CallbackRecordStore {
    pub fn new(state: Arc<dyn StateStore>) -> Self {
        Self { state }
    }

    pub(super) fn state(&self) -> &Arc<dyn StateStore> {
        &self.state
    }

    pub(super) fn store(&self) -> &dyn RecordStore {
        self.state.records()
    }

    /// Changes a subscription until no other gateway interferes; returns it as stored, or `None` if there is none or
    /// `change` returned `false`.
    pub(super) async fn change_subscription(
        &self,
        nonce: &str,
        mut change: impl FnMut(&mut StoredRecord<Subscription>) -> bool,
    ) -> Result<Option<StoredRecord<Subscription>>, StoreUnavailable> {
        for _ in 0..CHANGE_TRIES {
            let Some(mut stored) = self.subscription(nonce).await? else {
                return Ok(None);
            };
            if !change(&mut stored) {
                return Ok(None);
            }
            if stored.value.state.is_terminal() {
                stored.expires_ms = stored.expires_ms.min(unix_ms() + ENDED_KEPT_MS);
            }
            if let Some(changed) = self.replace(RecordKind::Subscription, &stored).await? {
                return Ok(Some(changed));
            }
        }
        Err(StoreUnavailable("a record changes too often".into()))
    }

    pub(super) async fn subscription(
        &self,
        nonce: &str,
    ) -> Result<Option<StoredRecord<Subscription>>, StoreUnavailable> {
        self.read(RecordKind::Subscription, nonce).await
    }

    pub(super) async fn delivery(
        &self,
        id: &str,
    ) -> Result<Option<StoredRecord<Delivery>>, StoreUnavailable> {
        self.read(RecordKind::Delivery, id).await
    }

    /// Stores an event that is due now, unless it is stored already. Returns whether there was room for it.
    pub(super) async fn store_event(
        &self,
        id: &str,
        owner: &Arc<str>,
        event: &Delivery,
    ) -> Result<bool, StoreUnavailable> {
        let content = RecordContent {
            value: json(event),
            owner: owner.clone(),
            expires_ms: event.created_ms + DELIVERY_KEPT_MS,
            due_ms: Some(event.created_ms),
        };
        let (kind, owner_max) = (RecordKind::Delivery, DELIVERIES_MAX);
        self.insert(kind, id, content, owner_max).await
    }

    /// Stores an event as a dead letter, unless it is one already; returns whether there was room for it.
    pub(super) async fn store_dead_letter(
        &self,
        id: &str,
        owner: &Arc<str>,
        event: &Delivery,
    ) -> Result<bool, StoreUnavailable> {
        let content = RecordContent {
            value: json(event),
            owner: owner.clone(),
            expires_ms: unix_ms() + DELIVERY_KEPT_MS,
            due_ms: None,
        };
        let (kind, owner_max) = (RecordKind::DeadLetter, DEAD_LETTERS_MAX);
        self.insert(kind, id, content, owner_max).await
    }

    /// Stores a record, unless there is one with its key; returns whether its owner had room for it.
    async fn insert(
        &self,
        kind: RecordKind,
        key: &str,
        content: RecordContent,
        owner_max: u32,
    ) -> Result<bool, StoreUnavailable> {
        let inserted = self.store().insert(kind, key, content, owner_max);
        Ok(match inserted.get().await? {
            InsertResult::Inserted { .. } | InsertResult::Exists(_) => true,
            InsertResult::OwnerFull => false,
        })
    }

    /// Makes a dead letter due again.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn redrive(&self, id: &str) -> Result<RedriveOutcome, StoreUnavailable> {
        let dead = self.read::<Delivery>(RecordKind::DeadLetter, id).await?;
        let Some(dead) = dead else {
            return Ok(RedriveOutcome::NotFound);
        };
        if dead.value.body.is_empty() {
            return Ok(RedriveOutcome::NoBody);
        }
        let again = Delivery {
            attempts: 0,
            created_ms: unix_ms(),
            ..dead.value.clone()
        };
        if !self.store_event(id, &dead.owner, &again).await? {
            return Ok(RedriveOutcome::NoRoom);
        }
        self.remove(RecordKind::DeadLetter, &dead).await?;
        Ok(RedriveOutcome::Redriven)
    }

    /// Removes the dead letter with this id, if there is one.
    pub(super) async fn remove_dead_letter(&self, id: &str) -> Result<(), StoreUnavailable> {
        let kind = RecordKind::DeadLetter;
        match self.read::<Delivery>(kind, id).await? {
            Some(dead) => self.remove(kind, &dead).await.map(drop),
            None => Ok(()),
        }
    }

    /// Dead letters with their ids and callers, in the order of their ids, from the first after `after`.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn dead_letters(
        &self,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(Arc<str>, Arc<str>, Delivery)>, StoreUnavailable> {
        let records = self.store().list(RecordKind::DeadLetter, after, limit);
        let records = records.get().await?.into_iter();
        let stored = records.filter_map(StoredRecord::<Delivery>::from_record);
        Ok(stored
            .map(|stored| (stored.key, stored.owner, stored.value))
            .collect())
    }

    /// Counts the deliveries.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn totals(&self) -> Result<StoredDeliveryTotals, StoreUnavailable> {
        let pending = self.store().count(RecordKind::Delivery).get().await?;
        let dead = self.store().count(RecordKind::DeadLetter).get().await?;
        let oldest_ms = match (pending.count, pending.first_expiry_ms) {
            (1.., Some(expires_ms)) => {
                unix_ms().saturating_sub(expires_ms.saturating_sub(DELIVERY_KEPT_MS))
            }
            _ => 0,
        };
        Ok(StoredDeliveryTotals {
            pending: pending.count,
            dead: dead.count,
            oldest_ms,
        })
    }

    /// Whether there is a record of this kind.
    pub(super) async fn has_any(&self, kind: RecordKind) -> Result<bool, StoreUnavailable> {
        Ok(!self.store().list(kind, "", 1).get().await?.is_empty())
    }

    /// Records that are due. Those that cannot be read, as those of a later version of the program, are postponed.
    pub(super) async fn due<V: Serialize + DeserializeOwned>(
        &self,
        kind: RecordKind,
        limit: usize,
    ) -> Result<DueQueriesAndDeliveries<V>, StoreUnavailable> {
        let due = self.store().due(kind, unix_ms(), limit).get().await?;
        let is_full = due.len() == limit;
        let mut found = Vec::with_capacity(due.len());
        for record in due {
            match StoredRecord::from_record(record.clone()) {
                Some(stored) => found.push(stored),
                None => self.postpone_unreadable(kind, record).await?,
            }
        }
        Ok(DueQueriesAndDeliveries { found, is_full })
    }

    async fn postpone_unreadable(
        &self,
        kind: RecordKind,
        record: Record,
    ) -> Result<(), StoreUnavailable> {
        tracing::error!(
            kind = kind.name(),
            "a record of callbacks is not readable by this version of the program"
        );
        let content = RecordContent {
            due_ms: Some(unix_ms() + UNREADABLE_DUE_MS),
            ..record.content
        };
        let replaced = self
            .store()
            .replace(kind, &record.key, record.version, content);
        replaced.get().await.map(drop)
    }

    /// Replaces a record; `None` if it changed since it was read.
    pub(super) async fn replace<V: Serialize + DeserializeOwned + Clone>(
        &self,
        kind: RecordKind,
        stored: &StoredRecord<V>,
    ) -> Result<Option<StoredRecord<V>>, StoreUnavailable> {
        let replaced = self
            .store()
            .replace(kind, &stored.key, stored.version, stored.content());
        Ok(replaced.get().await?.map(|version| StoredRecord {
            version,
            ..stored.clone()
        }))
    }

    pub(super) async fn remove<V>(
        &self,
        kind: RecordKind,
        stored: &StoredRecord<V>,
    ) -> Result<bool, StoreUnavailable> {
        let removed = self.store().remove(kind, &stored.key, stored.version);
        removed.get().await
    }

    async fn read<V: Serialize + DeserializeOwned>(
        &self,
        kind: RecordKind,
        key: &str,
    ) -> Result<Option<StoredRecord<V>>, StoreUnavailable> {
        let record = self.store().get(kind, key).get().await?;
        Ok(record.and_then(StoredRecord::from_record))
    }
}

pub(super) fn json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value)
        .expect("texts and numbers always serialise")
        .into()
}
