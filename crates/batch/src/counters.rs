//! Counts of settled batches, and what those have used that the gateway settles beside requests.

use headgate_core::catalog::Catalog;
use headgate_core::catalog::pattern_models::OTHER_MODEL;
use headgate_core::catalog::price::{Cost, ExchangeCost};
use headgate_core::feature::metrics::{
    BackgroundUsage, ChargeChange, CostChange, CostChangeLabels, FeatureMetrics, raise, registered,
};
use headgate_core::filter::stream_info::SettledUsage;
use headgate_core::state::lock::lock;
use headgate_protocol::ChannelProtocol;
use headgate_protocol::usage::TokenUsage;
use prometheus::{IntCounterVec, Opts, Registry};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// How a batch was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOutcome {
    /// By the usage that the provider reported.
    Reported,
    /// No request was processed.
    Unused,
    /// At its estimate, since its usage is not known.
    Estimated,
    /// The reported usage cannot be true.
    Implausible,
}

/// Counts since the process began; they outlive snapshots.
#[derive(Default)]
pub struct BatchCounters {
    settled: [AtomicU64; BatchOutcome::ALL.len()],
    /// What was used since the metrics were read.
    used: Mutex<HashMap<UsageLabels, UsedInBackground>>,
    charges: Mutex<Vec<ChargeChange>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct UsageLabels {
    labels: CostChangeLabels,
    caller_name: Arc<str>,
    protocol: Option<ChannelProtocol>,
}

#[derive(Default)]
struct UsedInBackground {
    usage: TokenUsage,
    /// In billionths of the currency's unit.
    cost: u64,
    unpriced: u64,
}

/// The metrics of batches.
pub(crate) struct BatchMetrics {
    counters: Arc<BatchCounters>,
    settled: IntCounterVec,
}

impl BatchOutcome {
    pub const ALL: [Self; 4] = [
        Self::Reported,
        Self::Unused,
        Self::Estimated,
        Self::Implausible,
    ];

    /// The value in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Unused => "unused",
            Self::Estimated => "estimated",
            Self::Implausible => "implausible",
        }
    }
}

impl BatchCounters {
    /// Counts a batch that was settled.
    pub fn count(&self, outcome: BatchOutcome) {
        self.settled[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The number of batches that were settled so.
    pub fn settled(&self, outcome: BatchOutcome) -> u64 {
        self.settled[outcome as usize].load(Ordering::Relaxed)
    }

    /// Adds by how much charges differ from what creates were charged with.
    pub fn add_charges(&self, changes: Vec<ChargeChange>) {
        lock(&self.charges).extend(changes);
    }

    /// Adds what a batch has used whose end no request shows. `label` is the name of its caller in metrics.
    pub fn add_usage(
        &self,
        catalog: &Catalog,
        (caller, label): (&Arc<str>, &Arc<str>),
        used: &SettledUsage,
    ) {
        let model = used.model.as_deref();
        let model = model.map_or(OTHER_MODEL, |model| catalog.metric_label(model, true));
        let price = used.price.as_ref();
        let labels = UsageLabels {
            labels: CostChangeLabels {
                caller: label.clone(),
                model: model.to_owned(),
                channel: used.candidate.channel.name.to_string(),
                currency: price.map_or_else(String::new, |price| price.currency.to_string()),
            },
            caller_name: caller.clone(),
            protocol: used.candidate.protocol,
        };
        let mut all = lock(&self.used);
        let sum = all.entry(labels).or_default();
        sum.usage = sum.usage.plus(used.usage);
        match used.cost() {
            Some(ExchangeCost::Priced(Cost(nanos))) => sum.cost = sum.cost.saturating_add(nanos),
            Some(ExchangeCost::Unpriced) => sum.unpriced += 1,
            Some(ExchangeCost::Unmetered) | None => {}
        }
    }
}

#[cfg(test)]
impl BatchCounters {
    /// The callers that metrics name, each with its own name.
    pub fn callers(&self) -> Vec<(String, String)> {
        let all = lock(&self.used);
        all.keys()
            .map(|used| (used.labels.caller.to_string(), used.caller_name.to_string()))
            .collect()
    }
}

impl BatchMetrics {
    pub fn new(registry: &Registry, counters: Arc<BatchCounters>) -> Self {
        let settled = Opts::new(
            "headgate_batches_settled_total",
            "Batches that were settled, by what was known of their usage.",
        );
        Self {
            counters,
            settled: registered(registry, IntCounterVec::new(settled, &["outcome"])),
        }
    }
}

impl FeatureMetrics for BatchMetrics {
    fn update(&self) {
        for outcome in BatchOutcome::ALL {
            let counter = self.settled.with_label_values(&[outcome.name()]);
            raise(&counter, self.counters.settled(outcome));
        }
    }

    fn take_cost_changes(&self) -> Vec<CostChange> {
        let mut all = lock(&self.counters.used);
        let changes = all.iter_mut().map(|(labels, used)| CostChange {
            labels: labels.labels.clone(),
            caller_name: labels.caller_name.clone(),
            added: std::mem::take(&mut used.cost),
            refunded: 0,
        });
        changes.filter(|change| change.added > 0).collect()
    }

    fn take_charge_changes(&self) -> Vec<ChargeChange> {
        std::mem::take(&mut *lock(&self.counters.charges))
    }

    /// Called after [`Self::take_cost_changes`]: costs that were added in between stay.
    fn take_background_usages(&self) -> Vec<BackgroundUsage> {
        let mut all = lock(&self.counters.used);
        let taken = all.iter_mut().map(|(labels, used)| BackgroundUsage {
            labels: labels.labels.clone(),
            caller_name: labels.caller_name.clone(),
            protocol: labels.protocol,
            usage: std::mem::take(&mut used.usage),
            unpriced: std::mem::take(&mut used.unpriced),
        });
        let taken = taken.collect();
        all.retain(|_, used| used.cost > 0);
        taken
    }
}
