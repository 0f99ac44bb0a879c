//! The use of each named key, which outlives snapshots: a reload does not forget that an old key is still in use.

use headgate_core::catalog::caller::Callers;
use headgate_core::catalog::caller_key::CallerKey;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// The use of all named keys of the configuration in use, and of those of external callers that were used.
#[derive(Debug, Default)]
pub struct KeyUsages(RwLock<KeyUsageTable>);

#[derive(Debug, Default)]
struct KeyUsageTable {
    by_key: HashMap<KeyName, Arc<KeyUsage>>,
    callers: Arc<Callers>,
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
    /// Whether the key is of an external caller.
    is_external: bool,
    /// Whether metrics do not name its caller.
    is_unnamed: AtomicBool,
}

impl KeyUsages {
    /// Takes the keys of a configuration: those that it does not have are forgotten.
    pub fn adopt(&self, callers: &Arc<Callers>) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut known = std::mem::take(&mut table.by_key);
        for (caller, key) in callers.keys() {
            let name = KeyName {
                caller: caller.clone(),
                label: key.label.clone(),
            };
            let usage = known.remove(&name);
            let usage = usage.filter(|usage| !usage.is_external).unwrap_or_default();
            usage.set_expiry(key);
            table.by_key.insert(name, usage);
        }
        known.retain(|_, usage| usage.is_external);
        table.by_key.extend(known);
        table.callers = callers.clone();
    }

    /// Counts a request with a key.
    pub fn count(&self, name: &KeyName) {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(usage) = table.by_key.get(name) {
            return usage.count();
        }
        drop(table);
        self.count_first(name);
    }

    /// Counts the first request with a key of an external caller. A key without such a caller is not known any more.
    fn count_first(&self, name: &KeyName) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let external = table.callers.external();
        if external.find_key(&name.caller, &name.label).is_some() {
            let usage = table.by_key.entry(name.clone()).or_insert_with(|| {
                Arc::new(KeyUsage {
                    is_external: true,
                    ..KeyUsage::default()
                })
            });
            usage.count();
        }
    }

    /// All keys with their use, in the order of their names. Forgets those of external callers that are gone.
    pub fn list(&self) -> Vec<(KeyName, Arc<KeyUsage>)> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let all = table.by_key.iter();
        let all: Vec<_> = all
            .map(|(name, usage)| (name.clone(), usage.clone()))
            .collect();
        let callers = table.callers.clone();
        drop(table);
        let (mut all, gone): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|(name, usage)| usage.renew(name, &callers));
        if !gone.is_empty() {
            let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
            for (name, _) in gone {
                table.by_key.remove(&name);
            }
        }
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

    /// Whether metrics name its caller.
    pub fn is_named(&self) -> bool {
        !self.is_unnamed.load(Ordering::Relaxed)
    }

    /// Takes what has changed of the key; returns `false` if it is gone.
    fn renew(&self, name: &KeyName, callers: &Callers) -> bool {
        if !self.is_external {
            return true;
        }
        let found = callers.external().find_key(&name.caller, &name.label);
        let Some((caller, key)) = found else {
            return false;
        };
        self.set_expiry(&key);
        let is_unnamed = caller.metric_name() != &*caller.name;
        self.is_unnamed.store(is_unnamed, Ordering::Relaxed);
        true
    }

    fn count(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let now = unix_seconds(SystemTime::now());
        self.last_used.fetch_max(now, Ordering::Relaxed);
    }

    fn set_expiry(&self, key: &CallerKey) {
        let expiry = key.not_after.map_or(0, unix_seconds);
        self.expiry.store(expiry, Ordering::Relaxed);
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
    use headgate_core::catalog::caller::external_callers::ExternalCaller;
    use headgate_core::catalog::caller::{Caller, KeyDigest};
    use std::time::Duration;

    fn callers(labels: &[&str]) -> Arc<Callers> {
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
        Arc::new(callers)
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
    #[test]
    fn a_key_of_an_external_caller_is_listed_from_its_first_use_until_it_is_gone() {
        let usages = KeyUsages::default();
        let file = callers(&[]);
        usages.adopt(&file);
        let key_of_ann = CallerKey {
            label: "old".into(),
            ..CallerKey::default()
        };
        let ann = Arc::new(Caller::new("ann", &[]));
        let holder = Arc::new(ann.with_key(Arc::new(key_of_ann)));
        let keys = Box::new([(KeyDigest::from_key(b"old"), holder)]);
        let ann = Arc::new(ExternalCaller { caller: ann, keys });
        file.external().change(vec![("ann".into(), Some(ann))]);
        assert!(usages.list().is_empty());
        for unknown in ["old", "unknown", "old"] {
            usages.count(&key(unknown));
        }
        usages.adopt(&file);
        let listed = || {
            let all = usages.list();
            let all = all.iter().map(|(_, usage)| usage.requests());
            all.collect::<Vec<_>>()
        };
        assert_eq!(listed(), [2]);
        file.external().change(vec![("ann".into(), None)]);
        assert!(listed().is_empty());
    }
}
