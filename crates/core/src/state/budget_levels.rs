//! What callers have left of their budgets in money, as this process last learned it.

use super::admission::{AdmissionLimit, CounterKey, LimitStatus};
use super::calendar::{unix_ms, whole_ms};
use super::lock::lock;
use super::money::{MoneyHold, MoneyReservation};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

/// Budgets whose levels are kept: callers and their models are names of the configuration.
const LEVELS_MAX: usize = 20_000;

/// How much later a gateway may notice a request than the store admits it.
const CLOCKS_DIFFER_MS: u64 = 60_000;

/// What callers have left of their budgets, as of the admission or the end of the last request of each. Outlives snapshots.
#[derive(Default)]
pub struct BudgetLevels(Mutex<HashMap<CounterKey, BudgetLevel>>);

/// In billionths of the currency's unit.
#[derive(Clone)]
pub struct BudgetLevel {
    pub left: u64,
    pub most: u64,
    pub currency: Arc<str>,
    /// Unix milliseconds from which on requests belong to the same day or month.
    pub since_ms: u64,
    /// Unix milliseconds at which the whole budget is free again.
    pub until_ms: u64,
}

impl BudgetLevels {
    /// Notes the state of those limits that count money, but for those of `unnamed`, a caller that metrics do not name.
    pub fn note(
        &self,
        limits: &[AdmissionLimit],
        statuses: &[LimitStatus],
        currency: &Arc<str>,
        unnamed: Option<&Arc<str>>,
    ) {
        let now_ms = unix_ms();
        let mut levels = lock(&self.0);
        for (limit, status) in limits.iter().zip(statuses) {
            let known = levels.get(&limit.counter);
            let is_known = known.is_some();
            let current = known.filter(|level| now_ms < level.until_ms);
            let since_ms =
                current.map_or(now_ms.saturating_sub(CLOCKS_DIFFER_MS), |it| it.since_ms);
            let is_named = unnamed != Some(limit.counter.caller());
            let is_shown = limit.measure().counts_money() && is_named;
            if is_shown && (is_known || levels.len() < LEVELS_MAX) {
                let level = BudgetLevel {
                    left: status.remaining,
                    most: limit.most,
                    currency: currency.clone(),
                    since_ms,
                    until_ms: now_ms.saturating_add(whole_ms(status.reset)),
                };
                levels.insert(limit.counter.clone(), level);
            }
        }
    }

    /// Settles what a request has reserved, in the store, too.
    pub fn settle(&self, hold: MoneyHold, cost: u64) {
        if let Some(reserved) = hold.reservation() {
            self.correct(reserved, cost);
        }
        hold.settle(cost);
    }

    /// Corrects what a request has reserved to its cost, of budgets that are known.
    pub fn correct(&self, reserved: &MoneyReservation, cost: u64) {
        let mut levels = lock(&self.0);
        for counter in &reserved.counters {
            if let Some(level) = levels.get_mut(counter)
                // What was reserved before belongs to a day or a month that is over.
                && reserved.taken_ms >= level.since_ms
            {
                let unsettled = level.left.saturating_add(reserved.amount);
                level.left = unsettled.saturating_sub(cost).min(level.most);
            }
        }
    }

    /// The budgets of which at least this share is used, from 0 to 1, as of their last requests.
    pub fn used(&self, share: f64) -> Vec<(CounterKey, BudgetLevel)> {
        let levels = lock(&self.0);
        let used = levels
            .iter()
            .filter(|(_, level)| level.used_share() >= share);
        used.map(|(counter, level)| (counter.clone(), level.clone()))
            .collect()
    }

    /// Forgets budgets that are not `known`: no caller and no channel of the configuration has them. Those of callers that tokens
    /// claim come back with their next request.
    pub fn keep(&self, known: &HashSet<CounterKey>) {
        lock(&self.0).retain(|counter, _| known.contains(counter));
    }

    /// Shows each budget.
    pub fn for_each(&self, mut see: impl FnMut(&CounterKey, &BudgetLevel)) {
        for (counter, level) in &*lock(&self.0) {
            see(counter, level);
        }
    }
}

#[cfg(any(test, feature = "test-support"))]
impl FromIterator<(CounterKey, BudgetLevel)> for BudgetLevels {
    fn from_iter<I: IntoIterator<Item = (CounterKey, BudgetLevel)>>(levels: I) -> Self {
        Self(Mutex::new(levels.into_iter().collect()))
    }
}

impl BudgetLevel {
    /// How much of the budget is used, from 0 to 1.
    pub fn used_share(&self) -> f64 {
        match self.most {
            0 => 1.0,
            most => 1.0 - self.left as f64 / most as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::admission::LimitKind;

    #[test]
    fn a_settled_request_counts_what_it_cost_for_the_day_of_its_admission() {
        let counter = |caller: &str| CounterKey::new(caller.into(), None, LimitKind::CostPerDay);
        let level = BudgetLevel {
            left: 100,
            most: 1_000,
            currency: "USD".into(),
            since_ms: 50,
            until_ms: u64::MAX,
        };
        for (caller, taken_ms, amount, cost, left) in [
            ("ann", 50, 700, 30, 770),
            ("ann", 50, 700, 900, 0),
            ("ann", 50, 950, 10, 1_000),
            ("ann", 49, 700, 30, 100),
            ("bob", 50, 700, 30, 100),
        ] {
            let levels: BudgetLevels = [(counter("ann"), level.clone())].into_iter().collect();
            let reserved = MoneyReservation {
                id: "1".into(),
                counters: vec![counter(caller)],
                amount,
                taken_ms,
                run: None,
            };
            levels.correct(&reserved, cost);
            let found = lock(&levels.0)[&counter("ann")].left;
            assert_eq!(found, left, "{caller} {taken_ms} {amount} {cost}");
        }
    }
}
