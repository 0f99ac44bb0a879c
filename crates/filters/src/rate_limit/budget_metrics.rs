//! Metrics of budgets in money: what callers have left of them.

use super::cost_maximum::CostMaximum;
use headgate_core::catalog::caller::Callers;
use headgate_core::catalog::price::NANOS;
use headgate_core::feature::metrics::{FeatureMetrics, registered};
use headgate_core::state::admission::{AdmissionLimit, CounterKey, LimitStatus};
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::lock::lock;
use prometheus::{GaugeVec, Opts, Registry};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

/// Budgets whose levels are kept: callers and their models are names of the configuration.
const LEVELS_MAX: usize = 20_000;

/// The caller in metrics of budgets that all callers share.
const EVERY_CALLER_LABEL: &str = "*";

/// What callers have left of their budgets, as of the last request of each. Outlives snapshots.
#[derive(Default)]
pub struct BudgetLevels(Mutex<HashMap<CounterKey, BudgetLevel>>);

/// In billionths of the currency's unit.
#[derive(Clone)]
pub struct BudgetLevel {
    pub left: u64,
    pub most: u64,
    pub currency: Arc<str>,
    /// Unix milliseconds at which the whole budget is free again.
    pub until_ms: u64,
}

/// Shows the levels of budgets.
pub struct BudgetMetrics {
    levels: Arc<BudgetLevels>,
    left: GaugeVec,
    most: GaugeVec,
}

impl BudgetLevels {
    /// Notes the state of those limits that count money, but for those of `unnamed`, a caller that metrics do not name.
    pub fn note(
        &self,
        limits: &[AdmissionLimit],
        statuses: &[LimitStatus],
        cost: &CostMaximum,
        unnamed: Option<&Arc<str>>,
    ) {
        let now_ms = unix_ms();
        let mut levels = lock(&self.0);
        for (limit, status) in limits.iter().zip(statuses) {
            let is_known = levels.contains_key(&limit.counter);
            let is_named = unnamed != Some(limit.counter.caller());
            let is_shown = limit.measure().counts_money() && is_named;
            if is_shown && (is_known || levels.len() < LEVELS_MAX) {
                let level = BudgetLevel {
                    left: status.remaining,
                    most: limit.most,
                    currency: cost.currency().clone(),
                    until_ms: now_ms.saturating_add(whole_ms(status.reset)),
                };
                levels.insert(limit.counter.clone(), level);
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

    /// Forgets budgets that no caller of the configuration has. Those of callers that tokens claim come back with their next
    /// request.
    pub fn keep(&self, callers: &Callers) {
        let mut known = HashSet::new();
        for caller in callers.holders() {
            caller.limits.for_each(&mut |limit| {
                known.insert(limit.counter.clone());
            });
        }
        lock(&self.0).retain(|counter, _| known.contains(counter));
    }
}

#[cfg(test)]
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

impl BudgetMetrics {
    pub fn new(registry: &Registry, levels: Arc<BudgetLevels>) -> Self {
        let gauge = |name: &str, help: &str| {
            let labels = &["caller", "model", "limit", "currency"];
            registered(registry, GaugeVec::new(Opts::new(name, help), labels))
        };
        Self {
            levels,
            left: gauge(
                "headgate_budget_remaining",
                "What a caller had left of a budget in money at its last request, in the currency of the label.",
            ),
            most: gauge(
                "headgate_budget_limit",
                "The budget in money, in the currency of the label.",
            ),
        }
    }
}

impl FeatureMetrics for BudgetMetrics {
    fn update(&self) {
        self.left.reset();
        self.most.reset();
        for (counter, level) in &*lock(&self.levels.0) {
            let labels: [&str; 4] = [
                match counter.is_every_callers() {
                    true => EVERY_CALLER_LABEL,
                    false => counter.caller(),
                },
                counter.model().map_or("", |model| model),
                counter.measure().name(),
                &*level.currency,
            ];
            let units = |nanos: u64| nanos as f64 / NANOS as f64;
            self.left.with_label_values(&labels).set(units(level.left));
            self.most.with_label_values(&labels).set(units(level.most));
        }
    }
}
