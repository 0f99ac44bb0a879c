//! The state store in the memory of one process. Its content is lost when the process ends.

use super::admission::{AdmissionRequest, AdmissionResult, AdmissionTicket};
use super::affinity::{AffinityCache, IdOwnership};
use super::clock::Clock;
use super::health::StoreHealthReport;
use super::limit_counters::LimitCounters;
use super::note_cache::{NOTE_BYTES_MAX, SmallTextCache};
use super::per_second_limiter::{PerSecondDecision, PerSecondLimiter};
use super::{StateStore, StoreFuture};
use bytes::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A state store that only this process uses.
#[derive(Default)]
pub struct MemoryStore {
    affinity: Mutex<AffinityCache>,
    counts: Mutex<LimitCounters>,
    limiter: Mutex<PerSecondLimiter>,
    notes: Mutex<SmallTextCache>,
    clock: Clock,
    /// The name of the configured store that could not be opened, if this one replaces it.
    configured: Option<&'static str>,
}

impl MemoryStore {
    /// A store with another clock.
    #[cfg(test)]
    pub fn with_clock(clock: Clock) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    /// A replacement for the store `configured`, which could not be opened; its health reports that store as down.
    pub fn fallback_for(configured: &'static str) -> Self {
        Self {
            configured: Some(configured),
            ..Self::default()
        }
    }

    #[cfg(test)]
    pub fn counters(&self) -> usize {
        lock(&self.counts).len()
    }
}

impl StateStore for MemoryStore {
    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>) {
        lock(&self.affinity).remember(caller, id, IdOwnership::Channel(channel.clone()));
    }

    fn channel_of<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
    ) -> StoreFuture<'a, Option<Arc<str>>> {
        let owner = lock(&self.affinity).owner_of(caller, id);
        StoreFuture::Ready(Ok(owner.and_then(IdOwnership::channel)))
    }

    fn forget(&self, caller: &Arc<str>, id: &str) {
        lock(&self.affinity).forget(caller, id);
    }

    fn admit<'a>(&'a self, demand: &'a AdmissionRequest<'a>) -> StoreFuture<'a, AdmissionResult> {
        StoreFuture::Ready(Ok(lock(&self.counts).admit(demand, self.clock.now())))
    }

    fn settle(&self, ticket: AdmissionTicket, tokens_used: u64) {
        lock(&self.counts).settle(&ticket, tokens_used);
    }

    fn take_per_second<'a>(
        &'a self,
        budget_key: &'a str,
        per_second: u16,
    ) -> StoreFuture<'a, PerSecondDecision> {
        let now_ms = self.clock.now().steady_ms;
        StoreFuture::Ready(Ok(lock(&self.limiter).take(budget_key, per_second, now_ms)))
    }

    fn put_note(&self, key: &str, text: &Bytes) {
        if text.len() <= NOTE_BYTES_MAX {
            lock(&self.notes).put(key, text);
        }
    }

    fn get_note<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<Bytes>> {
        StoreFuture::Ready(Ok(lock(&self.notes).get(key)))
    }

    fn health(&self) -> StoreHealthReport {
        match self.configured {
            Some(configured) => StoreHealthReport::down(configured),
            None => StoreHealthReport::up("memory"),
        }
    }
}

/// Locks `mutex`. A panic of another thread does not invalidate the data, so poisoning is ignored.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
