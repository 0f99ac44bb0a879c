//! What a feature measures of itself: it registers its metrics, and keeps them up to date with counts that it keeps elsewhere.

use super::{FeatureList, FeatureTypeMap};
use headgate_protocol::ChannelProtocol;
use headgate_protocol::usage::TokenUsage;
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, Registry};
use std::sync::Arc;

/// Metrics of a feature, which it has registered.
pub trait FeatureMetrics: Send + Sync {
    /// Sets the metrics to the current counts. Called before they are read, by several threads at a time.
    fn update(&self);

    /// Takes the changes of costs since the last call. The metrics of costs add them up.
    fn take_cost_changes(&self) -> Vec<CostChange> {
        Vec::new()
    }

    /// Takes the changes of charges since the last call. The usage by day adds them up.
    fn take_charge_changes(&self) -> Vec<ChargeChange> {
        Vec::new()
    }

    /// Takes what was used since the last call beside the requests of callers. The metrics of tokens add it up.
    fn take_background_usages(&self) -> Vec<BackgroundUsage> {
        Vec::new()
    }

    /// The counters that findings are made of.
    fn fault_counters(&self) -> Vec<MetricFamily> {
        Vec::new()
    }

    /// Metrics that cannot be registered, in Prometheus' text format, each with its help and type.
    fn text(&self) -> String {
        String::new()
    }
}

/// By how much costs differ from what was counted when their requests ended, in total.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CostChange {
    pub labels: CostChangeLabels,
    /// The caller's own name, where several callers have one label.
    pub caller_name: Arc<str>,
    /// Billionths that were counted too little.
    pub added: u64,
    /// Billionths that were counted too much.
    pub refunded: u64,
}

/// By how much the charge of budgets in money differs from what was charged when the request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChargeChange {
    /// The time of the admission, in Unix milliseconds: the charge belongs to its day.
    pub admitted_ms: u64,
    /// The caller's own name.
    pub caller: Arc<str>,
    pub model: String,
    pub channel: String,
    pub currency: String,
    /// Billionths that were charged too little.
    pub added: u64,
    /// Billionths that were charged too much.
    pub refunded: u64,
}

/// Whose costs have changed, as the metrics of costs have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CostChangeLabels {
    pub caller: Arc<str>,
    pub model: String,
    pub channel: String,
    pub currency: String,
}

/// What was used of a model on a channel, as the metrics of tokens have it.
#[derive(Clone, Debug)]
pub struct BackgroundUsage {
    pub labels: CostChangeLabels,
    /// The caller's own name, where several callers have one label.
    pub caller_name: Arc<str>,
    pub protocol: Option<ChannelProtocol>,
    pub usage: TokenUsage,
    /// How many times what was used has no price.
    pub unpriced: u64,
}

impl FeatureList {
    /// Registers the metrics of all features.
    pub fn register_metrics(
        self,
        registry: &Registry,
        shared: &FeatureTypeMap,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        let features = self.0.iter();
        let metrics = features.flat_map(|feature| feature.register_metrics(registry, shared));
        metrics.collect()
    }
}

/// Raises a counter to `count`.
pub fn raise(counter: &IntCounter, count: u64) {
    counter.inc_by(count.saturating_sub(counter.get()));
}

/// Registers a metric and returns it.
///
/// # Panics
/// Its name or a label is not valid, or another metric has its name: all are constants.
pub fn registered<C: Collector + Clone + 'static>(
    registry: &Registry,
    metric: prometheus::Result<C>,
) -> C {
    let metric = metric.expect("names and labels are constants");
    registry
        .register(Box::new(metric.clone()))
        .expect("each metric is registered once");
    metric
}
