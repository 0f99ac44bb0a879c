//! Request bodies that could not be written to the spool folder.

use super::registration::registered;
use crate::protocol::fault::{Fault, FaultKind};
use prometheus::{IntCounter, Registry};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counts spool failures, and knows when the last one was.
pub struct SpoolMetrics {
    failures: IntCounter,
    last: Mutex<Option<Instant>>,
}

impl SpoolMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        let failures = IntCounter::new(
            "headgate_spool_failures_total",
            "Requests refused because their body could not be written to the spool folder.",
        );
        Self {
            failures: registered(registry, failures),
            last: Mutex::default(),
        }
    }

    /// Counts the fault of a request body that was not read, if it could not be stored.
    pub fn count_fault(&self, fault: &Fault) {
        if fault.kind == FaultKind::Overloaded {
            self.failures.inc();
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }

    /// Number of failures since the start, and the time since the last one.
    pub fn failures(&self) -> Option<(u64, Duration)> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.map(|last| (self.failures.get(), last.elapsed()))
    }
}
