//! Metrics of budgets in money: what callers have left of them.

use headgate_core::catalog::Catalog;
use headgate_core::catalog::caller::Callers;
use headgate_core::catalog::price::NANOS;
use headgate_core::feature::metrics::{FeatureMetrics, registered};
use headgate_core::state::budget_levels::BudgetLevels;
use prometheus::{GaugeVec, Opts, Registry};
use std::collections::HashSet;
use std::sync::Arc;

/// The caller in metrics of budgets that all callers share.
const EVERY_CALLER_LABEL: &str = "*";

/// Shows the levels of budgets.
pub struct BudgetMetrics {
    levels: Arc<BudgetLevels>,
    left: GaugeVec,
    most: GaugeVec,
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
                "What a caller had left of a budget in money after its last request, in the currency of the label.",
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
        self.levels.for_each(|counter, level| {
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
        });
    }
}

/// Forgets levels of budgets that no caller and no channel of a configuration has.
pub fn keep_levels(levels: &BudgetLevels, callers: &Callers, catalog: &Catalog) {
    let channels = catalog.channels().flat_map(|channel| &channel.budgets);
    let mut known: HashSet<_> = channels.map(|limit| limit.counter.clone()).collect();
    callers.for_each_holder(&mut |caller| {
        caller.limits.for_each(&mut |limit| {
            known.insert(limit.counter.clone());
        });
    });
    levels.keep(&known);
}
