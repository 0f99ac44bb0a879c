//! Counts of callbacks and deliveries, for metrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Maximum number of failing receivers that are known by name.
const FAILING_RECEIVERS_MAX: usize = 100;

/// What became of an event, or of an attempt to deliver it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The receiver accepted the event.
    Delivered,
    /// The attempt failed, and another one follows.
    Retried,
    /// The event became a dead letter.
    Dead,
    /// A later state overtook the event, which was not sent.
    Overtaken,
    /// The event is not stored, and will not be sent.
    Lost,
}

/// What became of a callback from a provider, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceivedCallbackResult {
    Accepted,
    /// The token is none of this gateway, or its task has ended.
    Unknown,
    /// The callback has no valid signature, or one that is about another task.
    Refused,
    /// The keys of the provider could not be fetched.
    NoKeys,
}

/// Counts since the start of the process.
#[derive(Debug, Default)]
pub struct CallbackCounters {
    deliveries: [AtomicU64; DeliveryOutcome::ALL.len()],
    received: [AtomicU64; ReceivedCallbackResult::ALL.len()],
    pending: AtomicU64,
    dead: AtomicU64,
    oldest_ms: AtomicU64,
    failing_receivers: Mutex<BTreeMap<Box<str>, FailingReceiver>>,
}

/// A receiver of events to which the last attempts failed.
#[derive(Clone, Debug)]
pub struct FailingReceiver {
    /// The caller of the event that failed last.
    pub caller: Box<str>,
    /// Why the last attempt failed.
    pub error: Box<str>,
    pub failed_attempts: u64,
    pub since: SystemTime,
    pub last: SystemTime,
}

/// Deliveries in the store, of all gateways that share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredDeliveryTotals {
    pub pending: u64,
    pub dead: u64,
    /// Age of the oldest pending delivery, in milliseconds.
    pub oldest_ms: u64,
}

impl DeliveryOutcome {
    pub const ALL: [Self; 5] = [
        Self::Delivered,
        Self::Retried,
        Self::Dead,
        Self::Overtaken,
        Self::Lost,
    ];

    /// The name in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Retried => "retried",
            Self::Dead => "dead_letter",
            Self::Overtaken => "overtaken",
            Self::Lost => "lost",
        }
    }
}

impl ReceivedCallbackResult {
    pub const ALL: [Self; 4] = [Self::Accepted, Self::Unknown, Self::Refused, Self::NoKeys];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
            Self::NoKeys => "no_keys",
        }
    }
}

impl CallbackCounters {
    /// How often attempts ended so.
    pub fn total(&self, outcome: DeliveryOutcome) -> u64 {
        self.deliveries[outcome as usize].load(Ordering::Relaxed)
    }

    /// How many callbacks of providers had this result.
    pub fn received(&self, result: ReceivedCallbackResult) -> u64 {
        self.received[result as usize].load(Ordering::Relaxed)
    }

    /// The deliveries that the worker found in the store last.
    pub fn totals(&self) -> StoredDeliveryTotals {
        StoredDeliveryTotals {
            pending: self.pending.load(Ordering::Relaxed),
            dead: self.dead.load(Ordering::Relaxed),
            oldest_ms: self.oldest_ms.load(Ordering::Relaxed),
        }
    }

    /// The receivers to which the last attempts failed.
    pub fn failing_receivers(&self) -> Vec<(Box<str>, FailingReceiver)> {
        let failing = self.lock_failing();
        let failing = failing.iter();
        failing
            .map(|(receiver, failure)| (receiver.clone(), failure.clone()))
            .collect()
    }

    /// An attempt to deliver an event of `caller` to this receiver failed.
    pub(super) fn receiver_failed(&self, receiver: &str, caller: &str, error: &str) {
        let mut failing = self.lock_failing();
        if failing.len() >= FAILING_RECEIVERS_MAX && !failing.contains_key(receiver) {
            let oldest = failing.iter().min_by_key(|(_, failure)| failure.last);
            if let Some(oldest) = oldest.map(|(receiver, _)| receiver.clone()) {
                failing.remove(&oldest);
            }
        }
        let now = SystemTime::now();
        let new = || FailingReceiver {
            caller: caller.into(),
            error: error.into(),
            failed_attempts: 0,
            since: now,
            last: now,
        };
        let failure = failing.entry(receiver.into()).or_insert_with(new);
        failure.failed_attempts += 1;
        (failure.last, failure.caller, failure.error) = (now, caller.into(), error.into());
    }

    /// The receiver accepted an event.
    pub(super) fn receiver_accepted(&self, receiver: &str) {
        self.lock_failing().remove(receiver);
    }

    fn lock_failing(&self) -> MutexGuard<'_, BTreeMap<Box<str>, FailingReceiver>> {
        self.failing_receivers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a callback from a provider.
    pub fn count_received(&self, result: ReceivedCallbackResult) {
        self.received[result as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count(&self, outcome: DeliveryOutcome) {
        self.deliveries[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn set_totals(&self, totals: StoredDeliveryTotals) {
        self.pending.store(totals.pending, Ordering::Relaxed);
        self.dead.store(totals.dead, Ordering::Relaxed);
        self.oldest_ms.store(totals.oldest_ms, Ordering::Relaxed);
    }
}
