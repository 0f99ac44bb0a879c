//! By how much settled costs differ from what creates reserved, for the metrics of costs.

use super::TaskCostReservation;
use headgate_core::catalog::price::Cost;
use headgate_core::feature::FeatureTypeMap;
use headgate_core::feature::metrics::{ChargeChange, CostChange, CostChangeLabels, FeatureMetrics};
use headgate_core::state::budget_levels::BudgetLevels;
use headgate_core::state::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

/// Differences since the metrics were read. Outlives snapshots.
#[derive(Default)]
pub struct TaskCostChanges {
    /// By their labels and the caller's own name.
    costs: Mutex<HashMap<(CostChangeLabels, Arc<str>), CostDifference>>,
    charges: Mutex<Vec<ChargeChange>>,
    /// Read-locked by each settlement until it is counted.
    settlements: Arc<RwLock<()>>,
}

/// What the settlements of tasks change in this process.
#[derive(Clone, Default)]
pub struct TaskCostAccounts {
    pub changes: Arc<TaskCostChanges>,
    pub levels: Arc<BudgetLevels>,
}

/// In billionths of the currency's unit.
#[derive(Default)]
struct CostDifference {
    added: u64,
    refunded: u64,
}

/// Hands the differences to the metrics of costs.
pub(crate) struct TaskCostMetrics(pub Arc<TaskCostChanges>);

impl TaskCostAccounts {
    /// Those that outlive snapshots.
    pub fn shared(features: &FeatureTypeMap) -> Self {
        Self {
            changes: features.get(),
            levels: features.get(),
        }
    }
}

impl TaskCostChanges {
    /// Notes a settlement that is running until the guard is dropped.
    pub(super) async fn begin_settlement(&self) -> OwnedRwLockReadGuard<()> {
        self.settlements.clone().read_owned().await
    }

    /// Waits until the settlements that have begun are counted, whoever waited for them before.
    pub async fn until_settled(&self) {
        drop(self.settlements.write().await);
    }

    /// Adds the difference between the cost of a task and what its create reserved.
    pub fn add(&self, caller: &Arc<str>, reservation: &TaskCostReservation, Cost(cost): Cost) {
        self.add_charge(caller, reservation, cost);
        let reserved = reservation.price.reserved;
        if cost == reserved {
            return;
        }
        let labels = CostChangeLabels {
            caller: match &reservation.caller_label {
                Some(label) => label.as_str().into(),
                None => caller.clone(),
            },
            model: reservation.model.clone(),
            channel: reservation.channel.clone(),
            currency: reservation.currency.clone(),
        };
        let mut changes = lock(&self.costs);
        let change = changes.entry((labels, caller.clone())).or_default();
        change.added = change.added.saturating_add(cost.saturating_sub(reserved));
        change.refunded = change
            .refunded
            .saturating_add(reserved.saturating_sub(cost));
    }

    /// Takes the differences of charges.
    pub fn take_charges(&self) -> Vec<ChargeChange> {
        std::mem::take(&mut *lock(&self.charges))
    }

    /// Takes the differences of costs.
    pub fn take(&self) -> Vec<CostChange> {
        let changes = std::mem::take(&mut *lock(&self.costs));
        let changes = changes.into_iter();
        changes
            .map(|((labels, caller_name), difference)| CostChange {
                labels,
                caller_name,
                added: difference.added,
                refunded: difference.refunded,
            })
            .collect()
    }

    /// Adds the difference between the cost and what the create has reserved of its caller's budgets.
    fn add_charge(&self, caller: &Arc<str>, reservation: &TaskCostReservation, cost: u64) {
        let money = reservation.money.as_ref();
        let Some(money) = money.filter(|money| money.amount != cost) else {
            return;
        };
        lock(&self.charges).push(ChargeChange {
            admitted_ms: money.taken_ms,
            caller: caller.clone(),
            model: reservation.model.clone(),
            channel: reservation.channel.clone(),
            currency: reservation.currency.clone(),
            added: cost.saturating_sub(money.amount),
            refunded: money.amount.saturating_sub(cost),
        });
    }
}

impl FeatureMetrics for TaskCostMetrics {
    fn update(&self) {}

    fn take_cost_changes(&self) -> Vec<CostChange> {
        self.0.take()
    }

    fn take_charge_changes(&self) -> Vec<ChargeChange> {
        self.0.take_charges()
    }
}
