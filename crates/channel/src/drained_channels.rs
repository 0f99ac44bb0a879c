//! The names of drained channels.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The names of drained channels. By name, so that a drain survives a reload that changes the channel.
#[derive(Debug, Default)]
pub(super) struct DrainedChannels {
    names: RwLock<BTreeSet<Arc<str>>>,
    /// The number of names, for frequent reads: mostly zero.
    count: AtomicUsize,
}

impl DrainedChannels {
    pub fn contains(&self, name: &str) -> bool {
        self.count.load(Ordering::Relaxed) > 0
            && self
                .names
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .contains(name)
    }

    pub fn change<T>(&self, change: impl FnOnce(&mut BTreeSet<Arc<str>>) -> T) -> T {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut names);
        self.count.store(names.len(), Ordering::Relaxed);
        changed
    }
}
