//! The limits that one process counts in its own memory, for the stores that no other process shares.

use super::StoreFuture;
use super::admission::{AdmissionRequest, AdmissionResult, AdmissionTicket, CounterKey};
use super::clock::{Clock, ClockReading};
use super::limit_counters::LocalLimitCounters;
use super::lock::lock;
use super::money::MoneyReservation;
use super::per_second_limiter::{PerSecondDecision, PerSecondLimiter};
use super::run::RunCallEnd;
use super::run_usage::RunStatus;
use std::sync::{Arc, Mutex};

/// Counters of callers' limits and of uses per second. No call waits.
#[derive(Default)]
pub struct LocalLimiter {
    /// Shared with the writer of a state file, which saves the budgets.
    pub counters: Arc<Mutex<LocalLimitCounters>>,
    limiter: Mutex<PerSecondLimiter>,
    clock: Clock,
}

impl LocalLimiter {
    pub fn new(counters: LocalLimitCounters, clock: Clock) -> Self {
        Self {
            counters: Arc::new(Mutex::new(counters)),
            limiter: Mutex::default(),
            clock,
        }
    }

    /// As [`StateStore::admit`](super::StateStore::admit).
    pub fn admit(&self, demand: &AdmissionRequest<'_>) -> StoreFuture<'static, AdmissionResult> {
        StoreFuture::Ready(Ok(lock(&self.counters).admit(demand, self.clock.now())))
    }

    /// The refusal of a request that would be refused now; charges nothing.
    pub fn refuse(&self, demand: &AdmissionRequest<'_>) -> Option<AdmissionResult> {
        lock(&self.counters).refuse(demand, self.clock.now())
    }

    /// The time of the limits.
    pub fn now(&self) -> ClockReading {
        self.clock.now()
    }

    /// As [`StateStore::settle`](super::StateStore::settle).
    pub fn settle(&self, ticket: &AdmissionTicket, tokens_used: u64) {
        lock(&self.counters).settle(ticket, tokens_used, self.clock.now());
    }

    /// As [`StateStore::settle_money`](super::StateStore::settle_money).
    pub fn settle_money(&self, reserved: &MoneyReservation, cost: u64) {
        lock(&self.counters).settle_money(reserved, cost);
    }

    /// What is used and reserved of a budget in money that only this process counts.
    pub fn money_used(&self, budget: &CounterKey) -> u64 {
        lock(&self.counters).money_used(budget, self.clock.now())
    }

    /// As [`StateStore::end_run_call`](super::StateStore::end_run_call).
    pub fn end_run_call(&self, end: RunCallEnd) {
        let now_ms = self.clock.now().unix_ms;
        lock(&self.counters).runs.end_call(end, now_ms);
    }

    /// As [`StateStore::runs`](super::StateStore::runs).
    pub fn runs(&self, name: Option<&str>, most: usize) -> Vec<RunStatus> {
        let now_ms = self.clock.now().unix_ms;
        let counters = lock(&self.counters);
        match name {
            Some(name) => counters.runs.find(name, most, now_ms),
            None => counters.runs.list(most, now_ms),
        }
    }

    /// As [`StateStore::take_per_second`](super::StateStore::take_per_second).
    pub fn take_per_second(
        &self,
        budget_key: &str,
        per_second: u16,
    ) -> StoreFuture<'static, PerSecondDecision> {
        let now_ms = self.clock.now().steady_ms;
        StoreFuture::Ready(Ok(lock(&self.limiter).take(budget_key, per_second, now_ms)))
    }
}
