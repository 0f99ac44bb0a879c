//! The use of each named key, which outlives snapshots: a reload does not forget that an old key is still in use.

use headgate_core::catalog::caller::Callers;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// The use of all named keys of the configuration in use.
#[derive(Debug, Default)]
pub struct KeyUsages {
    by_key: RwLock<HashMap<KeyName, Arc<KeyUsage>>>,
}

/// A caller and the label of one of its keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyName {
    pub caller: Arc<str>,
    pub label: Arc<str>,
}

/// How much a key was used since the process started.
#[derive(Debug, Default)]
pub struct KeyUsage {
    requests: AtomicU64,
    /// Unix seconds of the last request; 0 for none.
    last_used: AtomicU64,
    /// Unix seconds at which the key expires; 0 for never.
    expiry: AtomicU64,
}

impl KeyUsages {
    /// Takes the keys of a configuration: those that it does not have are forgotten.
    pub fn adopt(&self, callers: &Callers) {
        let mut by_key = self.by_key.write().unwrap_or_else(PoisonError::into_inner);
        let mut known = std::mem::take(&mut *by_key);
        for (caller, key) in callers.keys() {
            let name = KeyName {
                caller: caller.clone(),
                label: key.label.clone(),
            };
            let usage = known.remove(&name).unwrap_or_default();
            let expiry = key.not_after.map_or(0, unix_seconds);
            usage.expiry.store(expiry, Ordering::Relaxed);
            by_key.insert(name, usage);
        }
    }

    /// Counts a request with a key.
    pub fn count(&self, name: &KeyName) {
        let by_key = self.by_key.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(usage) = by_key.get(name) {
            usage.requests.fetch_add(1, Ordering::Relaxed);
            let now = unix_seconds(SystemTime::now());
            usage.last_used.fetch_max(now, Ordering::Relaxed);
        }
    }

    /// All keys with their use, in the order of their names.
    pub fn list(&self) -> Vec<(KeyName, Arc<KeyUsage>)> {
        let by_key = self.by_key.read().unwrap_or_else(PoisonError::into_inner);
        let all = by_key.iter();
        let mut all: Vec<_> = all
            .map(|(name, usage)| (name.clone(), usage.clone()))
            .collect();
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all
    }
}

impl KeyUsage {
    /// Requests that the key has authenticated.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The last one of them, in Unix seconds.
    pub fn last_used(&self) -> Option<u64> {
        Some(self.last_used.load(Ordering::Relaxed)).filter(|time| *time > 0)
    }

    /// When the key expires, in Unix seconds.
    pub fn expiry(&self) -> Option<u64> {
        Some(self.expiry.load(Ordering::Relaxed)).filter(|time| *time > 0)
    }
}

fn unix_seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::catalog::caller::{Caller, KeyDigest};
    use headgate_core::catalog::caller_key::CallerKey;
    use std::time::Duration;

    fn callers(labels: &[&str]) -> Callers {
        let mut callers = Callers::default();
        let ann = Caller::new("ann", &[]);
        for label in labels {
            let key = CallerKey {
                label: (*label).into(),
                not_after: Some(UNIX_EPOCH + Duration::from_secs(7)),
                ..CallerKey::default()
            };
            let digest = KeyDigest::from_key(label.as_bytes());
            callers.insert(digest, Arc::new(ann.with_key(Arc::new(key))));
        }
        callers
    }

    fn key(label: &str) -> KeyName {
        KeyName {
            caller: "ann".into(),
            label: label.into(),
        }
    }

    #[test]
    fn the_use_of_a_key_survives_a_reload_for_as_long_as_the_key_is_configured() {
        let usages = KeyUsages::default();
        usages.adopt(&callers(&["old", "new"]));
        usages.count(&key("old"));
        usages.count(&key("old"));
        usages.count(&key("unknown"));
        usages.adopt(&callers(&["old", "newer"]));
        let all = usages.list();
        let counted = all
            .iter()
            .map(|(name, usage)| (&*name.label, usage.requests()));
        assert_eq!(counted.collect::<Vec<_>>(), [("newer", 0), ("old", 2)]);
        let (newer, old) = (&all[0].1, &all[1].1);
        assert!(newer.last_used().is_none() && old.last_used().is_some());
        assert_eq!(old.expiry(), Some(7));
        usages.adopt(&callers(&["newer"]));
        usages.adopt(&callers(&["old"]));
        assert_eq!(usages.list()[0].1.requests(), 0);
    }
}
