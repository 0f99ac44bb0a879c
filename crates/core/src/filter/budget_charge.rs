//! What an exchange has cost of its caller's budgets in money.

use crate::catalog::model::Model;
use std::sync::Arc;

/// What an exchange has cost of its caller's budgets, by model and admission; in
/// [`RequestFilterValues`](super::state::RequestFilterValues). What is settled later counts as it was reserved.
#[derive(Debug, Default)]
pub struct BudgetCharge(Vec<ModelCharge>);

/// What one admission of an exchange has cost.
#[derive(Debug)]
pub struct ModelCharge {
    pub model: Arc<Model>,
    /// That of the last attempt for the model; `None` without an attempt.
    pub channel: Option<Arc<str>>,
    pub currency: Arc<str>,
    /// The time of the admission on the store's clock, in Unix milliseconds: the charge belongs to its day and month.
    pub admitted_ms: u64,
    /// In billionths of the currency's unit.
    pub nanos: u64,
}

impl BudgetCharge {
    /// Adds what an admission has cost, if it has cost anything.
    pub fn add(&mut self, charge: ModelCharge) {
        if charge.nanos > 0 {
            self.0.push(charge);
        }
    }

    /// The sum, in billionths.
    pub fn nanos(&self) -> u64 {
        let nanos = self.0.iter().map(|charge| charge.nanos);
        nanos.fold(0, u64::saturating_add)
    }

    /// The admissions that have cost something.
    pub fn iter(&self) -> impl Iterator<Item = &ModelCharge> {
        self.0.iter()
    }
}
