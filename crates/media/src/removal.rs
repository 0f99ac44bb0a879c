//! Removes objects that have expired, and what broken-off writes left behind.

use super::counters::{RemovalReason, StoredObjectTotals};
use super::error::MediaStoreError;
use super::object::{ObjectRecord, ObjectState, random_write};
use super::store::MediaStore;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::{Record, RecordKind};
use std::sync::Arc;
use tokio::task::JoinSet;

/// Records that are read at a time.
const PAGE: usize = 1000;
/// Objects that are removed at a time: each takes three requests to the records and the bucket, one after the other.
const REMOVALS_MAX: usize = 8;

impl MediaStore {
    /// Removes what is due, and returns how many objects that were.
    ///
    /// Several gateways may do this at the same time: who marks the record removes the object.
    ///
    /// # Errors
    /// The records or objects are unreachable; what was not removed remains for the next round.
    pub async fn remove_expired(self: &Arc<Self>) -> Result<usize, MediaStoreError> {
        let records = self.state.records();
        let mut total = 0;
        loop {
            let due = records.due(RecordKind::MediaObject, unix_ms(), PAGE);
            let due = due.get().await?;
            let is_last = due.len() < PAGE;
            let (removed, failed) = self.remove_all(due).await;
            total += removed;
            match failed {
                Some(error) => return Err(error),
                None if is_last || removed == 0 => return Ok(total),
                None => {}
            }
        }
    }

    /// Removes the objects of these records, and returns how many it removed, and an error if there was one.
    async fn remove_all(
        self: &Arc<Self>,
        mut due: Vec<Record>,
    ) -> (usize, Option<MediaStoreError>) {
        // Gateways that do this at the same time begin at different objects.
        let first = random_write() as usize % due.len().max(1);
        due.rotate_left(first);
        let (mut removed, mut failed) = (0, None);
        let mut removing = JoinSet::new();
        let mut due = due.into_iter();
        loop {
            while removing.len() < REMOVALS_MAX
                && let Some(record) = due.next()
            {
                let store = self.clone();
                removing.spawn(async move { store.remove(record).await });
            }
            // One object that cannot be removed does not keep the others.
            match removing.join_next().await {
                Some(Ok(Ok(is_removed))) => removed += usize::from(is_removed),
                Some(Ok(Err(error))) => failed = Some(error),
                Some(Err(_)) => {}
                None => return (removed, failed),
            }
        }
    }

    /// Counts what is stored, for the limit of the store and for metrics.
    ///
    /// # Errors
    /// The records are unreachable.
    pub async fn count_objects(&self) -> Result<(), MediaStoreError> {
        let counters = &self.shared.counters;
        let before = counters.totals();
        let counted = self.counted_objects().await?;
        counters.correct_totals(before, counted);
        Ok(())
    }

    async fn counted_objects(&self) -> Result<StoredObjectTotals, MediaStoreError> {
        let records = self.state.records();
        let (mut after, mut totals) = (String::new(), StoredObjectTotals::default());
        loop {
            let page = records.list(RecordKind::MediaObject, &after, PAGE);
            let page = page.get().await?;
            for record in &page {
                let known = ObjectRecord::read(&record.content.value);
                if let Some(known) = known.filter(|known| known.state == ObjectState::Stored) {
                    totals.objects += 1;
                    totals.bytes += known.size;
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = last.key.to_string(),
                _ => return Ok(totals),
            }
        }
    }

    pub(super) async fn remove(&self, found: Record) -> Result<bool, MediaStoreError> {
        let records = self.state.records();
        let known = ObjectRecord::read(&found.content.value);
        let Some(known) = known.filter(|known| known.is_due(unix_ms())) else {
            return Ok(false);
        };
        let content = known.removing(&found.key);
        let marked = records.replace(RecordKind::MediaObject, &found.key, found.version, content);
        let Some(version) = marked.get().await? else {
            return Ok(false);
        };
        self.count_removal(&known);
        self.storage.delete(&known.location(&found.key)).await?;
        let removed = records.remove(RecordKind::MediaObject, &found.key, version);
        Ok(removed.get().await?)
    }

    /// Counts an object whose record was changed to one that is being removed.
    pub(super) fn count_removal(&self, known: &ObjectRecord) {
        if known.state == ObjectState::Stored {
            let counters = &self.shared.counters;
            counters.count_removal(RemovalReason::Expired, known.size);
        }
    }
}
