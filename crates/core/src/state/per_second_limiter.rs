//! Limits of uses per second, counted in memory.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// The length of the window: a second, and a quarter for network delay. A use can reach the provider late (for example
/// after connecting), and the next one must not follow it too closely.
pub const WINDOW_MS: u64 = 1_250;

/// Whether something may be used now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerSecondDecision {
    /// Allowed; the use is counted.
    Allowed,
    /// Not allowed before this time has passed; nothing is counted.
    RetryAfter(Duration),
}

/// The last uses of each key, in memory.
#[derive(Debug, Default)]
pub struct PerSecondLimiter {
    /// Monotonic milliseconds of each key's uses, the oldest first; at most as many as a second allows.
    used: HashMap<Box<str>, VecDeque<u64>>,
}

impl PerSecondLimiter {
    /// Charges a use of `budget_key` at `now_ms`; at most `per_second` uses are allowed in any second.
    pub fn take(&mut self, budget_key: &str, per_second: u16, now_ms: u64) -> PerSecondDecision {
        let most = usize::from(per_second.max(1));
        let used = match self.used.get_mut(budget_key) {
            Some(used) => used,
            None => {
                // A new key removes keys without a recent use, which may no longer be configured.
                self.used.retain(|_, used| {
                    let newest = used.back();
                    newest.is_some_and(|newest| now_ms < newest + WINDOW_MS)
                });
                self.used.entry(budget_key.into()).or_default()
            }
        };
        // A reload may have lowered the budget.
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
