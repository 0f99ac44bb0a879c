//! The retry budget: how many retries all requests together may make, so that failing providers see no retry storm.

use super::clock::MonotonicTime;
use headgate_core::state::lock::lock;
use headgate_core::thread_shards::ThreadGauge;
use std::sync::{Mutex, MutexGuard};

/// The maximum number of retries that requests can accumulate.
const SAVED_MAX: f64 = 100.0;

/// A budget of a share of the requests, plus a minimum number of retries per second.
#[derive(Default)]
pub struct RetryBudget {
    /// What requests have ever earned, in percent of a retry.
    earned_percent: ThreadGauge,
    state: Mutex<RetryBudgetState>,
}

/// A retry that was taken from a budget. It returns there if it is dropped before it was made.
#[must_use = "a retry that is dropped returns to the budget"]
pub struct RetryPermit<'b> {
    budget: &'b RetryBudget,
    source: RetryBudgetPart,
}

/// Which part of a budget a retry was taken from.
#[derive(Clone, Copy, Debug)]
enum RetryBudgetPart {
    /// The minimum of this second.
    Floor,
    /// What requests have earned.
    Earned,
}

#[derive(Debug, Default)]
struct RetryBudgetState {
    /// Retries that requests have earned and that are left.
    earned: f64,
    /// How much of what requests have ever earned was added to it.
    added_percent: i64,
    /// Retries left of this second's minimum.
    floor: f64,
    at: Option<MonotonicTime>,
}

impl RetryBudget {
    /// Adds `percent` of a retry for a request.
    pub fn earn(&self, percent: u8) {
        self.earned_percent.add(percent.into());
    }

    /// Takes one retry from the budget; `None` if there is none.
    pub fn take(&self, now: MonotonicTime, per_second: u32) -> Option<RetryPermit<'_>> {
        let mut state = self.state();
        state.refill(now, per_second);
        let source = if state.floor >= 1.0 {
            state.floor -= 1.0;
            RetryBudgetPart::Floor
        } else if state.earned >= 1.0 {
            state.earned -= 1.0;
            RetryBudgetPart::Earned
        } else {
            return None;
        };
        Some(RetryPermit {
            budget: self,
            source,
        })
    }

    /// Whether the budget has a retry left.
    pub fn is_left(&self, now: MonotonicTime, per_second: u32) -> bool {
        let mut state = self.state();
        state.refill(now, per_second);
        state.floor >= 1.0 || state.earned >= 1.0
    }

    fn state(&self) -> MutexGuard<'_, RetryBudgetState> {
        let mut state = lock(&self.state);
        let percent = self.earned_percent.sum();
        // Another thread may have read a sum with more of it.
        let more = percent.saturating_sub(state.added_percent).max(0);
        state.added_percent += more;
        state.save(more as f64 / 100.0);
        state
    }
}

impl RetryPermit<'_> {
    /// The retry is made: the budget does not get it back.
    pub fn spend(self) {
        std::mem::forget(self);
    }
}

impl Drop for RetryPermit<'_> {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        match self.source {
            // The next refill bounds it.
            RetryBudgetPart::Floor => state.floor += 1.0,
            RetryBudgetPart::Earned => state.save(1.0),
        }
    }
}

impl RetryBudgetState {
    fn save(&mut self, retries: f64) {
        self.earned = (self.earned + retries).min(SAVED_MAX);
    }

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
                .filter_map(|_| budget.take(MonotonicTime(millisecond), 10))
                .map(RetryPermit::spend)
                .count();
        }
        // 10 s of 200 requests: 200 retries by the share; 10 at once and 10 per second by the minimum.
        assert!((300..=311).contains(&taken), "{taken}");
    }

    #[test]
    fn a_budget_of_zero_allows_no_retry() {
        let budget = RetryBudget::default();
        budget.earn(0);
        assert!(
            !budget.is_left(MonotonicTime(0), 0) && budget.take(MonotonicTime(5_000), 0).is_none()
        );
    }

    #[test]
    fn a_retry_that_is_not_made_returns_to_where_it_came_from() {
        // (percent of a request, minimum per second): the retry is an earned one, or one of the minimum.
        for (percent, per_second) in [(100, 0), (0, 1)] {
            let budget = RetryBudget::default();
            budget.earn(percent);
            for millisecond in 0..200 {
                let now = MonotonicTime(millisecond);
                drop(budget.take(now, per_second).expect("it returned"));
            }
            let now = MonotonicTime(200);
            budget.take(now, per_second).expect("it is left").spend();
            assert!(budget.take(now, per_second).is_none(), "{percent}");
        }
    }
}
