//! Reads and changes subscriptions and deliveries in the state store.

use super::counters::DeliveryTotals;
use super::delivery::{Delivery, DeliveryPhase};
use super::subscription::Subscription;
use crate::state::calendar::unix_ms;
use crate::state::records::{InsertResult, Record, RecordContent, RecordKind, RecordStore};
use crate::state::{StateStore, StoreUnavailable};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The maximum number of deliveries of a caller, dead letters included.
const DELIVERIES_MAX: u32 = 20_000;
/// How long a subscription is kept after its task has ended, so that late reports change nothing.
const ENDED_KEPT_MS: u64 = 60 * 60 * 1_000;
/// How long a delivery is kept, dead or not.
const DELIVERY_KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
/// How often a change is tried again that another gateway interfered with.
const CHANGE_TRIES: usize = 16;
/// The records of one page of a list.
const PAGE: usize = 500;

/// Subscriptions and deliveries in the state store.
#[derive(Clone)]
pub struct CallbackRecords {
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

impl<V: Serialize + DeserializeOwned> StoredRecord<V> {
    /// `None` for a record that is not of this type.
    pub(super) fn of(record: Record) -> Option<Self> {
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

impl CallbackRecords {
    pub fn new(state: Arc<dyn StateStore>) -> Self {
        Self { state }
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
    pub(super) async fn deliver(
        &self,
        id: &str,
        owner: &Arc<str>,
        delivery: &Delivery,
    ) -> Result<bool, StoreUnavailable> {
        let content = RecordContent {
            value: json(delivery),
            owner: owner.clone(),
            expires_ms: delivery.created_ms + DELIVERY_KEPT_MS,
            due_ms: Some(delivery.created_ms),
        };
        let stored = self
            .store()
            .insert(RecordKind::Delivery, id, content, DELIVERIES_MAX);
        Ok(match stored.get().await? {
            InsertResult::Inserted { .. } | InsertResult::Exists(_) => true,
            InsertResult::OwnerFull => false,
        })
    }

    /// Makes a dead letter due again; returns whether there was one with this id.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn redrive(&self, id: &str) -> Result<bool, StoreUnavailable> {
        let Some(mut stored) = self.delivery(id).await? else {
            return Ok(false);
        };
        if stored.value.phase != DeliveryPhase::Dead {
            return Ok(false);
        }
        let now_ms = unix_ms();
        stored.value.phase = DeliveryPhase::Waiting;
        stored.value.attempts = 0;
        stored.due_ms = Some(now_ms);
        stored.expires_ms = now_ms + DELIVERY_KEPT_MS;
        let replaced = self.replace(RecordKind::Delivery, &stored).await?;
        Ok(replaced.is_some())
    }

    /// Deliveries with their ids and callers, in the order of their ids, from the first after `after`.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn deliveries(
        &self,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(Arc<str>, Arc<str>, Delivery)>, StoreUnavailable> {
        let records = self.store().list(RecordKind::Delivery, after, limit);
        let records = records.get().await?.into_iter();
        let stored = records.filter_map(StoredRecord::<Delivery>::of);
        Ok(stored
            .map(|stored| (stored.key, stored.owner, stored.value))
            .collect())
    }

    /// Counts the deliveries.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn totals(&self) -> Result<DeliveryTotals, StoreUnavailable> {
        let (mut totals, mut oldest) = (DeliveryTotals::default(), u64::MAX);
        let mut after: Arc<str> = "".into();
        loop {
            let page = self.deliveries(&after, PAGE).await?;
            for (_, _, delivery) in &page {
                match delivery.phase {
                    DeliveryPhase::Dead => totals.dead += 1,
                    DeliveryPhase::Waiting | DeliveryPhase::Leased { .. } => {
                        totals.pending += 1;
                        oldest = oldest.min(delivery.created_ms);
                    }
                }
            }
            match page.last() {
                Some((last, _, _)) if page.len() == PAGE => after = last.clone(),
                _ => break,
            }
        }
        if totals.pending > 0 {
            totals.oldest_ms = unix_ms().saturating_sub(oldest);
        }
        Ok(totals)
    }

    /// Whether there is a record that may become due.
    pub(super) async fn is_empty(&self) -> Result<bool, StoreUnavailable> {
        for kind in [RecordKind::Subscription, RecordKind::Delivery] {
            if !self.store().list(kind, "", 1).get().await?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Records that are due, the earliest first.
    pub(super) async fn due<V: Serialize + DeserializeOwned>(
        &self,
        kind: RecordKind,
        limit: usize,
    ) -> Result<Vec<StoredRecord<V>>, StoreUnavailable> {
        let due = self.store().due(kind, unix_ms(), limit).get().await?;
        Ok(due.into_iter().filter_map(StoredRecord::of).collect())
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
        Ok(record.and_then(StoredRecord::of))
    }
}

pub(super) fn json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value)
        .expect("texts and numbers always serialise")
        .into()
}
