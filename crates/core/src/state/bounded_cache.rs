//! An LRU cache bounded by the number and the total size of its entries.

use lru::LruCache;
use std::borrow::Borrow;
use std::hash::{Hash, RandomState};

/// The maximum size of a cache.
#[derive(Clone, Copy, Debug)]
pub struct CacheBounds {
    pub entries: usize,
    /// The size of all entries together, as given by the code that inserts them.
    pub bytes: usize,
}

/// Values by key, within bounds. Keys come from callers and providers, so the hash is seeded at random.
#[derive(Debug)]
pub struct BoundedCache<K: Hash + Eq, V> {
    /// The values, each with its size in bytes.
    entries: LruCache<K, (V, usize), RandomState>,
    bytes: usize,
    bounds: CacheBounds,
}

impl<K: Hash + Eq, V> BoundedCache<K, V> {
    pub fn new(bounds: CacheBounds) -> Self {
        Self {
            entries: LruCache::unbounded_with_hasher(RandomState::new()),
            bytes: 0,
            bounds,
        }
    }

    /// Changes the maximum size, which applies from the next insertion on.
    pub fn set_bounds(&mut self, bounds: CacheBounds) {
        self.bounds = bounds;
    }

    /// The value of `key`. The lookup counts as a use.
    pub fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key).map(|(value, _)| value)
    }

    /// The value of `key`, to be changed without a change of its size. The lookup counts as a use.
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries.get_mut(key).map(|(value, _)| value)
    }

    /// Inserts `value` with a size of `bytes` and replaces the value that `key` had. A value larger than the whole
    /// cache evicts all others and is not stored.
    pub fn insert(&mut self, key: K, value: V, bytes: usize) {
        if let Some((_, before)) = self.entries.put(key, (value, bytes)) {
            self.bytes -= before;
        }
        self.bytes += bytes;
        while self.entries.len() > self.bounds.entries || self.bytes > self.bounds.bytes {
            let Some((_, (_, oldest))) = self.entries.pop_lru() else {
                break;
            };
            self.bytes -= oldest;
        }
    }

    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Some((_, bytes)) = self.entries.pop(key) {
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of these bounds, after each of `entries` was inserted in turn.
    fn filled_cache(bounds: (usize, usize), entries: &[(u8, usize)]) -> BoundedCache<u8, usize> {
        let (entry_count, bytes) = bounds;
        let mut cache = BoundedCache::new(CacheBounds {
            entries: entry_count,
            bytes,
        });
        for (key, bytes) in entries {
            cache.insert(*key, *bytes, *bytes);
        }
        cache
    }

    #[test]
    fn the_entries_that_were_not_used_for_the_longest_time_go_first() {
        for (bounds, entries, expected) in [
            ((2, 100), &[(1, 1), (2, 1), (3, 1)][..], &[2, 3][..]),
            ((9, 10), &[(1, 4), (2, 4), (3, 4)], &[2, 3]),
            ((9, 10), &[(1, 4), (2, 4), (3, 10)], &[3]),
            ((9, 10), &[(1, 4), (2, 11)], &[]),
            // The space of a replaced entry is free again.
            ((9, 10), &[(1, 4), (2, 4), (1, 6), (2, 4)], &[1, 2]),
            ((2, 10), &[(1, 4), (2, 4), (1, 4), (3, 1)], &[1, 3]),
        ] {
            let mut cache = filled_cache(bounds, entries);
            let kept: Vec<u8> = (1..=3).filter(|key| cache.get(key).is_some()).collect();
            assert_eq!(kept, expected, "{bounds:?}: {entries:?}");
        }
    }

    #[test]
    fn an_entry_that_is_used_stays() {
        let mut cache = filled_cache((2, 10), &[(1, 1), (2, 1)]);
        assert_eq!(cache.get(&1), Some(&1));
        cache.insert(3, 1, 1);
        assert_eq!(cache.get(&1), Some(&1));
        assert_eq!(cache.get(&2), None);
    }

    #[test]
    fn a_removed_entry_makes_room() {
        let mut cache = filled_cache((9, 10), &[(1, 6), (2, 4)]);
        cache.remove(&1);
        cache.remove(&1);
        cache.insert(3, 6, 6);
        assert_eq!(cache.get(&1), None);
        assert_eq!(cache.get(&2), Some(&4));
        assert_eq!(cache.get(&3), Some(&6));
        assert_eq!(cache.bytes, 10);
    }
}
