//! Duplicates that wait for a create in flight: their number is bounded, and they share reads of its record.

use crate::state::records::{Record, RecordKind};
use crate::state::{StateStore, StoreUnavailable};
use std::collections::HashMap;
use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Mutex;

/// Maximum number of duplicates of one create that wait in this process.
const KEY_PLACES_MAX: usize = 128;
/// Maximum number of duplicates of one caller that wait in this process.
const CALLER_PLACES_MAX: usize = 1000;
/// Maximum size of the bodies of one caller's waiting duplicates together; a single one may be larger.
const CALLER_BODY_BYTES_MAX: usize = 1 << 30;

/// The duplicates that wait.
#[derive(Clone, Default)]
pub struct WaitingDuplicates(Arc<SyncMutex<WaitingCounts>>);

#[derive(Default)]
struct WaitingCounts {
    keys: HashMap<Arc<str>, (usize, Arc<SharedRead>)>,
    callers: HashMap<Arc<str>, CallerPlaces>,
}

#[derive(Default)]
struct CallerPlaces {
    count: usize,
    body_bytes: usize,
}

/// The place of one duplicate, until it is dropped.
pub struct WaitingPlace {
    all: WaitingDuplicates,
    record_key: Arc<str>,
    caller: Arc<str>,
    body_bytes: usize,
    read: Arc<SharedRead>,
}

/// The last read of a record, for all who wait for it.
#[derive(Default)]
struct SharedRead(Mutex<Option<(Instant, Option<Record>)>>);

impl WaitingDuplicates {
    /// A place for a duplicate; `None` if its create or its caller has as many as it may have.
    pub fn enter(
        &self,
        record_key: &Arc<str>,
        caller: &Arc<str>,
        body_bytes: usize,
    ) -> Option<WaitingPlace> {
        let mut counts = self.lock();
        let of_key = counts.keys.get(record_key).map_or(0, |(count, _)| *count);
        let is_full = |places: &CallerPlaces| {
            places.count >= CALLER_PLACES_MAX
                || places.body_bytes + body_bytes > CALLER_BODY_BYTES_MAX
        };
        if of_key >= KEY_PLACES_MAX || counts.callers.get(caller).is_some_and(is_full) {
            return None;
        }
        let places = counts.callers.entry(caller.clone()).or_default();
        places.count += 1;
        places.body_bytes += body_bytes;
        let (count, read) = counts.keys.entry(record_key.clone()).or_default();
        *count += 1;
        Some(WaitingPlace {
            all: self.clone(),
            record_key: record_key.clone(),
            caller: caller.clone(),
            body_bytes,
            read: read.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, WaitingCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingPlace {
    /// The record as it was at `not_before` or later: at most one of those who wait reads it.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn read(
        &self,
        store: &dyn StateStore,
        not_before: Instant,
    ) -> Result<Option<Record>, StoreUnavailable> {
        let mut last = self.read.0.lock().await;
        if let Some((at, record)) = &*last
            && *at >= not_before
        {
            return Ok(record.clone());
        }
        let at = Instant::now();
        let records = store.records();
        let read = records.get(RecordKind::IdempotencyKey, &self.record_key);
        let record = read.get().await?;
        *last = Some((at, record.clone()));
        Ok(record)
    }
}

impl Drop for WaitingPlace {
    fn drop(&mut self) {
        let mut counts = self.all.lock();
        if let Some((count, _)) = counts.keys.get_mut(&self.record_key) {
            *count -= 1;
            if *count == 0 {
                counts.keys.remove(&self.record_key);
            }
        }
        if let Some(places) = counts.callers.get_mut(&self.caller) {
            places.count -= 1;
            places.body_bytes -= self.body_bytes;
            if places.count == 0 {
                counts.callers.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::memory::MemoryStore;
    use std::time::Duration;

    #[test]
    fn places_are_bounded_for_each_create_and_each_caller() {
        let waiting = WaitingDuplicates::default();
        let enter =
            |key: &str, caller: &str, bytes| waiting.enter(&key.into(), &caller.into(), bytes);
        let mut places: Vec<_> = (0..KEY_PLACES_MAX)
            .map(|_| enter("one", "ann", 1))
            .collect();
        assert!(places.iter().all(Option::is_some));
        assert!(enter("one", "ann", 1).is_none());
        assert!(enter("two", "ann", 1).is_some());
        places.pop();
        assert!(enter("one", "ann", 1).is_some());
        // A body that is larger than the bound waits alone.
        assert!(enter("two", "ann", CALLER_BODY_BYTES_MAX).is_none());
        let large = enter("two", "bob", 2 * CALLER_BODY_BYTES_MAX);
        assert!(large.is_some());
        assert!(enter("two", "bob", 1).is_none());
        drop((large, places));
        let many: Vec<_> = (0..CALLER_PLACES_MAX)
            .map(|nth| enter(&nth.to_string(), "ann", 1))
            .collect();
        assert!(many.iter().all(Option::is_some));
        assert!(enter("another", "ann", 1).is_none());
        assert!(enter("another", "bob", 1).is_some());
        drop(many);
        assert!(waiting.lock().keys.is_empty() && waiting.lock().callers.is_empty());
    }

    #[tokio::test]
    async fn a_read_serves_all_who_do_not_need_a_later_one() {
        let waiting = WaitingDuplicates::default();
        let store = MemoryStore::default();
        let place = waiting.enter(&"key".into(), &"ann".into(), 0).unwrap();
        let other = waiting.enter(&"key".into(), &"ann".into(), 0).unwrap();
        let began = Instant::now();
        assert_eq!(place.read(&store, began).await.unwrap(), None);
        let at = place.read.0.lock().await.as_ref().unwrap().0;
        assert_eq!(other.read(&store, began).await.unwrap(), None);
        assert_eq!(other.read.0.lock().await.as_ref().unwrap().0, at);
        let later = Instant::now() + Duration::from_nanos(1);
        assert_eq!(other.read(&store, later).await.unwrap(), None);
        assert!(other.read.0.lock().await.as_ref().unwrap().0 > at);
    }
}
