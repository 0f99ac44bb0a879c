//! What features record of the use of requests, kept for the audit.

use headgate_core::feature::exchange_recorder::{ExchangeRecorder, RecordedUse};
use headgate_core::feature::metrics::{ChargeChange, CostChange};
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::state::lock::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Adds the ledger to the features of a gateway.
pub struct LedgerFeature;

/// What requests have used, by caller.
#[derive(Default)]
pub struct Ledger(Mutex<BTreeMap<String, LedgerSums>>);

/// Sums of a caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerSums {
    pub requests: i64,
    /// Billionths of the currency that the caller's budgets were charged.
    pub charged: i64,
    /// Billionths that requests have cost.
    pub cost: i64,
}

impl Feature for LedgerFeature {
    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<Ledger>::default());
    }

    fn exchange_recorder(&self, shared: &FeatureTypeMap) -> Option<Arc<dyn ExchangeRecorder>> {
        Some(shared.get::<Ledger>())
    }
}

impl Ledger {
    pub fn sums(&self) -> BTreeMap<String, LedgerSums> {
        lock(&self.0).clone()
    }

    fn change(&self, caller: &str, change: impl FnOnce(&mut LedgerSums)) {
        change(lock(&self.0).entry(caller.to_owned()).or_default());
    }
}

impl ExchangeRecorder for Ledger {
    fn is_on(&self) -> bool {
        true
    }

    fn record(&self, used: &RecordedUse<'_>) {
        self.change(used.caller.unwrap_or_default(), |sums| {
            sums.requests += i64::from(used.outcome.is_some());
            let charges = used.charges.iter();
            sums.charged += charges.map(|charge| signed(charge.nanos)).sum::<i64>();
            sums.cost += used.cost.map_or(0, |(cost, _)| signed(cost.0));
        });
    }

    fn change_cost(&self, change: &CostChange) {
        self.change(&change.caller_name, |sums| {
            sums.cost += signed(change.added) - signed(change.refunded);
        });
    }

    fn change_charge(&self, change: &ChargeChange) {
        self.change(&change.caller, |sums| {
            sums.charged += signed(change.added) - signed(change.refunded);
        });
    }
}

fn signed(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap()
}
