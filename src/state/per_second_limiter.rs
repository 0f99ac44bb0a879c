//! Uses of what may be used so many times a second, and no more often.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// The time in which uses are counted: a second, and a quarter for their way. The first may be late where
/// connections are made for them, and the next ones overtake nobody but find them still arriving.
pub const WINDOW_MS: u64 = 1_250;

/// Whether something may be used now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerSecondDecision {
    /// It may, and the use is counted.
    Allowed,
    /// Not before this time has passed; nothing is counted.
    RetryAfter(Duration),
}

/// The last uses of each, in memory.
#[derive(Debug, Default)]
pub struct PerSecondLimiter {
    /// Milliseconds of a clock that never jumps, the oldest first; never more than a second may hold.
    used: HashMap<Box<str>, VecDeque<u64>>,
}

impl PerSecondLimiter {
    /// Takes a use of `budget_key` at `now_ms`, of which any second holds at most `per_second`.
    pub fn take(&mut self, budget_key: &str, per_second: u16, now_ms: u64) -> PerSecondDecision {
        let most = usize::from(per_second.max(1));
        let used = match self.used.get_mut(budget_key) {
            Some(used) => used,
            None => {
                // What nobody uses any more is no longer in the configuration.
                self.used.retain(|_, used| {
                    let newest = used.back();
                    newest.is_some_and(|newest| now_ms < newest + WINDOW_MS)
                });
                self.used.entry(budget_key.into()).or_default()
            }
        };
        // The budget may have been lowered meanwhile.
        while used.len() > most {
            used.pop_front();
        }
        if used.len() == most {
            let age_ms = now_ms.saturating_sub(used[0]);
            if age_ms < WINDOW_MS {
                return PerSecondDecision::RetryAfter(Duration::from_millis(WINDOW_MS - age_ms));
            }
            used.pop_front();
        }
        used.push_back(now_ms);
        PerSecondDecision::Allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_second_exceeds_the_rate() {
        let mut limiter = PerSecondLimiter::default();
        let mut at_ms = 5_000;
        let mut taken = Vec::new();
        while taken.len() < 50 {
            match limiter.take("b", 20, at_ms) {
                PerSecondDecision::Allowed => taken.push(at_ms),
                PerSecondDecision::RetryAfter(wait) => {
                    at_ms += u64::try_from(wait.as_millis()).unwrap().min(7)
                }
            }
        }
        for (lease, at) in taken.iter().enumerate() {
            let within = taken[lease..]
                .iter()
                .filter(|later| **later < at + WINDOW_MS);
            assert!(within.count() <= 20, "{taken:?}");
        }
        assert!(taken[49] - taken[0] < 2_600, "{taken:?}");
        assert_eq!(
            limiter.take("a", 1, at_ms),
            PerSecondDecision::Allowed,
            "others are apart"
        );
    }

    #[test]
    fn idle_keys_are_evicted() {
        let mut limiter = PerSecondLimiter::default();
        for number in 0..1_000_u64 {
            limiter.take(&number.to_string(), 5, number * 10);
        }
        let kept = u64::try_from(limiter.used.len()).unwrap();
        assert!(kept <= WINDOW_MS / 10 + 1, "{kept}");
    }

    #[test]
    fn a_lowered_rate_applies_at_once() {
        let mut limiter = PerSecondLimiter::default();
        for _ in 0..5 {
            assert_eq!(limiter.take("b", 5, 1_000), PerSecondDecision::Allowed);
        }
        let wait = PerSecondDecision::RetryAfter(Duration::from_millis(650));
        assert_eq!(limiter.take("b", 2, 1_600), wait);
        assert_eq!(limiter.take("b", 2, 2_250), PerSecondDecision::Allowed);
    }
}
