//! The recent latency of a model on a channel, for balancing by latency: a moving average that follows a rise at once, and a
//! fall within seconds (peak EWMA, as Finagle and Linkerd have it).

use super::clock::MonotonicTime;
use headgate_core::state::lock::lock;
use std::sync::Mutex;
use std::time::Duration;

/// After this time without samples a latency counts for about a third.
const DECAY_MS: f64 = 10_000.0;
/// The latency of a model that has none yet and has requests in flight, so that only one request finds out.
const UNKNOWN_MS: f64 = 600_000.0;

/// The latency until the first byte of a response.
#[derive(Debug, Default)]
pub(super) struct LatencyAverage(Mutex<Option<LatencySample>>);

#[derive(Clone, Copy, Debug)]
struct LatencySample {
    average_ms: f64,
    at: MonotonicTime,
}

impl LatencyAverage {
    /// Adds the latency of a response that began at `now`.
    pub fn record(&self, now: MonotonicTime, latency: Duration) {
        let latency = latency.as_secs_f64() * 1000.0;
        let mut last = lock(&self.0);
        let average_ms = match *last {
            Some(last) if latency < last.average_ms => {
                let rest = last.rest(now);
                last.average_ms * rest + latency * (1.0 - rest)
            }
            _ => latency,
        };
        *last = Some(LatencySample {
            average_ms,
            at: now,
        });
    }

    /// What one more request costs besides `in_flight` others. A latency decays while there are no samples, so that a channel
    /// that was slow is tried again.
    pub fn cost(&self, now: MonotonicTime, in_flight: u32) -> f64 {
        let average = match *lock(&self.0) {
            Some(last) => last.average_ms * last.rest(now),
            None if in_flight == 0 => 0.0,
            None => UNKNOWN_MS,
        };
        average * (f64::from(in_flight) + 1.0)
    }
}

impl LatencySample {
    /// How much of the average counts after the time since then.
    fn rest(self, now: MonotonicTime) -> f64 {
        let age = self.at.until(now).as_secs_f64() * 1000.0;
        (-age / DECAY_MS).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_counts_at_once_and_a_fall_within_seconds() {
        let average = LatencyAverage::default();
        assert_eq!(average.cost(MonotonicTime(0), 0), 0.0);
        assert!(average.cost(MonotonicTime(0), 1) > 100_000.0);
        for (at, latency, least, most) in [
            (0, 100, 99.0, 101.0),
            (1_000, 900, 899.0, 901.0),
            (2_000, 100, 800.0, 850.0),
            (12_000, 100, 300.0, 400.0),
        ] {
            let now = MonotonicTime(at);
            average.record(now, Duration::from_millis(latency));
            let cost = average.cost(now, 0);
            assert!((least..most).contains(&cost), "at {at}: {cost}");
            assert_eq!(average.cost(now, 3), cost * 4.0);
        }
        assert!(average.cost(MonotonicTime(60_000), 0) < 5.0);
    }
}
