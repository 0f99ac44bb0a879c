//! Names of claimed callers in metrics: the first ones of each issuer, for as long as the process lives.

use headgate_core::state::lock::lock;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

/// The name of all callers that have none of their own.
const OTHER: &str = "other";

/// The names that metrics have. Outlives snapshots.
#[derive(Default)]
pub(crate) struct ClaimedNames(Mutex<HashMap<Arc<str>, HashSet<Arc<str>>>>);

impl ClaimedNames {
    /// The name in metrics of a caller of an issuer, of which at most `most` have one.
    pub fn metric_label(&self, issuer: &Arc<str>, caller: &Arc<str>, most: usize) -> Arc<str> {
        let mut all = lock(&self.0);
        let names = all.entry(issuer.clone()).or_default();
        if names.contains(caller) {
            return caller.clone();
        }
        if names.len() >= most {
            return OTHER.into();
        }
        names.insert(caller.clone());
        caller.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_name_the_first_callers_of_each_issuer() {
        let names = ClaimedNames::default();
        let label = |issuer: &str, caller: &str| {
            let label = names.metric_label(&issuer.into(), &caller.into(), 2);
            label.to_string()
        };
        for (issuer, caller, expected) in [
            ("corp", "corp:a", "corp:a"),
            ("corp", "corp:b", "corp:b"),
            ("corp", "corp:c", "other"),
            ("corp", "corp:a", "corp:a"),
            ("ci", "ci:a", "ci:a"),
        ] {
            assert_eq!(label(issuer, caller), expected);
        }
    }
}
