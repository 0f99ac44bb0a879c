//! Callers that the configuration does not name: they come, change and go while it is in use.

use super::{Caller, KeyDigest};
use crate::catalog::caller_key::CallerKey;
use crate::catalog::verified_keys::VerifiedKeys;
use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A change copies the parts of the tables that it touches, so that parts are small.
const SHARDS: usize = 256;
/// Verified keys that may be there besides those of all callers, before those of earlier callers are forgotten.
const STALE_KEYS_MAX: usize = 1_000;

/// A caller with all of its permissions, and its keys.
#[derive(Debug)]
pub struct ExternalCaller {
    pub caller: Arc<Caller>,
    /// Each key with the caller that its requests have.
    pub keys: Box<[(KeyDigest, Arc<Caller>)]>,
}

/// The callers. Look-ups wait for nobody; changes are made by one thread at a time.
#[derive(Debug, Default)]
pub struct ExternalCallers {
    /// Empty until there is a caller.
    tables: OnceLock<ExternalCallerTables>,
    /// The digests of keys that were checked before. The tables decide whether they are still valid.
    verified: VerifiedKeys<KeyDigest>,
    callers: AtomicUsize,
    keys: AtomicUsize,
}

#[derive(Debug)]
struct ExternalCallerTables {
    by_digest: ShardedTable<KeyDigest, Arc<Caller>>,
    by_name: ShardedTable<Arc<str>, Arc<ExternalCaller>>,
}

/// Immutable maps, each of which a change replaces.
#[derive(Debug)]
struct ShardedTable<K, V> {
    hasher: RandomState,
    shards: Box<[ArcSwap<HashMap<K, V, RandomState>>]>,
}

impl ExternalCallers {
    /// Changes callers in this order: each name gets another caller, or none.
    pub fn change(&self, changes: Vec<(Arc<str>, Option<Arc<ExternalCaller>>)>) {
        if changes.iter().all(|(_, caller)| caller.is_none()) && self.is_empty() {
            return;
        }
        let tables = self.tables.get_or_init(ExternalCallerTables::new);
        let mut names: HashMap<_, (Option<Arc<ExternalCaller>>, _)> = HashMap::new();
        for (name, caller) in changes {
            match names.entry(name) {
                Entry::Occupied(mut known) => known.get_mut().1 = caller,
                Entry::Vacant(free) => {
                    let known = tables.by_name.find(free.key());
                    free.insert((known, caller));
                }
            }
        }
        let (mut removed, mut added, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for (name, (old, new)) in names {
            let keys = old.iter().flat_map(|caller| caller.keys.iter());
            removed.extend(keys.map(|(digest, _)| (*digest, None)));
            let keys = new.iter().flat_map(|caller| caller.keys.iter());
            added.extend(keys.map(|(digest, holder)| (*digest, Some(holder.clone()))));
            last.push((name, new));
        }
        // A key that stays is at no time without its caller: the last change of a key is the only one that shows.
        removed.extend(added);
        let keys = tables.by_digest.edit(removed);
        let callers = tables.by_name.edit(last);
        add(&self.keys, keys);
        add(&self.callers, callers);
        if self.verified.count() > self.keys.load(Ordering::Relaxed) + STALE_KEYS_MAX {
            self.verified.clear();
        }
    }

    /// The caller whose key is `key`, if the key was checked before.
    pub(super) fn find_verified(&self, key: &[u8]) -> Option<Arc<Caller>> {
        let tables = self.tables.get()?;
        let digest = self.verified.find_by_key(key)?;
        tables.by_digest.find(&*digest)
    }

    /// The caller whose key is `key` with this digest.
    pub(super) fn find_by_key(&self, key: &[u8], digest: KeyDigest) -> Option<Arc<Caller>> {
        let caller = self.holder(digest)?;
        self.verified.add(key, &Arc::new(digest));
        Some(caller)
    }

    /// The caller that requests with a key of this digest have.
    pub fn holder(&self, digest: KeyDigest) -> Option<Arc<Caller>> {
        self.tables.get()?.by_digest.find(&digest)
    }

    /// The caller of this name.
    pub fn by_name(&self, name: &str) -> Option<Arc<ExternalCaller>> {
        self.tables.get()?.by_name.find(name)
    }

    /// The key of a caller with this label.
    pub fn find_key(&self, caller: &str, label: &str) -> Option<(Arc<Caller>, Arc<CallerKey>)> {
        let caller = self.by_name(caller)?;
        let mut holders = caller.keys.iter().map(|(_, holder)| holder);
        let holder =
            holders.find(|holder| holder.key.as_ref().is_some_and(|key| *key.label == *label))?;
        Some((holder.clone(), holder.key.clone()?))
    }

    /// Shows every caller, in no particular order.
    pub fn for_each(&self, see: &mut impl FnMut(&ExternalCaller)) {
        if let Some(tables) = self.tables.get() {
            for shard in &tables.by_name.shards {
                shard.load().values().for_each(|caller| see(caller));
            }
        }
    }

    /// The number of callers.
    pub fn len(&self) -> usize {
        self.callers.load(Ordering::Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ExternalCallerTables {
    fn new() -> Self {
        Self {
            by_digest: ShardedTable::new(),
            by_name: ShardedTable::new(),
        }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> ShardedTable<K, V> {
    fn new() -> Self {
        Self {
            hasher: RandomState::default(),
            shards: (0..SHARDS).map(|_| ArcSwap::default()).collect(),
        }
    }

    fn find<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.shards[self.shard(key)].load().get(key).cloned()
    }

    /// Changes values in this order. Returns the number of keys before and after in all parts that were changed.
    fn edit(&self, mut edits: Vec<(K, Option<V>)>) -> (usize, usize) {
        edits.sort_by_key(|(key, _)| self.shard(key));
        let (mut before, mut after) = (0, 0);
        let groups = edits.chunk_by(|(one, _), (other, _)| self.shard(one) == self.shard(other));
        for edits in groups {
            let shard = &self.shards[self.shard(&edits[0].0)];
            let mut values = HashMap::clone(&shard.load());
            before += values.len();
            for (key, value) in edits {
                match value {
                    Some(value) => values.insert(key.clone(), value.clone()),
                    None => values.remove(key),
                };
            }
            after += values.len();
            shard.store(Arc::new(values));
        }
        (before, after)
    }

    fn shard<Q: Hash + ?Sized>(&self, key: &Q) -> usize {
        self.hasher.hash_one(key) as usize % SHARDS
    }
}

fn add(count: &AtomicUsize, (before, after): (usize, usize)) {
    let known = count.load(Ordering::Relaxed);
    count.store((known + after).saturating_sub(before), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str, keys: &[&str]) -> Option<Arc<ExternalCaller>> {
        let caller = Arc::new(Caller::new(name, &[]));
        let keys = keys.iter();
        let keys = keys.map(|key| (KeyDigest::from_key(key.as_bytes()), caller.clone()));
        let keys = keys.collect();
        Some(Arc::new(ExternalCaller { caller, keys }))
    }

    fn name(callers: &ExternalCallers, key: &str) -> Option<String> {
        let digest = KeyDigest::from_key(key.as_bytes());
        let first = callers.find_verified(key.as_bytes());
        let found = first.or_else(|| callers.find_by_key(key.as_bytes(), digest));
        found.map(|caller| caller.name.to_string())
    }

    #[test]
    fn a_key_is_found_for_as_long_as_its_caller_has_it() {
        let callers = ExternalCallers::default();
        callers.change(vec![("ann".into(), None)]);
        assert!(callers.is_empty() && callers.tables.get().is_none());
        callers.change(vec![
            ("ann".into(), caller("ann", &["a1", "a2"])),
            ("bob".into(), caller("bob", &["b1"])),
        ]);
        assert_eq!(callers.len(), 2);
        // Twice, because the second time the digest is not computed.
        for _ in 0..2 {
            assert_eq!(name(&callers, "a1").as_deref(), Some("ann"));
            assert_eq!(name(&callers, "b1").as_deref(), Some("bob"));
            assert_eq!(name(&callers, "c1"), None);
        }
        callers.change(vec![
            ("ann".into(), caller("ann", &["a2", "a3"])),
            ("bob".into(), None),
        ]);
        let found = ["a1", "a2", "a3", "b1"].map(|key| name(&callers, key).is_some());
        assert_eq!(found, [false, true, true, false]);
        assert!(callers.by_name("bob").is_none() && callers.len() == 1);
    }

    #[test]
    fn a_key_that_changes_hands_within_a_change_has_its_new_caller() {
        let callers = ExternalCallers::default();
        callers.change(vec![
            ("ann".into(), caller("ann", &["a"])),
            ("bob".into(), caller("bob", &["b"])),
        ]);
        callers.change(vec![
            ("bob".into(), caller("bob", &["a"])),
            ("ann".into(), caller("ann", &["b"])),
        ]);
        assert_eq!(name(&callers, "a").as_deref(), Some("bob"));
        assert_eq!(name(&callers, "b").as_deref(), Some("ann"));
        callers.change(vec![
            ("ann".into(), caller("ann", &["c"])),
            ("ann".into(), None),
        ]);
        assert_eq!([name(&callers, "b"), name(&callers, "c")], [None, None]);
    }

    #[test]
    fn keys_of_earlier_callers_take_no_memory_for_ever() {
        let callers = ExternalCallers::default();
        for round in 0..3 * STALE_KEYS_MAX {
            let key = format!("key {round}");
            callers.change(vec![("ann".into(), caller("ann", &[&key]))]);
            assert_eq!(name(&callers, &key).as_deref(), Some("ann"));
        }
        assert!(callers.verified.count() <= STALE_KEYS_MAX + 2);
    }
}
