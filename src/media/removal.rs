//! Removes objects that have expired, and what broken-off writes left behind.

use super::error::MediaStoreError;
use super::object::{ObjectRecord, ObjectState};
use super::store::MediaStore;
use crate::state::calendar::unix_ms;
use crate::state::records::{Record, RecordKind};
use object_store::ObjectStoreExt;

/// Objects that one round removes at most.
const ROUND_OBJECTS_MAX: usize = 1000;

impl MediaStore {
    /// Removes what is due, and returns how many objects that were.
    ///
    /// Several gateways may do this at the same time: who marks the record removes the object.
    ///
    /// # Errors
    /// The records or the objects are unreachable; the rest remains for the next round.
    pub async fn remove_expired(&self) -> Result<usize, MediaStoreError> {
        let records = self.state.records();
        let due = records.due(RecordKind::MediaObject, unix_ms(), ROUND_OBJECTS_MAX);
        let mut removed = 0;
        for record in due.get().await? {
            removed += usize::from(self.remove(record).await?);
        }
        Ok(removed)
    }

    async fn remove(&self, found: Record) -> Result<bool, MediaStoreError> {
        let records = self.state.records();
        let Some(known) = ObjectRecord::read(&found.content.value) else {
            return Ok(false);
        };
        let is_due = match known.state {
            ObjectState::Stored => known.expires_s <= unix_ms() / 1000,
            ObjectState::Writing { lease_until_ms } => lease_until_ms <= unix_ms(),
            ObjectState::Removing => true,
        };
        if !is_due {
            return Ok(false);
        }
        let content = known.removing(&found.content.owner);
        let marked = records.replace(RecordKind::MediaObject, &found.key, found.version, content);
        let Some(version) = marked.get().await? else {
            return Ok(false);
        };
        match self.objects.delete(&known.location(&found.key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let removed = records.remove(RecordKind::MediaObject, &found.key, version);
        Ok(removed.get().await?)
    }
}
