//! A sliding window of one minute with a resolution of one second, which never allows more than the limit in any 60 s.

use std::collections::VecDeque;
use std::time::Duration;

/// The length of the window in milliseconds.
const WINDOW_MS: u64 = 60_000;

/// Counts of the last minute, one bucket per second.
///
/// A bucket expires 60 s after the last count in it, so that no 60 s ever contain more than the limit, and no wait is
/// longer than 60 s.
#[derive(Clone, Debug, Default)]
pub struct SlidingWindow {
    /// The buckets, the oldest first; at most a minute of them.
    counted: VecDeque<SecondBucket>,
    sum: u64,
}

#[derive(Clone, Copy, Debug)]
struct SecondBucket {
    second: u64,
    count: u64,
    /// The time of the last count in this bucket.
    last_ms: u64,
}

impl SlidingWindow {
    /// The sum of the window at `now_ms`.
    pub fn sum(&mut self, now_ms: u64) -> u64 {
        self.forget_old(now_ms);
        self.sum
    }

    pub fn add(&mut self, now_ms: u64, count: u64) {
        let second = now_ms / 1000;
        self.forget_old(now_ms);
        match self.counted.back_mut() {
            Some(newest) if newest.second >= second => {
                newest.count += count;
                newest.last_ms = newest.last_ms.max(now_ms);
            }
            _ => self.counted.push_back(SecondBucket {
                second,
                count,
                last_ms: now_ms,
            }),
        }
        self.sum += count;
    }

    /// Replaces `estimate`, counted at `then_ms`, by `actual`. If the window has forgotten the estimate, what exceeds it
    /// counts at `now_ms`: no window has counted that yet.
    pub fn correct(&mut self, now_ms: u64, then_ms: u64, estimate: u64, actual: u64) {
        self.forget_old(now_ms);
        let second = then_ms / 1000;
        match self.counted.iter_mut().find(|entry| entry.second == second) {
            Some(entry) => {
                let corrected = entry.count.saturating_sub(estimate) + actual;
                self.sum = self.sum - entry.count + corrected;
                entry.count = corrected;
            }
            None if actual > estimate => self.add(now_ms, actual - estimate),
            None => {}
        }
    }

    /// The time until `room` more fit under `most`; `None` if they never do.
    pub fn wait_for(&mut self, now_ms: u64, room: u64, most: u64) -> Option<Duration> {
        let mut left = self.sum(now_ms);
        if room > most {
            return None;
        }
        if left + room <= most {
            return Some(Duration::ZERO);
        }
        for entry in &self.counted {
            left -= entry.count;
            if left + room <= most {
                return Some(entry.until_forgotten(now_ms));
            }
        }
        None
    }

    /// The time until the window is empty.
    pub fn reset(&mut self, now_ms: u64) -> Duration {
        self.forget_old(now_ms);
        let newest = self.counted.back();
        newest.map_or(Duration::ZERO, |newest| newest.until_forgotten(now_ms))
    }

    fn forget_old(&mut self, now_ms: u64) {
        while let Some(oldest) = self.counted.front() {
            if now_ms < oldest.last_ms + WINDOW_MS {
                return;
            }
            self.sum -= oldest.count;
            self.counted.pop_front();
        }
    }
}

impl SecondBucket {
    fn until_forgotten(&self, now_ms: u64) -> Duration {
        let left_ms = (self.last_ms + WINDOW_MS).saturating_sub(now_ms);
        Duration::from_millis(left_ms.min(WINDOW_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_minute_exceeds_the_limit() {
        let mut window = SlidingWindow::default();
        window.add(0, 1);
        window.add(999, 4);
        assert_eq!(window.sum(60_998), 5);
        assert_eq!(window.sum(60_999), 0);
    }

    #[test]
    fn a_wait_never_exceeds_a_minute() {
        for at_ms in [0, 1, 400, 999, 1_000, 59_999] {
            let mut window = SlidingWindow::default();
            window.add(at_ms, 10);
            let minute = Duration::from_secs(60);
            assert_eq!(window.reset(at_ms), minute, "{at_ms}");
            assert_eq!(window.wait_for(at_ms, 1, 10), Some(minute), "{at_ms}");
            assert_eq!(window.sum(at_ms + 60_000), 0, "{at_ms}");
        }
    }

    #[test]
    fn waiting_ends_when_enough_is_forgotten() {
        let mut window = SlidingWindow::default();
        window.add(0, 3);
        window.add(10_000, 3);
        assert_eq!(window.wait_for(10_000, 4, 10), Some(Duration::ZERO));
        assert_eq!(
            window.wait_for(10_000, 5, 10),
            Some(Duration::from_secs(50))
        );
        assert_eq!(
            window.wait_for(10_000, 8, 10),
            Some(Duration::from_secs(60))
        );
        assert_eq!(window.wait_for(10_000, 11, 10), None);
        assert_eq!(window.reset(10_000), Duration::from_secs(60));
    }

    #[test]
    fn an_estimate_is_corrected_to_the_actual_count() {
        let mut window = SlidingWindow::default();
        window.add(0, 100);
        window.add(5_000, 100);
        window.correct(5_000, 0, 100, 7);
        assert_eq!(window.sum(5_000), 107);
    }

    #[test]
    fn what_exceeds_a_forgotten_estimate_counts_when_it_is_known() {
        for (actual, counted) in [(350, 250), (100, 0), (7, 0)] {
            let mut window = SlidingWindow::default();
            window.add(0, 100);
            window.correct(200_000, 0, 100, actual);
            assert_eq!(window.sum(200_000), counted, "{actual}");
            assert_eq!(window.sum(259_999), counted, "{actual}");
            assert_eq!(window.sum(260_000), 0, "{actual}");
        }
    }
}
