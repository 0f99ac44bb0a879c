//! A create's record in the store, with what its owner knows of its version.

use super::record::{CreateRecord, CreateState};
use super::{JournalError, JournalLimits};
use crate::state::calendar::{unix_ms, whole_ms};
use crate::state::records::{InsertResult, Record, RecordContent, RecordKind};
use crate::state::{StateStore, StoreUnavailable};
use std::sync::Arc;

/// The record as it should be stored, and what is known of the stored one.
pub struct VersionedRecord {
    store: Arc<dyn StateStore>,
    kind: RecordKind,
    key: Arc<str>,
    limits: JournalLimits,
    version: RecordVersion,
    pub record: CreateRecord,
}

/// What is known of the version in the store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordVersion {
    /// No write was tried.
    Absent,
    Known(u64),
    /// A write failed, and may have been stored nevertheless.
    Uncertain,
}

impl VersionedRecord {
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
            record,
        }
    }

    /// Whether the store has none of it for certain.
    pub fn is_absent(&self) -> bool {
        self.version == RecordVersion::Absent
    }

    /// Inserts the record; returns the one that is in its place.
    pub async fn insert(&mut self) -> Result<Option<Record>, JournalError> {
        let content = self.content();
        let max = match self.kind {
            RecordKind::IdempotencyKey => self.limits.keys_max,
            // Creates without a key are removed by themselves, and never refused for their number.
            _ => u32::MAX,
        };
        let records = self.store.records();
        let inserted = records.insert(self.kind, &self.key, content, max);
        match track_failure(&mut self.version, inserted.get().await)? {
            InsertResult::Inserted { version } => {
                self.version = RecordVersion::Known(version);
                Ok(None)
            }
            InsertResult::Exists(found) => Ok(Some(found)),
            InsertResult::OwnerFull => Err(JournalError::Full),
        }
    }

    /// Replaces another owner's record of this version; returns whether it still had it.
    pub async fn replace_other(&mut self, version: u64) -> Result<bool, JournalError> {
        let content = self.content();
        let records = self.store.records();
        let replaced = records.replace(self.kind, &self.key, version, content);
        let replaced = track_failure(&mut self.version, replaced.get().await)?;
        if let Some(version) = replaced {
            self.version = RecordVersion::Known(version);
        }
        Ok(replaced.is_some())
    }

    /// Stores the record in place of its last version.
    pub async fn write(&mut self) -> Result<(), JournalError> {
        loop {
            match self.version {
                RecordVersion::Absent => {
                    if self.insert().await?.is_none() {
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
            let version = self.version_if_ours().await?;
            self.version = RecordVersion::Known(version.ok_or(JournalError::TakenOver)?);
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
            match self.version_if_ours().await? {
                Some(version) => self.version = RecordVersion::Known(version),
                None => return Ok(()),
            }
        }
    }

    /// The version in the store; `None` if the record is gone or belongs to another request.
    async fn version_if_ours(&self) -> Result<Option<u64>, StoreUnavailable> {
        let found = self.store.records().get(self.kind, &self.key).get().await?;
        Ok(found.and_then(|found| {
            let record = CreateRecord::decode(&found.content.value).ok()?;
            (record.request_id == self.record.request_id).then_some(found.version)
        }))
    }

    /// Whom the record counts for: the caller, apart from unknown outcomes, which must not use up the caller's keys.
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
            // A record whose gateway is killed stays as it is.
            CreateState::Reserved { .. }
            | CreateState::Sending { .. }
            | CreateState::OutcomeUnknown { .. } => self.limits.keep_unknown,
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
