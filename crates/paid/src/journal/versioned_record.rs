//! The record of a create, with the version that the store has of it as far as it is known.

use super::record::{CreateRecord, CreateState};
use super::{JournalError, JournalLimits};
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::records::{InsertResult, Record, RecordContent, RecordKind};
use headgate_core::state::{StateStore, StoreUnavailable};
use std::sync::Arc;
use std::time::Duration;

/// How long a create that is being sent is kept at least, whatever the settings: a create must not be forgotten while
/// its gateway cannot extend its lease.
const SENDING_KEPT_MIN: Duration = Duration::from_secs(60 * 60);

/// The record as it should be stored, and the version that is stored as far as it is known.
pub struct CreateRecordWriter {
    store: Arc<dyn StateStore>,
    kind: RecordKind,
    key: Arc<str>,
    limits: JournalLimits,
    version: RecordVersion,
    /// Whether the store has ever confirmed the record.
    was_stored: bool,
    pub record: CreateRecord,
}

/// The version in the store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordVersion {
    /// No write was tried.
    Absent,
    Known(u64),
    /// A write failed, and may have been stored nevertheless.
    Uncertain,
}

/// The create whose record has the key in the store.
enum StoredRecordOwner {
    /// This create's, with its version.
    Ours(u64),
    OtherRequest,
    Nobody,
}

impl CreateRecordWriter {
    /// A record of which nothing is stored.
    pub fn new(
        store: &Arc<dyn StateStore>,
        kind: RecordKind,
        key: Arc<str>,
        record: CreateRecord,
        limits: JournalLimits,
    ) -> Self {
        Self {
            store: store.clone(),
            kind,
            key,
            limits,
            version: RecordVersion::Absent,
            was_stored: false,
            record,
        }
    }

    /// Whether the store has no record of this create for certain.
    pub fn is_absent(&self) -> bool {
        self.version == RecordVersion::Absent
    }

    /// Whether the store has ever confirmed the record. Nothing is sent before.
    pub fn was_stored(&self) -> bool {
        self.was_stored
    }

    /// Inserts the record of a new create; returns the record that the key has already.
    pub async fn insert(&mut self) -> Result<Option<Record>, JournalError> {
        match self.kind {
            RecordKind::IdempotencyKey => self.insert_up_to(self.limits.keys_max).await,
            // Creates without a key are removed by themselves, and never refused for their number.
            _ => self.insert_up_to(u32::MAX).await,
        }
    }

    /// Inserts the record if its owner has fewer than `max`.
    async fn insert_up_to(&mut self, max: u32) -> Result<Option<Record>, JournalError> {
        let content = self.content();
        let records = self.store.records();
        let inserted = records.insert(self.kind, &self.key, content, max);
        match track_failure(&mut self.version, inserted.get().await)? {
            InsertResult::Inserted { version } => {
                self.set_stored(version);
                Ok(None)
            }
            InsertResult::Exists(found) => Ok(Some(found)),
            InsertResult::OwnerFull => Err(JournalError::Full {
                keys_max: self.limits.keys_max,
            }),
        }
    }

    /// Replaces another owner's record of this version; returns whether the record still had this version.
    pub async fn replace_other(&mut self, version: u64) -> Result<bool, JournalError> {
        let content = self.content();
        let records = self.store.records();
        let replaced = records.replace(self.kind, &self.key, version, content);
        let replaced = track_failure(&mut self.version, replaced.get().await)?;
        if let Some(version) = replaced {
            self.set_stored(version);
        }
        Ok(replaced.is_some())
    }

    /// Stores the record in place of its last version. If the store lost it, it is inserted again: that succeeds only
    /// while no other request has the key.
    pub async fn write(&mut self) -> Result<(), JournalError> {
        loop {
            match self.version {
                RecordVersion::Absent => {
                    if self.insert_up_to(u32::MAX).await?.is_none() {
                        return Ok(());
                    }
                }
                RecordVersion::Known(version) => {
                    if self.replace_other(version).await? {
                        return Ok(());
                    }
                }
                RecordVersion::Uncertain => {}
            }
            match self.holder().await? {
                StoredRecordOwner::Ours(version) => self.set_stored(version),
                StoredRecordOwner::Nobody => {
                    if self.was_stored {
                        let id = &self.record.request_id;
                        tracing::warn!(
                            id,
                            "the record of a paid create was lost; it is stored again"
                        );
                    }
                    self.version = RecordVersion::Absent;
                }
                StoredRecordOwner::OtherRequest => return Err(JournalError::TakenOver),
            }
        }
    }

    /// Removes the record if it is still this create's.
    pub async fn remove(&mut self) -> Result<(), JournalError> {
        loop {
            match self.version {
                RecordVersion::Absent => return Ok(()),
                RecordVersion::Known(version) => {
                    let records = self.store.records();
                    let removed = records.remove(self.kind, &self.key, version);
                    if track_failure(&mut self.version, removed.get().await)? {
                        return Ok(());
                    }
                }
                RecordVersion::Uncertain => {}
            }
            match self.holder().await? {
                StoredRecordOwner::Ours(version) => self.set_stored(version),
                StoredRecordOwner::Nobody | StoredRecordOwner::OtherRequest => return Ok(()),
            }
        }
    }

    fn set_stored(&mut self, version: u64) {
        self.version = RecordVersion::Known(version);
        self.was_stored = true;
    }

    /// The create whose record has the key. A record that cannot be decoded is another request's.
    async fn holder(&self) -> Result<StoredRecordOwner, StoreUnavailable> {
        let found = self.store.records().get(self.kind, &self.key).get().await?;
        let Some(found) = found else {
            return Ok(StoredRecordOwner::Nobody);
        };
        let is_ours = CreateRecord::decode(&found.content.value)
            .is_ok_and(|record| record.request_id == self.record.request_id);
        Ok(match is_ours {
            true => StoredRecordOwner::Ours(found.version),
            false => StoredRecordOwner::OtherRequest,
        })
    }

    /// The owner that the record counts for: the caller, apart from unknown outcomes, which must not use up the caller's
    /// keys.
    fn owner(&self) -> Arc<str> {
        let caller = &self.record.caller;
        match self.record.state {
            CreateState::OutcomeUnknown { .. } => format!("{caller}\u{1f}outcome_unknown").into(),
            CreateState::Reserved { .. }
            | CreateState::Sending { .. }
            | CreateState::Accepted { .. } => caller.as_str().into(),
        }
    }

    fn content(&self) -> RecordContent {
        let kept = match self.record.state {
            CreateState::Accepted { .. } => self.limits.keep,
            CreateState::OutcomeUnknown { .. } => self.limits.keep_unknown,
            // A record whose gateway is killed stays as it is.
            CreateState::Reserved { .. } | CreateState::Sending { .. } => {
                self.limits.keep_unknown.max(SENDING_KEPT_MIN)
            }
        };
        let kept_ms = whole_ms(kept);
        RecordContent {
            value: self.record.encode(),
            owner: self.owner(),
            // From now: a create that takes long must not end without a record.
            expires_ms: unix_ms().saturating_add(kept_ms),
            due_ms: None,
        }
    }
}

/// Makes the version uncertain if an operation failed.
fn track_failure<T>(
    version: &mut RecordVersion,
    result: Result<T, StoreUnavailable>,
) -> Result<T, StoreUnavailable> {
    if result.is_err() {
        *version = RecordVersion::Uncertain;
    }
    result
}
