//! Names of models that a pattern serves and that a provider has accepted: they have metrics and health of their own.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

/// The names that have been accepted since the process started, up to a number. It outlives snapshots, so that the labels
/// of metrics stay few. Callers choose these names, which is why one that no provider ever accepted has no place.
#[derive(Debug, Default)]
pub struct ServedModelNames {
    names: RwLock<BTreeSet<Arc<str>>>,
}

impl ServedModelNames {
    pub fn contains(&self, name: &str) -> bool {
        self.read().contains(name)
    }

    /// Adds `name` unless there are `most` names already; returns whether it is one of the names now.
    pub fn record(&self, name: &Arc<str>, most: usize) -> bool {
        if self.contains(name) {
            return true;
        }
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        let has_room = names.len() < most;
        if has_room {
            names.insert(name.clone());
        }
        has_room
    }

    /// All names, in order.
    pub fn all(&self) -> Vec<Arc<str>> {
        self.read().iter().cloned().collect()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, BTreeSet<Arc<str>>> {
        self.names.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_names_than_the_limit_are_recorded() {
        let names = ServedModelNames::default();
        for (name, expected) in [
            ("a", true),
            ("a", true),
            ("b", true),
            ("c", false),
            ("b", true),
        ] {
            assert_eq!(names.record(&name.into(), 2), expected, "{name}");
        }
        assert_eq!(names.all(), ["a".into(), "b".into()]);
        assert!(!names.contains("c"));
    }
}
