//! Extends the life of single objects, and ends it.

use super::content::ContentDigest;
use super::error::MediaStoreError;
use super::object::{ObjectRecord, ObjectState, StoredObject};
use super::store::MediaStore;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::records::RecordKind;

/// How often the removal of an object begins again because its record changed meanwhile.
const DISCARD_TRIES: usize = 5;

impl MediaStore {
    /// Keeps an object for at least the configured time from now; `None` if there is none.
    ///
    /// # Errors
    /// The records are unreachable.
    pub(super) async fn renew(
        &self,
        digest: ContentDigest,
    ) -> Result<Option<StoredObject>, MediaStoreError> {
        let (key, records) = (digest.to_string(), self.state.records());
        let Some(found) = records.get(RecordKind::MediaObject, &key).get().await? else {
            return Ok(None);
        };
        let known = ObjectRecord::read(&found.content.value);
        let live = known.filter(|known| {
            known.state == ObjectState::Stored && unix_ms() / 1000 < known.expires_s
        });
        if let Some(known) = live {
            let expires_s = (unix_ms() + whole_ms(self.settings.ttl)) / 1000;
            let later = ObjectRecord {
                expires_s: expires_s.max(known.expires_s),
                ..known
            };
            let content = later.content(&key);
            // Whoever changed the record meanwhile renewed it, or removes the object.
            let replaced = records.replace(RecordKind::MediaObject, &key, found.version, content);
            replaced.get().await?;
        }
        self.find(digest).await
    }

    /// Removes an object that nobody needs any longer, if there is one. Whoever removes what has expired finishes what
    /// this begins.
    ///
    /// # Errors
    /// The records or the object are unreachable.
    pub(super) async fn discard(&self, digest: ContentDigest) -> Result<(), MediaStoreError> {
        let (key, records) = (digest.to_string(), self.state.records());
        for _ in 0..DISCARD_TRIES {
            let Some(found) = records.get(RecordKind::MediaObject, &key).get().await? else {
                return Ok(());
            };
            let known = ObjectRecord::read(&found.content.value);
            let known = known.ok_or(MediaStoreError::ContentChanged)?;
            let content = known.removing(&key);
            let replaced = records.replace(RecordKind::MediaObject, &key, found.version, content);
            if replaced.get().await?.is_none() {
                continue;
            }
            self.count_removal(&known);
            let Some(found) = records.get(RecordKind::MediaObject, &key).get().await? else {
                return Ok(());
            };
            if self.remove(found).await? {
                return Ok(());
            }
        }
        Err(MediaStoreError::Busy)
    }
}
