//! A caller of the state store, as its record has it: sealed with the keys of task ids, under its name and version.

use crate::idempotency::AppliedRequest;
use headgate_core::task::id::TaskIdKeyRing;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What seals are for, before the name of the caller. They do not open as anything else that the same keys seal.
const PURPOSE: &[u8] = b"headgate issued caller ";

/// A caller of the state store, or what is left of a deleted one. It has no `Debug`: its webhook secrets are in it.
#[derive(Clone, Serialize, Deserialize)]
pub struct IssuedCaller {
    pub name: String,
    /// A random number in hexadecimal digits, which no other caller has, also none of this name.
    pub id: String,
    /// How many callers had the name before.
    pub predecessors: u32,
    /// The number of the change that wrote the record. It grows with each change of any caller.
    pub version: u64,
    /// Unix milliseconds.
    pub created_ms: u64,
    /// Unix milliseconds.
    pub changed_ms: u64,
    /// The caller as an entry of `callers` without its name; `None` once it is deleted.
    pub entry: Option<Map<String, Value>>,
    /// The last changes that had an `Idempotency-Key`.
    pub applied: Vec<AppliedRequest>,
}

impl IssuedCaller {
    /// The name in logs, metrics and counters, to which tasks, files, usage and budgets belong. A caller that was made again
    /// under the name of a deleted one has another, so that it gets nothing of that one.
    pub fn identity(&self) -> String {
        match self.predecessors {
            0 => self.name.clone(),
            before => format!("{}~{}", self.name, u64::from(before) + 1),
        }
    }

    pub fn is_deleted(&self) -> bool {
        self.entry.is_none()
    }

    /// The entry of `callers` that the gateway uses; `None` once the caller is deleted.
    pub fn config_value(&self) -> Option<Value> {
        let mut entry = self.entry.clone()?;
        entry.insert("name".into(), self.identity().into());
        Some(Value::Object(entry))
    }

    /// The record's value.
    pub(crate) fn seal(&self, keys: &TaskIdKeyRing) -> Vec<u8> {
        let plain = serde_json::to_vec(self).expect("texts and numbers are JSON");
        keys.seal_bytes(&purpose(&self.name), &plain)
    }

    /// Reads a record that was found under `name`; `None` if no gateway of these keys has written it under this name.
    pub(crate) fn open(keys: &TaskIdKeyRing, name: &str, sealed: &[u8]) -> Option<Self> {
        let plain = keys.open_bytes(&purpose(name), sealed)?;
        serde_json::from_slice(&plain).ok()
    }

    /// Whether the first of the keys has sealed this value of the record.
    pub(crate) fn is_sealed_by_first(&self, keys: &TaskIdKeyRing, sealed: &[u8]) -> bool {
        self.seal(keys) == sealed
    }
}

fn purpose(name: &str) -> Vec<u8> {
    [PURPOSE, name.as_bytes()].concat()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use headgate_core::task::id::TaskIdKey;

    pub fn ring(secrets: &[&str]) -> TaskIdKeyRing {
        let mut keys = secrets
            .iter()
            .map(|secret| TaskIdKey::new(&secret.repeat(32)).unwrap());
        let first = keys.next().unwrap();
        TaskIdKeyRing::new(first, keys.collect())
    }

    pub fn caller(name: &str, version: u64) -> IssuedCaller {
        let entry = serde_json::json!({"models": ["*"]});
        IssuedCaller {
            name: name.into(),
            id: "0011".into(),
            predecessors: 0,
            version,
            created_ms: 1,
            changed_ms: 2,
            entry: entry.as_object().cloned(),
            applied: Vec::new(),
        }
    }

    #[test]
    fn a_record_opens_under_its_own_name_and_unaltered_only() {
        let keys = ring(&["a"]);
        let sealed = caller("ann", 7).seal(&keys);
        let opened = IssuedCaller::open(&keys, "ann", &sealed).unwrap();
        assert_eq!((&*opened.name, opened.version), ("ann", 7));
        for other in ["bob", "an", "ann ", ""] {
            assert!(IssuedCaller::open(&keys, other, &sealed).is_none());
        }
        for index in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[index] ^= 1;
            assert!(IssuedCaller::open(&keys, "ann", &altered).is_none());
        }
        let plain = serde_json::to_vec(&caller("ann", 7)).unwrap();
        assert!(IssuedCaller::open(&keys, "ann", &plain).is_none());
        assert!(IssuedCaller::open(&ring(&["b"]), "ann", &sealed).is_none());
    }

    #[test]
    fn a_rotated_key_opens_records_and_shows_that_they_are_sealed_by_an_old_one() {
        let sealed = caller("ann", 7).seal(&ring(&["a"]));
        let rotated = ring(&["b", "a"]);
        let opened = IssuedCaller::open(&rotated, "ann", &sealed).unwrap();
        assert!(!opened.is_sealed_by_first(&rotated, &sealed));
        assert!(opened.is_sealed_by_first(&rotated, &opened.seal(&rotated)));
    }

    #[test]
    fn a_caller_made_again_has_another_identity() {
        let mut again = caller("ann", 9);
        assert_eq!(again.identity(), "ann");
        again.predecessors = 1;
        assert_eq!(again.identity(), "ann~2");
        let config = again.config_value().unwrap();
        assert_eq!(config["name"], "ann~2");
    }
}
