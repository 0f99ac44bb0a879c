//! Thoughts in the state store, for callers that give back only handles of them. They are sealed.

use crate::state::calendar::unix_ms;
use crate::state::lock::lock;
use crate::state::log_throttle::LogThrottle;
use crate::state::records::{InsertResult, RECORD_BYTES_MAX, RecordContent, RecordKind, owned_key};
use crate::state::{StateStore, StoreUnavailable};
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

const KIND: RecordKind = RecordKind::KeptThoughts;
/// How long thoughts are kept: a day.
const KEPT_MS: u64 = 24 * 60 * 60 * 1000;
/// Records of one caller, of at most 128 KiB each. The oldest one makes room for another.
const RECORDS_MAX: u32 = 512;
/// Old records that make room at a time.
const REMOVED_AT_ONCE: usize = 8;
/// Records that are being written at a time; further ones are not kept.
const WRITES_MAX: usize = 256;
/// Records that one request reads at a time.
const READS_AT_ONCE: usize = 16;
/// Thoughts that one request reads, in bytes, the newest first: 8 MiB.
const FOUND_BYTES_MAX: usize = 8 << 20;
/// How long a request waits for the state store.
const READ_TIMEOUT: Duration = Duration::from_millis(500);

/// Thoughts of all callers.
pub struct ThoughtStore {
    state: Arc<dyn StateStore>,
    /// What is being written, by its key: a caller may answer a call before that.
    unwritten: Mutex<HashMap<Arc<str>, String>>,
}

impl fmt::Debug for ThoughtStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ThoughtStore")
            .finish_non_exhaustive()
    }
}

/// The thoughts of one request, by their handles.
#[derive(Debug, Default)]
pub struct FoundThoughts(HashMap<Box<str>, String>);

impl FoundThoughts {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, handle: &str) -> Option<&str> {
        self.0.get(handle).map(String::as_str)
    }
}

impl ThoughtStore {
    pub fn new(state: Arc<dyn StateStore>) -> Self {
        Self {
            state,
            unwritten: Mutex::default(),
        }
    }

    /// Keeps seals in the background; returns the handle by which `caller` finds them. Seals that are too large for a
    /// record are not kept.
    pub fn keep(self: &Arc<Self>, caller: &Arc<str>, seals: String) -> Box<str> {
        let now_ms = unix_ms();
        let handle = new_handle(now_ms);
        if seals.is_empty() || seals.len() > RECORD_BYTES_MAX {
            return handle;
        }
        let write = ThoughtWrite {
            key: format!("{}{handle}", key_start(caller)).into(),
            content: RecordContent {
                value: seals.clone().into(),
                owner: caller.clone(),
                expires_ms: now_ms + KEPT_MS,
                due_ms: None,
            },
        };
        {
            let mut unwritten = lock(&self.unwritten);
            if unwritten.len() >= WRITES_MAX {
                report("too many wait for the state store");
                return handle;
            }
            unwritten.insert(write.key.clone(), seals);
        }
        let store = self.clone();
        let writing = async move {
            if let Err(error) = write.run(&*store.state).await {
                report(&error.to_string());
            }
            lock(&store.unwritten).remove(&write.key);
        };
        let mut writing = Box::pin(writing);
        // A store in memory is done at once.
        let mut context = Context::from_waker(Waker::noop());
        if writing.as_mut().poll(&mut context) == Poll::Pending {
            tokio::spawn(writing);
        }
        handle
    }

    /// What is kept for `caller` of these handles, of which the last one is the newest. A store that is unreachable or
    /// slow has nothing.
    pub async fn find(&self, caller: &Arc<str>, handles: Vec<Box<str>>) -> FoundThoughts {
        let mut found = FoundThoughts::default();
        let reading = self.read(caller, handles, &mut found);
        if timeout(READ_TIMEOUT, reading).await.is_err() {
            report("the state store is slow");
        }
        found
    }

    async fn read(&self, caller: &Arc<str>, mut handles: Vec<Box<str>>, found: &mut FoundThoughts) {
        let start = key_start(caller);
        let mut bytes = 0;
        while !handles.is_empty() && bytes <= FOUND_BYTES_MAX {
            let rest = handles.len().saturating_sub(READS_AT_ONCE);
            let mut reads = JoinSet::new();
            for handle in handles.drain(rest..) {
                let key = format!("{start}{handle}");
                if let Some(seals) = lock(&self.unwritten).get(&*key) {
                    bytes += seals.len();
                    found.0.insert(handle, seals.clone());
                    continue;
                }
                let state = self.state.clone();
                reads.spawn(async move { (handle, state.records().get(KIND, &key).get().await) });
            }
            while let Some(Ok((handle, read))) = reads.join_next().await {
                let value = match read {
                    Ok(record) => record.map(|record| record.content.value.to_vec()),
                    Err(error) => return report(&error.to_string()),
                };
                if let Some(seals) = value.and_then(|value| String::from_utf8(value).ok()) {
                    bytes += seals.len();
                    found.0.insert(handle, seals);
                }
            }
        }
    }
}

/// A record that is to be written.
struct ThoughtWrite {
    key: Arc<str>,
    content: RecordContent,
}

impl ThoughtWrite {
    /// # Errors
    /// The store is unreachable.
    async fn run(&self, state: &dyn StateStore) -> Result<(), StoreUnavailable> {
        let records = state.records();
        for _ in 0..3 {
            let inserting = records.insert(KIND, &self.key, self.content.clone(), RECORDS_MAX);
            match inserting.get().await? {
                InsertResult::Inserted { .. } | InsertResult::Exists(_) => return Ok(()),
                InsertResult::OwnerFull => self.make_room(state).await?,
            }
        }
        report("the caller makes more than can be replaced");
        Ok(())
    }

    /// Removes the caller's oldest records: keys are in the order of time.
    async fn make_room(&self, state: &dyn StateStore) -> Result<(), StoreUnavailable> {
        let start = key_start(&self.content.owner);
        let records = state.records();
        let oldest = records.list(KIND, &start, REMOVED_AT_ONCE).get().await?;
        for record in oldest
            .iter()
            .filter(|record| record.key.starts_with(&start))
        {
            records
                .remove(KIND, &record.key, record.version)
                .get()
                .await?;
        }
        Ok(())
    }
}

/// What the keys of a caller begin with.
fn key_start(caller: &str) -> String {
    owned_key(caller, "thoughts")
}

/// 48 bits of the time and as many random ones, in letters whose order is that of their values.
fn new_handle(now_ms: u64) -> Box<str> {
    const LETTERS: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    let random = RandomState::new().hash_one(now_ms);
    let letters = [now_ms, random].into_iter().flat_map(|number| {
        let sextets = (0..8).rev();
        sextets.map(move |sextet| char::from(LETTERS[(number >> (6 * sextet) & 63) as usize]))
    });
    letters.collect::<String>().into()
}

/// Logs a failure of the store.
fn report(detail: &str) {
    static THROTTLE: LogThrottle = LogThrottle::new();
    if THROTTLE.admits() {
        tracing::warn!(
            detail,
            "thoughts of a model are not kept for callers that do not give them back"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::memory::MemoryStore;

    fn caller(name: &str) -> Arc<str> {
        name.into()
    }

    async fn found(store: &ThoughtStore, name: &str, handle: &str) -> Option<String> {
        let found = store.find(&caller(name), vec![handle.into()]).await;
        found.get(handle).map(str::to_owned)
    }

    #[tokio::test]
    async fn thoughts_are_found_by_their_caller_only() {
        let store = Arc::new(ThoughtStore::new(Arc::new(MemoryStore::default())));
        let handle = store.keep(&caller("ann"), "hgt1.a\nhgt1.b".into());
        assert_eq!(
            found(&store, "ann", &handle).await.as_deref(),
            Some("hgt1.a\nhgt1.b")
        );
        assert_eq!(found(&store, "bob", &handle).await, None);
        assert_eq!(found(&store, "ann", "0000000000000000").await, None);
        assert!(lock(&store.unwritten).is_empty());
    }

    #[tokio::test]
    async fn the_oldest_thoughts_of_a_caller_make_room() {
        let store = Arc::new(ThoughtStore::new(Arc::new(MemoryStore::default())));
        let of_bob = store.keep(&caller("bob"), "hgt1.b".into());
        let first = store.keep(&caller("ann"), "hgt1.a".into());
        // Keys are in the order of milliseconds.
        let start = unix_ms();
        while unix_ms() == start {
            tokio::task::yield_now().await;
        }
        let mut last = first.clone();
        for _ in 0..RECORDS_MAX {
            last = store.keep(&caller("ann"), "hgt1.c".into());
        }
        assert_eq!(found(&store, "ann", &first).await, None);
        for (name, handle) in [("ann", last), ("bob", of_bob)] {
            assert!(found(&store, name, &handle).await.is_some(), "{name}");
        }
        let kept = store.state.records().count(KIND).get().await.unwrap();
        assert!(kept.count <= u64::from(RECORDS_MAX) + 1, "{kept:?}");
    }

    #[tokio::test]
    async fn thoughts_that_are_too_large_have_a_handle_of_nothing() {
        let store = Arc::new(ThoughtStore::new(Arc::new(MemoryStore::default())));
        for seals in [String::new(), "x".repeat(RECORD_BYTES_MAX + 1)] {
            let handle = store.keep(&caller("ann"), seals);
            assert_eq!(handle.len(), 16);
            assert_eq!(found(&store, "ann", &handle).await, None);
        }
    }

    #[test]
    fn handles_are_in_the_order_of_time_and_differ() {
        let handles = [1, 63, 64, 1 << 40, (1 << 48) - 1].map(new_handle);
        assert!(handles.is_sorted());
        assert_ne!(new_handle(5), new_handle(5));
        assert_eq!(new_handle(5)[..8], *"-------4");
    }
}
