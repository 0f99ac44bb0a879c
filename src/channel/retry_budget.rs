//! The retry budget: how many retries all requests together may make, so that failing providers see no retry storm.

use super::clock::MonotonicTime;
use std::sync::{Mutex, PoisonError};

/// The maximum number of retries that requests can accumulate.
const SAVED_MAX: f64 = 100.0;

/// A budget of a share of the requests, plus a minimum number of retries per second.
#[derive(Debug, Default)]
pub struct RetryBudget(Mutex<RetryBudgetState>);

#[derive(Debug, Default)]
struct RetryBudgetState {
    /// Retries that requests have earned.
    earned: f64,
    /// Retries left of this second's minimum.
    floor: f64,
    at: Option<MonotonicTime>,
}

impl RetryBudget {
    /// Adds `percent` of a retry for a request.
    pub fn earn(&self, percent: u8) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.earned = (state.earned + f64::from(percent) / 100.0).min(SAVED_MAX);
    }

    /// Takes one retry from the budget; returns false if there is none.
    pub fn take(&self, now: MonotonicTime, per_second: u32) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.refill(now, per_second);
        if state.floor >= 1.0 {
            state.floor -= 1.0;
        } else if state.earned >= 1.0 {
            state.earned -= 1.0;
        } else {
            return false;
        }
        true
    }

    /// Returns a retry that was taken and not made.
    pub fn put_back(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.earned = (state.earned + 1.0).min(SAVED_MAX);
    }

    /// Whether the budget has a retry left.
    pub fn is_left(&self, now: MonotonicTime, per_second: u32) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.refill(now, per_second);
        state.floor >= 1.0 || state.earned >= 1.0
    }
}

impl RetryBudgetState {
    fn refill(&mut self, now: MonotonicTime, per_second: u32) {
        let most = f64::from(per_second);
        let since = self.at.replace(now);
        self.floor = match since {
            Some(since) => (self.floor + since.until(now).as_secs_f64() * most).min(most),
            None => most,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_never_exceed_percent_plus_per_second() {
        let budget = RetryBudget::default();
        let mut taken = 0;
        for millisecond in 0..10_000 {
            // 200 requests per second, each with ten retries.
            if millisecond % 5 == 0 {
                budget.earn(10);
            }
            taken += (0..2)
                .filter(|_| budget.take(MonotonicTime(millisecond), 10))
                .count();
        }
        // 10 s of 200 requests: 200 retries by the share; 10 at once and 10 per second by the minimum.
        assert!((300..=311).contains(&taken), "{taken}");
    }

    #[test]
    fn a_budget_of_zero_allows_no_retry() {
        let budget = RetryBudget::default();
        budget.earn(0);
        assert!(!budget.is_left(MonotonicTime(0), 0) && !budget.take(MonotonicTime(5_000), 0));
    }
}
