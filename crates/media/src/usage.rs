//! What callers use of the media store: a record for each caller and content, which expires with the caller's last use.
//!
//! The content itself is stored once for all callers. Each of them is charged for it, whoever was first, so that no
//! caller can find out by its quota what others have stored.

use super::content::{ContentDescriptor, ContentDigest};
use super::error::MediaStoreError;
use super::store::MediaStore;
use bytes::Bytes;
use headgate_core::state::records::{InsertResult, RecordContent, RecordKind};
use std::sync::Arc;

/// Records that are read at a time.
const PAGE: usize = 1000;

/// A caller's use of a content, as it was recorded.
pub(super) struct RecordedContentUse {
    key: String,
    /// Of the record if it is new.
    inserted: Option<u64>,
}

impl MediaStore {
    /// Records that a caller uses a content until `expires_s`.
    ///
    /// # Errors
    /// The caller has as much as it may have, or the records are unreachable; nothing is recorded.
    pub(super) async fn record_use(
        &self,
        owner: &Arc<str>,
        content: &ContentDescriptor,
        expires_s: u64,
    ) -> Result<RecordedContentUse, MediaStoreError> {
        let key = format!("{}{}", key_prefix(owner), content.digest);
        let record = RecordContent {
            value: Bytes::from(content.size.to_string()),
            owner: owner.clone(),
            expires_ms: expires_s * 1000,
            due_ms: None,
        };
        let records = self.state.records();
        let limit = self.settings.limits.objects_per_caller;
        let inserted = records.insert(RecordKind::MediaUse, &key, record.clone(), limit);
        match inserted.get().await? {
            InsertResult::OwnerFull => Err(MediaStoreError::OwnerFull),
            InsertResult::Exists(known) => {
                if known.content.expires_ms < record.expires_ms {
                    // Whoever changed it meanwhile made it expire as late.
                    let replaced =
                        records.replace(RecordKind::MediaUse, &key, known.version, record);
                    replaced.get().await?;
                }
                Ok(RecordedContentUse {
                    key,
                    inserted: None,
                })
            }
            InsertResult::Inserted { version } => {
                let recorded = RecordedContentUse {
                    key,
                    inserted: Some(version),
                };
                match self.has_space(owner, content.size).await {
                    Ok(true) => Ok(recorded),
                    Ok(false) => {
                        self.forget_use(owner, recorded, content.size).await;
                        Err(MediaStoreError::OwnerFull)
                    }
                    Err(error) => {
                        self.forget_use(owner, recorded, content.size).await;
                        Err(error)
                    }
                }
            }
        }
    }

    /// Removes the record of a use that came to nothing, if it was new.
    pub(super) async fn forget_use(
        &self,
        owner: &Arc<str>,
        recorded: RecordedContentUse,
        bytes: u64,
    ) {
        let Some(version) = recorded.inserted else {
            return;
        };
        self.shared.usage.subtract(owner, bytes);
        let records = self.state.records();
        let removed = records.remove(RecordKind::MediaUse, &recorded.key, version);
        // If it cannot be removed, it expires.
        let _ = removed.get().await;
    }

    /// Ends the use of a content before it expires.
    ///
    /// # Errors
    /// The records are unreachable.
    pub(super) async fn end_use(
        &self,
        owner: &Arc<str>,
        digest: ContentDigest,
    ) -> Result<(), MediaStoreError> {
        let (key, records) = (
            format!("{}{digest}", key_prefix(owner)),
            self.state.records(),
        );
        let Some(found) = records.get(RecordKind::MediaUse, &key).get().await? else {
            return Ok(());
        };
        let removed = records.remove(RecordKind::MediaUse, &key, found.version);
        if removed.get().await? {
            let bytes = std::str::from_utf8(&found.content.value).ok();
            let bytes = bytes.and_then(|bytes| bytes.parse().ok());
            self.shared.usage.subtract(owner, bytes.unwrap_or(0));
        }
        Ok(())
    }

    /// Whether the uses of a caller, a new one of `bytes` among them, are within its quota.
    async fn has_space(&self, owner: &Arc<str>, bytes: u64) -> Result<bool, MediaStoreError> {
        let limit = self.settings.limits.bytes_per_caller;
        if let Some(sum) = self.shared.usage.add(owner, bytes) {
            return Ok(sum <= limit);
        }
        let sum = self.sum_uses(owner).await?;
        self.shared.usage.set(owner, sum);
        Ok(sum <= limit)
    }

    async fn sum_uses(&self, owner: &str) -> Result<u64, MediaStoreError> {
        let records = self.state.records();
        let prefix = key_prefix(owner);
        let (mut after, mut sum) = (prefix.clone(), 0_u64);
        loop {
            let page = records
                .list(RecordKind::MediaUse, &after, PAGE)
                .get()
                .await?;
            let of_owner = page.iter().filter(|record| record.key.starts_with(&prefix));
            for record in of_owner {
                let bytes = std::str::from_utf8(&record.content.value).ok();
                sum += bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
            }
            match page.last() {
                Some(last) if page.len() == PAGE && last.key.starts_with(&prefix) => {
                    after = last.key.to_string();
                }
                _ => return Ok(sum),
            }
        }
    }
}

/// What the keys of a caller's records begin with. Names may have any characters, keys may not.
fn key_prefix(owner: &str) -> String {
    format!("{}/", ContentDigest::from_content(owner.as_bytes()))
}
