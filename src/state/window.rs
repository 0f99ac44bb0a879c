//! What was counted in the last minute, by the second: exact to one second, and never too generous.

use std::time::Duration;

/// Whole seconds that a window reaches back, besides the one that runs.
const SECONDS: u64 = 60;

/// Counts of the last minute.
///
/// The second that runs counts whole, so that no 60 s ever hold more than the limit.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Second and count, oldest first; never more than a minute of them.
    counted: std::collections::VecDeque<(u64, u64)>,
    sum: u64,
}

impl Window {
    /// What counts at `now_ms`.
    pub fn sum(&mut self, now_ms: u64) -> u64 {
        self.forget_old(now_ms / 1000);
        self.sum
    }

    pub fn add(&mut self, now_ms: u64, count: u64) {
        let second = now_ms / 1000;
        self.forget_old(second);
        match self.counted.back_mut() {
            Some((last, counted)) if *last >= second => *counted += count,
            _ => self.counted.push_back((second, count)),
        }
        self.sum += count;
    }

    /// Replaces `estimate`, counted at `then_ms`, by what it really was.
    pub fn correct(&mut self, then_ms: u64, estimate: u64, actual: u64) {
        let second = then_ms / 1000;
        let entry = self.counted.iter_mut().find(|(at, _)| *at == second);
        if let Some((_, counted)) = entry {
            let corrected = counted.saturating_sub(estimate) + actual;
            self.sum = self.sum - *counted + corrected;
            *counted = corrected;
        }
    }

    /// Until `room` more fit under `most`; none if they never do.
    pub fn wait_for(&mut self, now_ms: u64, room: u64, most: u64) -> Option<Duration> {
        let mut left = self.sum(now_ms);
        if room > most {
            return None;
        }
        if left + room <= most {
            return Some(Duration::ZERO);
        }
        for (second, count) in &self.counted {
            left -= count;
            if left + room <= most {
                return Some(until_forgotten(*second, now_ms));
            }
        }
        None
    }

    /// Until nothing of it counts any more.
    pub fn reset(&mut self, now_ms: u64) -> Duration {
        self.forget_old(now_ms / 1000);
        self.counted.back().map_or(Duration::ZERO, |(second, _)| {
            until_forgotten(*second, now_ms)
        })
    }

    fn forget_old(&mut self, second: u64) {
        while let Some((at, count)) = self.counted.front() {
            if at + SECONDS >= second {
                return;
            }
            self.sum -= count;
            self.counted.pop_front();
        }
    }
}

fn until_forgotten(second: u64, now_ms: u64) -> Duration {
    Duration::from_millis(((second + SECONDS + 1) * 1000).saturating_sub(now_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_minute_holds_more_than_was_let_in() {
        let mut window = Window::default();
        window.add(999, 5);
        assert_eq!(window.sum(60_999), 5);
        assert_eq!(window.sum(61_000), 0);
    }

    #[test]
    fn waiting_ends_when_enough_is_forgotten() {
        let mut window = Window::default();
        window.add(0, 3);
        window.add(10_000, 3);
        assert_eq!(window.wait_for(10_000, 4, 10), Some(Duration::ZERO));
        assert_eq!(
            window.wait_for(10_000, 5, 10),
            Some(Duration::from_secs(51))
        );
        assert_eq!(
            window.wait_for(10_000, 8, 10),
            Some(Duration::from_secs(61))
        );
        assert_eq!(window.wait_for(10_000, 11, 10), None);
        assert_eq!(window.reset(10_000), Duration::from_secs(61));
    }

    #[test]
    fn an_estimate_is_replaced_by_what_it_was() {
        let mut window = Window::default();
        window.add(0, 100);
        window.add(5_000, 100);
        window.correct(0, 100, 7);
        assert_eq!(window.sum(5_000), 107);
        window.correct(70_000, 100, 7);
        window.correct(1_000, 100, 7);
        assert_eq!(window.sum(5_000), 107);
    }
}
