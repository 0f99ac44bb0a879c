//! Success rate and latency of a model on a channel over the last five minutes, counted without a lock.
//!
//! The counts are in a ring of ten slots of half a minute each. A slot has a count for each range of latencies, and one
//! for each outcome without a latency. A count contains the number of its half-minute, so that the first attempt of a
//! new half-minute starts it at one again, and nothing has to be reset.

use super::clock::MonotonicTime;
use super::outcome::AttemptOutcome;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const SLOTS: usize = 10;
const SLOT_MS: u64 = 30_000;

/// Below this latency there is a count for each millisecond.
const EXACT_MS: u64 = 8;
/// The number of ranges for each power of two above `EXACT_MS`: a latency is known with an error of at most an eighth.
const RANGES_PER_POWER: u64 = 4;
/// Longer latencies, above 35 minutes, are counted as this.
const LATENCY_MS_MAX: u64 = (1 << 21) - 1;
const LATENCY_COUNTS: usize = latency_index(LATENCY_MS_MAX) + 1;
const FAILURES: usize = LATENCY_COUNTS;
const CLIENT_ERRORS: usize = FAILURES + 1;
const COUNTS: usize = CLIENT_ERRORS + 1;

/// The counts of attempts of the last five minutes.
pub struct AttemptStatistics {
    slots: [[PeriodCount; COUNTS]; SLOTS],
}

/// A summary of the attempts of the last five minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AttemptStatisticsSummary {
    pub attempts: u64,
    /// Attempts that the provider refused because of what the caller requested.
    pub client_errors: u64,
    /// The share of attempts that did not fail, from 0 to 1; `None` without attempts.
    pub success_rate: Option<f64>,
    /// The latency of successful attempts; `None` if there were none.
    pub latency: Option<LatencySummary>,
}

/// Latency percentiles, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencySummary {
    pub p50: u64,
    pub p95: u64,
}

/// The count of one half-minute: the half-minute's number in the upper 32 bits, the count in the lower.
struct PeriodCount(AtomicU64);

impl AttemptStatistics {
    /// Counts an attempt that ended at `now`; the latency of a successful attempt is counted, too.
    pub fn record(&self, now: MonotonicTime, outcome: AttemptOutcome, latency: Duration) {
        let index = match outcome {
            AttemptOutcome::Success => {
                latency_index(u64::try_from(latency.as_millis()).unwrap_or(u64::MAX))
            }
            AttemptOutcome::ClientError => CLIENT_ERRORS,
            AttemptOutcome::Failure(_) => FAILURES,
        };
        let period = period_at(now);
        self.slots[slot_index(period)][index].add_one(period);
    }

    pub fn summary(&self, now: MonotonicTime) -> AttemptStatisticsSummary {
        let newest = period_at(now);
        let oldest = newest.saturating_sub(SLOTS as u32 - 1);
        let mut counts = [0; COUNTS];
        for period in oldest..=newest {
            let slot = &self.slots[slot_index(period)];
            for (sum, count) in counts.iter_mut().zip(slot) {
                *sum += count.in_period(period);
            }
        }
        let attempts: u64 = counts.iter().sum();
        let share = |count: u64| count as f64 / attempts as f64;
        AttemptStatisticsSummary {
            attempts,
            client_errors: counts[CLIENT_ERRORS],
            success_rate: (attempts > 0).then(|| share(attempts - counts[FAILURES])),
            latency: LatencySummary::from_counts(&counts[..LATENCY_COUNTS]),
        }
    }
}

impl Default for AttemptStatistics {
    fn default() -> Self {
        Self {
            slots: [const { [const { PeriodCount(AtomicU64::new(0)) }; COUNTS] }; SLOTS],
        }
    }
}

impl LatencySummary {
    fn from_counts(counts: &[u64]) -> Option<Self> {
        Some(Self {
            p50: percentile(counts, 50)?,
            p95: percentile(counts, 95)?,
        })
    }
}

impl PeriodCount {
    fn add_one(&self, period: u32) {
        let add = |before: u64| {
            let count = match split(before) {
                (of, count) if of == period => count.saturating_add(1),
                _ => 1,
            };
            Some(u64::from(period) << 32 | u64::from(count))
        };
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// The count if it is of `period`, else 0.
    fn in_period(&self, period: u32) -> u64 {
        match split(self.0.load(Ordering::Relaxed)) {
            (of, count) if of == period => count.into(),
            _ => 0,
        }
    }
}

fn split(value: u64) -> (u32, u32) {
    ((value >> 32) as u32, value as u32)
}

/// The number of half-minutes since the process started.
fn period_at(now: MonotonicTime) -> u32 {
    u32::try_from(now.0 / SLOT_MS).unwrap_or(u32::MAX)
}

fn slot_index(period: u32) -> usize {
    period as usize % SLOTS
}

/// The index of the count for a latency.
const fn latency_index(ms: u64) -> usize {
    let ms = if ms > LATENCY_MS_MAX {
        LATENCY_MS_MAX
    } else {
        ms
    };
    if ms < EXACT_MS {
        return ms as usize;
    }
    let power = ms.ilog2() as u64;
    let range = (ms >> (power - 2)) % RANGES_PER_POWER;
    (EXACT_MS + (power - 3) * RANGES_PER_POWER + range) as usize
}

/// The latency in the middle of the range of the count at `index`.
fn latency_at(index: usize) -> u64 {
    let index = index as u64;
    let Some(beyond) = index.checked_sub(EXACT_MS) else {
        return index;
    };
    let (power, range) = (beyond / RANGES_PER_POWER + 3, beyond % RANGES_PER_POWER);
    let width = 1 << (power - 2);
    (RANGES_PER_POWER + range) * width + width / 2
}

/// The latency that `percent` of the attempts did not exceed.
fn percentile(counts: &[u64], percent: u64) -> Option<u64> {
    let total: u64 = counts.iter().sum();
    let rank = (total * percent).div_ceil(100).max(1);
    let mut seen = 0;
    let index = counts.iter().position(|count| {
        seen += count;
        seen >= rank
    })?;
    Some(latency_at(index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::FailureReason;

    fn failed() -> AttemptOutcome {
        AttemptOutcome::failure(FailureReason::Timeout)
    }

    fn record(statistics: &AttemptStatistics, at: u64, outcome: AttemptOutcome, ms: u64) {
        statistics.record(MonotonicTime(at), outcome, Duration::from_millis(ms));
    }

    #[test]
    fn a_latency_is_known_to_an_eighth_of_its_value() {
        for ms in (0..10_000).chain([60_000, 599_999, LATENCY_MS_MAX]) {
            let at = latency_at(latency_index(ms));
            assert!(at.abs_diff(ms) <= ms / 8, "{ms} is shown as {at}");
        }
        assert_eq!(latency_index(u64::MAX), LATENCY_COUNTS - 1);
    }

    #[test]
    fn without_attempts_there_is_no_rate_and_no_latency() {
        let summary = AttemptStatistics::default().summary(MonotonicTime(90_000));
        assert_eq!(summary, AttemptStatisticsSummary::default());
    }

    #[test]
    fn failures_lower_the_rate_and_client_errors_do_not() {
        let statistics = AttemptStatistics::default();
        for ms in 1..=6 {
            record(&statistics, 0, AttemptOutcome::Success, ms);
        }
        record(&statistics, 0, AttemptOutcome::ClientError, 1_000);
        record(&statistics, 0, failed(), 60_000);
        let expected = AttemptStatisticsSummary {
            attempts: 8,
            client_errors: 1,
            success_rate: Some(0.875),
            latency: Some(LatencySummary { p50: 3, p95: 6 }),
        };
        assert_eq!(statistics.summary(MonotonicTime(0)), expected);
    }

    #[test]
    fn attempts_are_forgotten_after_five_minutes() {
        let statistics = AttemptStatistics::default();
        record(&statistics, 0, failed(), 1);
        record(&statistics, 200_000, AttemptOutcome::Success, 1);
        let rate_at = |at| statistics.summary(MonotonicTime(at)).success_rate;
        assert_eq!(rate_at(299_999), Some(0.5));
        assert_eq!(rate_at(300_000), Some(1.0));
        assert_eq!(rate_at(600_000), None);
        // The slot of the first one is reused.
        record(&statistics, 300_000, AttemptOutcome::Success, 1);
        assert_eq!(statistics.summary(MonotonicTime(300_000)).attempts, 2);
    }

    #[test]
    fn no_attempt_is_lost_when_many_threads_count_at_once() {
        let statistics = AttemptStatistics::default();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let statistics = &statistics;
                scope.spawn(move || {
                    for _ in 0..10_000 {
                        record(statistics, 30_000 * thread, AttemptOutcome::Success, 5);
                    }
                });
            }
        });
        assert_eq!(statistics.summary(MonotonicTime(100_000)).attempts, 40_000);
    }
}
