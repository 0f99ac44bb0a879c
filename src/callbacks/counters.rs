//! Counts of callbacks and deliveries, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

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

/// Counts since the start of the process.
#[derive(Debug, Default)]
pub struct CallbackCounters {
    deliveries: [AtomicU64; DeliveryOutcome::ALL.len()],
    accepted: AtomicU64,
    refused: AtomicU64,
    pending: AtomicU64,
    dead: AtomicU64,
    oldest_ms: AtomicU64,
}

/// Deliveries in the store, of all gateways that share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryTotals {
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

impl CallbackCounters {
    /// How often attempts ended so.
    pub fn of(&self, outcome: DeliveryOutcome) -> u64 {
        self.deliveries[outcome as usize].load(Ordering::Relaxed)
    }

    /// Callbacks from providers with a valid token, and others.
    pub fn received(&self) -> (u64, u64) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.accepted), count(&self.refused))
    }

    /// The deliveries that the worker found in the store last.
    pub fn totals(&self) -> DeliveryTotals {
        DeliveryTotals {
            pending: self.pending.load(Ordering::Relaxed),
            dead: self.dead.load(Ordering::Relaxed),
            oldest_ms: self.oldest_ms.load(Ordering::Relaxed),
        }
    }

    /// Counts a callback from a provider.
    pub fn count_received(&self, is_accepted: bool) {
        let counter = match is_accepted {
            true => &self.accepted,
            false => &self.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count(&self, outcome: DeliveryOutcome) {
        self.deliveries[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn set_totals(&self, totals: DeliveryTotals) {
        self.pending.store(totals.pending, Ordering::Relaxed);
        self.dead.store(totals.dead, Ordering::Relaxed);
        self.oldest_ms.store(totals.oldest_ms, Ordering::Relaxed);
    }
}
