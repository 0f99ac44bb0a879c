//! Duplicates that wait for a create in flight: their number is bounded, and they share reads of its record.

use headgate_core::state::records::{Record, RecordKind};
use headgate_core::state::{StateStore, StoreUnavailable};
use std::collections::HashMap;
use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Mutex;

/// Maximum number of duplicates of one create that wait in this process.
const DUPLICATES_PER_KEY_MAX: usize = 128;
/// Maximum number of duplicates of one caller that wait in this process.
const DUPLICATES_PER_CALLER_MAX: usize = 1000;
/// Maximum size of the bodies of one caller's waiting duplicates together; a single one may be larger.
const CALLER_BODY_BYTES_MAX: usize = 1 << 30;

/// The duplicates that wait in this process.
#[derive(Clone, Default)]
pub struct WaitingDuplicates(Arc<SyncMutex<WaitingCounts>>);

#[derive(Default)]
struct WaitingCounts {
    keys: HashMap<Arc<str>, (usize, Arc<SharedRecordRead>)>,
    callers: HashMap<Arc<str>, CallerWaitingDuplicates>,
}

/// The duplicates of one caller that wait.
#[derive(Default)]
struct CallerWaitingDuplicates {
    duplicates: usize,
    body_bytes: usize,
}

/// The permit of one duplicate to wait, until it is dropped.
pub struct DuplicateWaitPermit {
    all: WaitingDuplicates,
    record_key: Arc<str>,
    caller: Arc<str>,
    body_bytes: usize,
    read: Arc<SharedRecordRead>,
}

/// The last read of a record, for all duplicates that wait for its create.
#[derive(Default)]
struct SharedRecordRead(Mutex<Option<LastRecordRead>>);

struct LastRecordRead {
    /// The record is as it was at this time or later. A failed read counts from its end: a store that hangs fails all
    /// duplicates at once, and not one after the other.
    at: Instant,
    result: Result<Option<Record>, StoreUnavailable>,
}

impl WaitingDuplicates {
    /// Admits a duplicate to wait; `None` if as many of its create or its caller wait as may.
    pub fn admit(
        &self,
        record_key: &Arc<str>,
        caller: &Arc<str>,
        body_bytes: usize,
    ) -> Option<DuplicateWaitPermit> {
        let mut counts = self.lock();
        let of_key = counts.keys.get(record_key).map_or(0, |(count, _)| *count);
        let is_full = |caller_count: &CallerWaitingDuplicates| {
            caller_count.duplicates >= DUPLICATES_PER_CALLER_MAX
                || caller_count.body_bytes + body_bytes > CALLER_BODY_BYTES_MAX
        };
        if of_key >= DUPLICATES_PER_KEY_MAX || counts.callers.get(caller).is_some_and(is_full) {
            return None;
        }
        let caller_count = counts.callers.entry(caller.clone()).or_default();
        caller_count.duplicates += 1;
        caller_count.body_bytes += body_bytes;
        let (count, read) = counts.keys.entry(record_key.clone()).or_default();
        *count += 1;
        Some(DuplicateWaitPermit {
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

impl DuplicateWaitPermit {
    /// The record as it was at `not_before` or later: at most one of the duplicates that wait reads it.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn read(
        &self,
        store: &dyn StateStore,
        not_before: Instant,
    ) -> Result<Option<Record>, StoreUnavailable> {
        let mut last = self.read.0.lock().await;
        if let Some(last) = &*last
            && last.at >= not_before
        {
            return last.result.clone();
        }
        let began = Instant::now();
        let records = store.records();
        let read = records.get(RecordKind::IdempotencyKey, &self.record_key);
        let result = read.get().await;
        *last = Some(LastRecordRead {
            at: match result {
                Ok(_) => began,
                Err(_) => Instant::now(),
            },
            result: result.clone(),
        });
        result
    }
}

impl Drop for DuplicateWaitPermit {
    fn drop(&mut self) {
        let mut counts = self.all.lock();
        if let Some((count, _)) = counts.keys.get_mut(&self.record_key) {
            *count -= 1;
            if *count == 0 {
                counts.keys.remove(&self.record_key);
            }
        }
        if let Some(caller_count) = counts.callers.get_mut(&self.caller) {
            caller_count.duplicates -= 1;
            caller_count.body_bytes -= self.body_bytes;
            if caller_count.duplicates == 0 {
                counts.callers.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::state::memory::MemoryStore;
    use headgate_core::state::test_stores::{InterceptedStore, RecordStoreOperation};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn waiting_duplicates_are_bounded_for_each_create_and_each_caller() {
        let waiting = WaitingDuplicates::default();
        let admit =
            |key: &str, caller: &str, bytes| waiting.admit(&key.into(), &caller.into(), bytes);
        let mut permits: Vec<_> = (0..DUPLICATES_PER_KEY_MAX)
            .map(|_| admit("one", "ann", 1))
            .collect();
        assert!(permits.iter().all(Option::is_some));
        assert!(admit("one", "ann", 1).is_none());
        assert!(admit("two", "ann", 1).is_some());
        permits.pop();
        assert!(admit("one", "ann", 1).is_some());
        // A body that is larger than the bound waits alone.
        assert!(admit("two", "ann", CALLER_BODY_BYTES_MAX).is_none());
        let large = admit("two", "bob", 2 * CALLER_BODY_BYTES_MAX);
        assert!(large.is_some());
        assert!(admit("two", "bob", 1).is_none());
        drop((large, permits));
        let many: Vec<_> = (0..DUPLICATES_PER_CALLER_MAX)
            .map(|nth| admit(&nth.to_string(), "ann", 1))
            .collect();
        assert!(many.iter().all(Option::is_some));
        assert!(admit("another", "ann", 1).is_none());
        assert!(admit("another", "bob", 1).is_some());
        drop(many);
        assert!(waiting.lock().keys.is_empty() && waiting.lock().callers.is_empty());
    }

    #[tokio::test]
    async fn a_read_serves_all_duplicates_that_need_no_later_one() {
        let waiting = WaitingDuplicates::default();
        let store = MemoryStore::default();
        let permit = waiting.admit(&"key".into(), &"ann".into(), 0).unwrap();
        let other = waiting.admit(&"key".into(), &"ann".into(), 0).unwrap();
        let began = Instant::now();
        assert_eq!(permit.read(&store, began).await.unwrap(), None);
        let at = permit.read.0.lock().await.as_ref().unwrap().at;
        assert_eq!(other.read(&store, began).await.unwrap(), None);
        assert_eq!(other.read.0.lock().await.as_ref().unwrap().at, at);
        let later = Instant::now() + Duration::from_nanos(1);
        assert_eq!(other.read(&store, later).await.unwrap(), None);
        assert!(other.read.0.lock().await.as_ref().unwrap().at > at);
    }
    #[tokio::test]
    async fn a_store_that_hangs_fails_all_duplicates_at_once() {
        let waiting = WaitingDuplicates::default();
        let reads: Arc<AtomicUsize> = Arc::default();
        let counted = reads.clone();
        let store = Arc::new(InterceptedStore::new(move |call| {
            assert_eq!(call, RecordStoreOperation::Get);
            counted.fetch_add(1, Ordering::Relaxed);
            Box::pin(async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Err(StoreUnavailable("timeout".into()))
            })
        }));
        let duplicates: Vec<_> = (0..10)
            .map(|_| {
                let permit = waiting.admit(&"key".into(), &"ann".into(), 0).unwrap();
                let store = store.clone();
                let not_before = Instant::now();
                tokio::spawn(async move { permit.read(&*store, not_before).await })
            })
            .collect();
        for duplicate in duplicates {
            let failed = duplicate.await.unwrap().unwrap_err();
            assert_eq!(failed.0, "timeout");
        }
        assert_eq!(reads.load(Ordering::Relaxed), 1);
        let permit = waiting.admit(&"key".into(), &"ann".into(), 0).unwrap();
        let later = permit.read(&*store, Instant::now()).await;
        assert!(later.is_err());
        assert_eq!(reads.load(Ordering::Relaxed), 2);
    }
}
