//! The record of the findings that a gateway has sent, which its next process reads.

use crate::announced::AnnouncedFindings;
use crate::receiver::AlertReceivers;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::{
    InsertResult, RECORD_BYTES_MAX, RecordContent, RecordKind, RecordStore, owned_key,
};
use std::time::{Duration, Instant};

const KIND: RecordKind = RecordKind::AnnouncedFindings;
/// The owner of all these records.
const OWNER: &str = "alerts";
/// How long the record is kept after it was written.
const KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1000;
/// How often it is written without a change.
const RENEW_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// How often a write is tried that meets another one.
const WRITE_TRIES: usize = 3;

/// The record of this gateway.
pub(crate) struct AnnouncedRecord {
    key: String,
    version: Option<u64>,
    is_read: bool,
    written: Instant,
}

impl AnnouncedRecord {
    pub fn new(receivers: &AlertReceivers) -> Self {
        Self {
            key: owned_key(&receivers.gateway, &receivers.listen),
            version: None,
            is_read: false,
            written: Instant::now(),
        }
    }

    /// Reads what an earlier process has written, once.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn read(
        &mut self,
        announced: &mut AnnouncedFindings,
        records: &dyn RecordStore,
    ) -> Result<(), StoreUnavailable> {
        if self.is_read {
            return Ok(());
        }
        let found = records.get(KIND, &self.key).get().await?;
        self.is_read = true;
        if let Some(record) = found {
            self.version = Some(record.version);
            if !announced.restore(&record.content.value, Instant::now()) {
                tracing::warn!("the stored findings that alerts were sent about cannot be read");
            }
        }
        Ok(())
    }

    /// Writes what has changed.
    ///
    /// # Errors
    /// The store is unreachable. What has changed may have been stored.
    pub async fn write(
        &mut self,
        announced: &mut AnnouncedFindings,
        records: &dyn RecordStore,
    ) -> Result<(), StoreUnavailable> {
        let is_old = !announced.is_empty() && self.written.elapsed() >= RENEW_INTERVAL;
        if !announced.is_changed() && !is_old {
            return Ok(());
        }
        let content = RecordContent {
            value: announced.encode(RECORD_BYTES_MAX).into(),
            owner: OWNER.into(),
            expires_ms: unix_ms() + KEPT_MS,
            due_ms: None,
        };
        for _ in 0..WRITE_TRIES {
            if self.replace_or_insert(content.clone(), records).await? {
                self.written = Instant::now();
                announced.set_stored();
                break;
            }
        }
        Ok(())
    }

    /// Returns whether it was written. Another process of the gateway may write it, too, while this one takes over.
    async fn replace_or_insert(
        &mut self,
        content: RecordContent,
        records: &dyn RecordStore,
    ) -> Result<bool, StoreUnavailable> {
        if let Some(version) = self.version {
            let replaced = records.replace(KIND, &self.key, version, content);
            self.version = replaced.get().await?;
            return Ok(self.version.is_some());
        }
        let inserted = records.insert(KIND, &self.key, content, u32::MAX);
        let (version, is_written) = match inserted.get().await? {
            InsertResult::Inserted { version } => (Some(version), true),
            // An earlier write was stored although it failed.
            InsertResult::Exists(record) => (Some(record.version), false),
            InsertResult::OwnerFull => (None, false),
        };
        self.version = version;
        Ok(is_written)
    }
}
