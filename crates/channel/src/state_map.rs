//! Live states of one kind, by fingerprint. To find one writes nothing that other threads write.

use headgate_core::state::lock::lock;
use headgate_core::thread_shards::ThreadShards;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// States by fingerprint, which all threads share.
pub(super) struct StateMap<T: Send + Sync> {
    all: Mutex<FingerprintMap<Arc<T>>>,
    /// The number of states that were ever added.
    added: AtomicU64,
    /// The states that each thread has used.
    threads: ThreadShards<Mutex<ThreadStates<T>>>,
}

/// A state, with a reference count that only requests of one thread change.
pub type StateHandle<T> = Arc<Arc<T>>;

struct ThreadStates<T> {
    handles: FingerprintMap<StateHandle<T>>,
    /// The value of `added` when the thread last had all states.
    seen: u64,
}

/// Fingerprints are hashes already, so the map does not hash them again.
type FingerprintMap<T> = HashMap<u64, T, BuildHasherDefault<PassThroughHasher>>;

#[derive(Default)]
struct PassThroughHasher(u64);

impl<T: Send + Sync> StateMap<T> {
    /// The state with this fingerprint, if there is one.
    pub fn get(&self, fingerprint: u64) -> Option<StateHandle<T>> {
        let mut own = lock(self.threads.own());
        if let Some(known) = own.handles.get(&fingerprint) {
            return Some(known.clone());
        }
        if own.seen != self.added.load(Ordering::Acquire) {
            let all = lock(&self.all);
            own.seen = self.added.load(Ordering::Acquire);
            for (fingerprint, state) in all.iter() {
                let handle = || Arc::new(state.clone());
                own.handles.entry(*fingerprint).or_insert_with(handle);
            }
        }
        own.handles.get(&fingerprint).cloned()
    }

    /// Drops states with none of these fingerprints, except what is in use; returns whether anything was in use.
    pub fn drop_all_but(&self, known: &HashSet<u64>) -> bool {
        for own in self.threads.iter() {
            let mut own = lock(own);
            own.handles.retain(|fingerprint, handle| {
                known.contains(fingerprint) || Arc::strong_count(handle) > 1
            });
        }
        let mut is_anything_left = false;
        lock(&self.all).retain(|fingerprint, state| {
            let is_under_way = Arc::strong_count(state) > 1;
            let is_known = known.contains(fingerprint);
            is_anything_left |= is_under_way && !is_known;
            is_known || is_under_way
        });
        is_anything_left
    }
}

impl<T: Send + Sync + Default> StateMap<T> {
    /// The state with this fingerprint, which is made if there is none.
    pub fn get_or_new(&self, fingerprint: u64) -> StateHandle<T> {
        let mut own = lock(self.threads.own());
        if let Some(known) = own.handles.get(&fingerprint) {
            return known.clone();
        }
        let mut all = lock(&self.all);
        let state = all.entry(fingerprint).or_insert_with(|| {
            self.added.fetch_add(1, Ordering::Release);
            Arc::default()
        });
        let handle = Arc::new(state.clone());
        own.handles.insert(fingerprint, handle.clone());
        handle
    }
}

impl<T: Send + Sync> Default for StateMap<T> {
    fn default() -> Self {
        Self {
            all: Mutex::default(),
            added: AtomicU64::new(0),
            threads: ThreadShards::default(),
        }
    }
}

impl<T> Default for ThreadStates<T> {
    fn default() -> Self {
        Self {
            handles: FingerprintMap::default(),
            seen: 0,
        }
    }
}

impl Hasher for PassThroughHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, fingerprint: u64) {
        self.0 = fingerprint;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn all_threads_find_one_state_as_soon_as_a_thread_has_made_it() {
        let states: StateMap<AtomicU64> = StateMap::default();
        // This thread has looked before the state is made.
        assert!(states.get(7).is_none());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        states.get_or_new(7).fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        let state = states.get(7).expect("it was made");
        assert_eq!(state.load(Ordering::Relaxed), 4000);
        assert!(states.get(8).is_none());
    }

    #[test]
    fn a_state_that_is_in_use_on_any_thread_is_not_dropped() {
        let states: StateMap<AtomicU64> = StateMap::default();
        let known = HashSet::from([1]);
        states.get_or_new(1).store(1, Ordering::Relaxed);
        states.get_or_new(2).store(2, Ordering::Relaxed);
        let in_use = thread::scope(|scope| {
            let other = scope.spawn(|| states.get_or_new(2));
            other.join().unwrap()
        });
        assert!(states.drop_all_but(&known));
        assert_eq!(states.get_or_new(2).load(Ordering::Relaxed), 2);
        drop(in_use);
        assert!(!states.drop_all_but(&known));
        assert_eq!(states.get_or_new(2).load(Ordering::Relaxed), 0);
        assert_eq!(states.get_or_new(1).load(Ordering::Relaxed), 1);
    }
}
