//! How much a plugin may log: a number of bytes for each second.

use std::time::{Duration, Instant};

/// Bytes that a line costs beside its text, since the program adds fields.
const LINE_BYTES: u64 = 64;

/// The bytes that a plugin may still log, at most those of one second.
pub(crate) struct LogBudget {
    rate: u64,
    left: u64,
    refilled: Instant,
    /// Lines that were dropped since a line was admitted.
    dropped: u64,
}

impl LogBudget {
    pub fn new(bytes_per_second: u32, now: Instant) -> Self {
        let rate = u64::from(bytes_per_second);
        Self {
            rate,
            left: rate,
            refilled: now,
            dropped: 0,
        }
    }

    /// Whether a line may be logged; if so, how many were dropped before it.
    pub fn admit(&mut self, length: usize, now: Instant) -> Option<u64> {
        self.refill(now);
        let cost = LINE_BYTES + length as u64;
        if let Some(left) = self.left.checked_sub(cost) {
            self.left = left;
            return Some(std::mem::take(&mut self.dropped));
        }
        self.dropped += 1;
        None
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.refilled);
        let passed = passed.min(Duration::from_secs(1)).as_micros();
        let bytes = passed * u128::from(self.rate) / 1_000_000;
        // Less than a byte: the time counts later.
        if bytes > 0 {
            self.refilled = now;
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            self.left = self.left.saturating_add(bytes).min(self.rate);
        }
    }
}
