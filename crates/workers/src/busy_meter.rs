//! Whether a worker is busy: the share of a window that its thread has spent with tasks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Minimum time between two samples: within less, a single task would decide.
const WINDOW: Duration = Duration::from_millis(5);
/// The share of a window, in percent, from which a worker is busy.
const BUSY_FROM: u128 = 90;
/// The share of a window, in percent, below which a busy worker is no longer busy.
const BUSY_UNTIL: u128 = 75;

/// How long a worker has waited for work, and its last sample. Only its own thread writes them. Times are those since a
/// fixed moment.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct BusyMeter {
    parked_at: AtomicU64,
    idle: AtomicU64,
    sampled_at: AtomicU64,
    idle_before: AtomicU64,
    is_busy: AtomicBool,
}

impl BusyMeter {
    /// The thread begins to wait for work.
    pub fn park(&self, now: Duration) {
        store(&self.parked_at, now);
    }

    /// The thread has work again.
    pub fn unpark(&self, now: Duration) {
        let waited = now.saturating_sub(duration(&self.parked_at));
        store(&self.idle, duration(&self.idle) + waited);
    }

    /// Whether the worker is busy at `now`. A sample is taken if the last one is at least a window ago.
    pub fn is_busy(&self, now: Duration) -> bool {
        let was_busy = self.is_busy.load(Ordering::Relaxed);
        let window = now.saturating_sub(duration(&self.sampled_at));
        if window < WINDOW {
            return was_busy;
        }
        let idle = duration(&self.idle);
        let waited = idle.saturating_sub(duration(&self.idle_before));
        let is_busy = is_busy_after(was_busy, window.saturating_sub(waited), window);
        store(&self.sampled_at, now);
        store(&self.idle_before, idle);
        self.is_busy.store(is_busy, Ordering::Relaxed);
        is_busy
    }
}

/// Whether a worker is busy that has spent `busy` of `window` with tasks.
fn is_busy_after(was_busy: bool, busy: Duration, window: Duration) -> bool {
    let percent = if was_busy { BUSY_UNTIL } else { BUSY_FROM };
    busy.as_nanos() * 100 >= window.as_nanos() * percent
}

fn duration(nanoseconds: &AtomicU64) -> Duration {
    Duration::from_nanos(nanoseconds.load(Ordering::Relaxed))
}

fn store(nanoseconds: &AtomicU64, value: Duration) {
    let value = u64::try_from(value.as_nanos()).unwrap_or(u64::MAX);
    nanoseconds.store(value, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_busy_from_90_percent_of_a_window_until_it_falls_below_75() {
        let meter = BusyMeter::default();
        let mut now = Duration::ZERO;
        // The length of a window and the time with tasks within it, in microseconds.
        for (window, busy, expected) in [
            (5_000, 4_499, false),
            (5_000, 4_500, true),
            (5_000, 3_750, true),
            (20_000, 15_000, true),
            (5_000, 3_749, false),
            (5_000, 4_499, false),
            (1_000_000, 20_000, false),
            (1_000_000, 1_000_000, true),
            (1_000_000, 0, false),
        ] {
            meter.park(now);
            meter.unpark(now + Duration::from_micros(window - busy));
            now += Duration::from_micros(window);
            assert_eq!(meter.is_busy(now), expected, "{busy} of {window} µs");
        }
    }

    #[test]
    fn a_worker_is_sampled_once_in_a_window() {
        let meter = BusyMeter::default();
        assert!(meter.is_busy(WINDOW));
        meter.park(WINDOW);
        let early = WINDOW * 2 - Duration::from_nanos(1);
        meter.unpark(early);
        assert!(meter.is_busy(early));
        assert!(!meter.is_busy(WINDOW * 2));
    }
}
