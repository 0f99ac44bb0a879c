//! The budgets with `cut_streams` of a reservation: whether they cover what a stream costs.

use super::headers::cut_refusal;
use super::live_budget::{LiveBudget, LiveBudgets};
use headgate_core::state::StateStore;
use headgate_core::state::admission::{AdmissionLimit, LimitStatus};
use headgate_core::state::lock::lock;
use headgate_core::state::money::MoneyReservation;
use headgate_protocol::fault::Fault;
use std::sync::{Arc, Mutex};

/// The budgets with `cut_streams` of which a request has reserved money.
#[derive(Default)]
pub struct StreamBudgets {
    all: Vec<(AdmissionLimit, Arc<LiveBudget>)>,
    /// What the stream costs beyond what it has reserved, in billionths.
    excess: Mutex<u64>,
}

impl StreamBudgets {
    /// Those of an admission that has reserved money.
    pub fn new(
        live: &LiveBudgets,
        (limits, statuses): (&[AdmissionLimit], &[LimitStatus]),
        reserved: &MoneyReservation,
    ) -> Self {
        let all = limits.iter().zip(statuses);
        let all = all.filter(|(limit, _)| limit.cuts_streams);
        let watch = |(limit, status): (&AdmissionLimit, _)| {
            let budget = live.watch(limit, status, reserved.taken_ms);
            (limit.clone(), budget)
        };
        Self {
            all: all.map(watch).collect(),
            excess: Mutex::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Checks a stream that costs `cost` until now and has reserved `reserved`.
    ///
    /// # Errors
    /// A budget does not cover it.
    pub fn check(
        &self,
        (cost, reserved): (u64, u64),
        store: &Arc<dyn StateStore>,
    ) -> Result<(), Fault> {
        let excess = cost.saturating_sub(reserved);
        let before = std::mem::replace(&mut *lock(&self.excess), excess);
        let unused = reserved.saturating_sub(cost);
        for (limit, budget) in &self.all {
            budget.change_excess(before, excess);
            budget.refresh(store, excess > 0);
            if !budget.covers(unused, excess > 0) {
                return Err(cut_refusal(limit, budget.reset()));
            }
        }
        Ok(())
    }
}

impl Drop for StreamBudgets {
    fn drop(&mut self) {
        let excess = *lock(&self.excess);
        for (_, budget) in &self.all {
            budget.change_excess(excess, 0);
        }
    }
}
