//! Counts of durations in fixed buckets, from which quantiles are read.

use std::time::Duration;

/// Each power of two is divided into four buckets, so that a quantile is off by 13 % at most.
const PER_OCTAVE: u32 = 4;
/// Durations below 64 µs are counted in the first bucket.
const FIRST_OCTAVE: u32 = 6;
/// Durations from 2^31 µs, which is 36 minutes, are counted in the last bucket.
const OCTAVES: u32 = 25;
const BUCKETS: usize = (OCTAVES * PER_OCTAVE) as usize;

/// How many durations fell into each bucket.
#[derive(Clone)]
pub struct LatencyCounts(Box<[u32; BUCKETS]>);

impl Default for LatencyCounts {
    fn default() -> Self {
        Self(Box::new([0; BUCKETS]))
    }
}

impl LatencyCounts {
    pub fn add(&mut self, duration: Duration) {
        let count = &mut self.0[bucket_index(duration)];
        *count = count.saturating_add(1);
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0.iter()) {
            *count = count.saturating_add(*more);
        }
    }

    /// Number of durations.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|count| u64::from(*count)).sum()
    }

    /// The duration that `percent` of all durations do not exceed, as the middle of its bucket; `None` without any.
    pub fn quantile(&self, percent: u64) -> Option<Duration> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let wanted = (total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let bucket = self.0.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        bucket.map(bucket_midpoint)
    }
}

fn bucket_index(duration: Duration) -> usize {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    if micros < 1 << FIRST_OCTAVE {
        return 0;
    }
    let octave = micros.ilog2();
    let quarter = (micros >> (octave - 2)) & 3;
    let bucket = (octave - FIRST_OCTAVE) as usize * PER_OCTAVE as usize + quarter as usize;
    bucket.min(BUCKETS - 1)
}

fn bucket_midpoint(bucket: usize) -> Duration {
    let (octave, quarter) = (
        bucket as u64 / 4 + u64::from(FIRST_OCTAVE),
        bucket as u64 % 4,
    );
    let step = 1 << (octave - 2);
    Duration::from_micros((4 + quarter) * step + step / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_off_by_thirteen_percent_at_most() {
        for micros in (64..2_000_000_000).step_by(1_777_777) {
            let duration = Duration::from_micros(micros);
            let mut counts = LatencyCounts::default();
            counts.add(duration);
            let read = counts.quantile(50).expect("one duration");
            let error = (read.as_secs_f64() / duration.as_secs_f64() - 1.0).abs();
            assert!(error <= 0.13, "{micros} µs was read as {read:?}");
        }
    }

    #[test]
    fn quantiles_follow_the_order_of_the_durations() {
        let mut counts = LatencyCounts::default();
        assert_eq!(counts.quantile(50), None);
        for millis in 1..=100 {
            counts.add(Duration::from_millis(millis));
        }
        let mut more = LatencyCounts::default();
        more.add(Duration::from_secs(10_000));
        more.add(Duration::ZERO);
        counts.merge(&more);
        assert_eq!(counts.count(), 102);
        let [low, half, high, most] = [1, 50, 98, 100].map(|percent| counts.quantile(percent));
        assert!(
            low < half && half < high && high < most,
            "{low:?} {half:?} {high:?} {most:?}"
        );
        let half = half.expect("there are durations").as_millis();
        assert!((44..=57).contains(&half), "{half}");
    }
}
