//! Gateway keys whose digest was checked before, so that the digest of a key is not computed for every request.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};

/// Holders by the fingerprints of their keys. A fingerprint is a keyed hash of 128 bits, whose keys are random in each
/// process: nobody can make another text with the fingerprint of a key, or read a key from its fingerprint.
#[derive(Debug)]
pub struct VerifiedKeys<H> {
    hashers: [RandomState; 2],
    /// Only valid keys are added.
    holders: RwLock<HashMap<[u64; 2], Arc<H>, foldhash::fast::RandomState>>,
}

impl<H> Default for VerifiedKeys<H> {
    fn default() -> Self {
        Self {
            hashers: Default::default(),
            holders: RwLock::default(),
        }
    }
}

impl<H> VerifiedKeys<H> {
    /// The holder of a key that was added before.
    pub fn find_by_key(&self, key: &[u8]) -> Option<Arc<H>> {
        let fingerprint = self.fingerprint(key);
        let holders = self.holders.read().unwrap_or_else(PoisonError::into_inner);
        holders.get(&fingerprint).cloned()
    }

    /// Adds a key that its digest has shown to be valid.
    pub fn add(&self, key: &[u8], holder: &Arc<H>) {
        let fingerprint = self.fingerprint(key);
        let mut holders = self.holders.write().unwrap_or_else(PoisonError::into_inner);
        holders.insert(fingerprint, holder.clone());
    }

    /// The number of keys.
    pub fn count(&self) -> usize {
        let holders = self.holders.read().unwrap_or_else(PoisonError::into_inner);
        holders.len()
    }

    /// Forgets all keys.
    pub fn clear(&self) {
        let mut holders = self.holders.write().unwrap_or_else(PoisonError::into_inner);
        holders.clear();
    }

    fn fingerprint(&self, key: &[u8]) -> [u64; 2] {
        [0, 1].map(|half: usize| self.hashers[half].hash_one(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_key_that_was_added_has_a_holder() {
        let keys = VerifiedKeys::<&str>::default();
        assert!(keys.find_by_key(b"sk-a").is_none());
        keys.add(b"sk-a", &Arc::new("ann"));
        assert_eq!(keys.find_by_key(b"sk-a").as_deref(), Some(&"ann"));
        for other in [&b"sk-b"[..], b"sk-a ", b"sk-", b""] {
            assert!(keys.find_by_key(other).is_none());
        }
    }
}
