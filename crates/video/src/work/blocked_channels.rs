//! The channels whose tasks cannot be queried or lead to no event, so that each is logged once.

use headgate_core::state::lock::lock;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};

/// Names of channels.
#[derive(Default)]
pub struct LoggedBlockedChannels(Mutex<HashSet<Box<str>>>);

impl LoggedBlockedChannels {
    /// Adds a channel; returns whether it is new.
    pub fn note(&self, channel: &str) -> bool {
        self.lock().insert(channel.into())
    }

    /// Removes a channel whose tasks can be queried.
    pub fn forget(&self, channel: &str) {
        self.lock().remove(channel);
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Box<str>>> {
        lock(&self.0)
    }
}
