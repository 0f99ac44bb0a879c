//! State in the memory of one process: forgotten when it ends.

use super::affinity::{AffinityCache, IdOwner};
use super::clock::Clock;
use super::counts::Counts;
use super::demand::{Admission, Demand, Ticket};
use super::health::Health;
use super::notes::{NOTE_BYTES_MAX, Notes};
use super::paces::{Pace, Paces};
use super::{Pending, Store};
use bytes::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// State of this process alone.
#[derive(Default)]
pub struct Memory {
    affinity: Mutex<AffinityCache>,
    counts: Mutex<Counts>,
    paces: Mutex<Paces>,
    notes: Mutex<Notes>,
    clock: Clock,
    /// The store that was wanted and cannot be had.
    wanted: Option<&'static str>,
}

impl Memory {
    /// With another clock.
    #[cfg(test)]
    pub fn with_clock(clock: Clock) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    /// Stands in for a store of this name that cannot be had; its health says so.
    pub fn instead_of(wanted: &'static str) -> Self {
        Self {
            wanted: Some(wanted),
            ..Self::default()
        }
    }

    #[cfg(test)]
    pub fn counters(&self) -> usize {
        lock(&self.counts).len()
    }
}

impl Store for Memory {
    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>) {
        lock(&self.affinity).remember(caller, id, IdOwner::Channel(channel.clone()));
    }

    fn channel_of<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
    ) -> Pending<'a, Option<Arc<str>>> {
        let owner = lock(&self.affinity).owner_of(caller, id);
        Pending::Ready(Ok(owner.and_then(IdOwner::channel)))
    }

    fn forget(&self, caller: &Arc<str>, id: &str) {
        lock(&self.affinity).forget(caller, id);
    }

    fn admit<'a>(&'a self, demand: &'a Demand<'a>) -> Pending<'a, Admission> {
        Pending::Ready(Ok(lock(&self.counts).admit(demand, self.clock.now())))
    }

    fn settle(&self, ticket: Ticket, tokens_used: u64) {
        lock(&self.counts).settle(&ticket, tokens_used);
    }

    fn pace<'a>(&'a self, whose: &'a str, per_second: u16) -> Pending<'a, Pace> {
        let now_ms = self.clock.now().steady_ms;
        Pending::Ready(Ok(lock(&self.paces).take(whose, per_second, now_ms)))
    }

    fn note(&self, key: &str, text: &Bytes) {
        if text.len() <= NOTE_BYTES_MAX {
            lock(&self.notes).put(key, text);
        }
    }

    fn noted<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Bytes>> {
        Pending::Ready(Ok(lock(&self.notes).get(key)))
    }

    fn health(&self) -> Health {
        match self.wanted {
            Some(wanted) => Health::away(wanted),
            None => Health::up("memory"),
        }
    }
}

/// What another thread left behind when it panicked is as good as any.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
