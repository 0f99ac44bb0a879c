//! The earliest time at which this process knows a record to be due.

use headgate_core::state::calendar::unix_ms;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Unix milliseconds.
pub struct EarliestDueTime(AtomicU64);

impl EarliestDueTime {
    /// Lowers the time; returns whether it was later.
    pub fn lower(&self, due_ms: u64) -> bool {
        due_ms < self.0.fetch_min(due_ms, Ordering::Relaxed)
    }

    /// Forgets a time that has come, before a search.
    pub fn forget_past(&self) {
        let next_ms = self.0.load(Ordering::Relaxed);
        if next_ms <= unix_ms() {
            // If the time was lowered meanwhile, it stays.
            let (order, never) = (Ordering::Relaxed, u64::MAX);
            let _ = self.0.compare_exchange(next_ms, never, order, order);
        }
    }

    pub fn wait(&self) -> Duration {
        let next_ms = self.0.load(Ordering::Relaxed);
        Duration::from_millis(next_ms.saturating_sub(unix_ms()))
    }
}

impl Default for EarliestDueTime {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}
