//! The state store in the memory of one process. Its content is lost when the process ends.

use super::admission::{AdmissionRequest, AdmissionResult, AdmissionTicket, CounterKey};
use super::affinity::{IdChannelCache, IdChannelEntry};
use super::health::StoreHealthReport;
use super::local_limits::LocalLimiter;
use super::lock::lock;
use super::money::MoneyReservation;
use super::note_cache::{NOTE_BYTES_MAX, SmallTextCache};
use super::per_second_limiter::PerSecondDecision;
use super::records::RecordStore;
use super::records::memory::MemoryRecordStore;
use super::records::unavailable::UnavailableRecordStore;
use super::run::RunCallEnd;
use super::run_usage::RunStatus;
use super::{StateStore, StoreFuture};
#[cfg(any(test, feature = "test-support"))]
use super::{clock::Clock, limit_counters::LocalLimitCounters};
use bytes::Bytes;
use std::sync::{Arc, Mutex};

/// A state store that only this process uses.
#[derive(Default)]
pub struct MemoryStore {
    affinity: Mutex<IdChannelCache>,
    limits: LocalLimiter,
    records: MemoryRecordStore,
    notes: Mutex<SmallTextCache>,
    /// The name of the configured store that could not be opened, if this one replaces it.
    configured: Option<&'static str>,
}

impl MemoryStore {
    /// A store with another clock.
    #[cfg(any(test, feature = "test-support"))]
    pub fn with_clock(clock: Clock) -> Self {
        Self {
            limits: LocalLimiter::new(LocalLimitCounters::default(), clock.clone()),
            records: MemoryRecordStore::with_clock(clock),
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

    #[cfg(any(test, feature = "test-support"))]
    pub fn counters(&self) -> usize {
        lock(&self.limits.counters).count()
    }
}

impl StateStore for MemoryStore {
    fn remember(&self, caller: &Arc<str>, id: &str, channel: &Arc<str>) {
        lock(&self.affinity).remember(caller, id, IdChannelEntry::Channel(channel.clone()));
    }

    fn find_channel<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
    ) -> StoreFuture<'a, Option<Arc<str>>> {
        let owner = lock(&self.affinity).find_owner(caller, id);
        StoreFuture::Ready(Ok(owner.and_then(|owner| owner.channel())))
    }

    fn is_of_another<'a>(
        &'a self,
        caller: &'a Arc<str>,
        id: &'a str,
        _: &'a [Arc<str>],
    ) -> StoreFuture<'a, bool> {
        StoreFuture::Ready(Ok(lock(&self.affinity).is_of_another(caller, id)))
    }

    fn forget(&self, caller: &Arc<str>, id: &str) {
        lock(&self.affinity).forget(caller, id);
    }

    fn admit<'a>(&'a self, demand: &'a AdmissionRequest<'a>) -> StoreFuture<'a, AdmissionResult> {
        self.limits.admit(demand)
    }

    fn money_used<'a>(&'a self, budget: &'a CounterKey) -> StoreFuture<'a, u64> {
        StoreFuture::Ready(Ok(self.limits.money_used(budget)))
    }

    fn settle(&self, ticket: AdmissionTicket, tokens_used: u64) {
        self.limits.settle(&ticket, tokens_used);
    }

    fn settle_money(&self, reserved: MoneyReservation, cost: u64) {
        self.limits.settle_money(&reserved, cost);
    }

    fn end_run_call(&self, end: RunCallEnd) {
        self.limits.end_run_call(end);
    }

    fn runs<'a>(&'a self, name: Option<&'a str>, most: usize) -> StoreFuture<'a, Vec<RunStatus>> {
        StoreFuture::Ready(Ok(self.limits.runs(name, most)))
    }

    fn take_per_second<'a>(
        &'a self,
        budget_key: &'a str,
        per_second: u16,
    ) -> StoreFuture<'a, PerSecondDecision> {
        self.limits.take_per_second(budget_key, per_second)
    }

    fn put_note(&self, key: &str, text: &Bytes) {
        if text.len() <= NOTE_BYTES_MAX {
            lock(&self.notes).put(key, text);
        }
    }

    fn get_note<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<Bytes>> {
        StoreFuture::Ready(Ok(lock(&self.notes).get(key)))
    }

    fn records(&self) -> &dyn RecordStore {
        match self.configured {
            None => &self.records,
            Some(_) => &UnavailableRecordStore,
        }
    }

    fn health(&self) -> StoreHealthReport {
        match self.configured {
            Some(configured) => StoreHealthReport::down(configured),
            None => StoreHealthReport::up("memory"),
        }
    }
}
