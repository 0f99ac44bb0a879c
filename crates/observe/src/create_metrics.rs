//! Metrics of paid creates: the outcomes of idempotency keys, and how the creates ended.

use headgate_core::feature::metrics::registered;
use headgate_core::filter::stream_info::StreamInfo;
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, Opts, Registry};

/// The label of creates whose outcome is unknown.
const OUTCOME_UNKNOWN: &str = "outcome_unknown";

/// Paid creates by route.
pub struct PaidCreateMetrics {
    keys: IntCounterVec,
    ends: IntCounterVec,
}

impl PaidCreateMetrics {
    /// The counters that findings are made of.
    pub(super) fn fault_counters(&self) -> Vec<MetricFamily> {
        [self.keys.collect(), self.ends.collect()].concat()
    }

    pub fn new(registry: &Registry) -> Self {
        let counter = |name: &str, help: &str, label: &str| {
            let opts = Opts::new(name, help);
            registered(registry, IntCounterVec::new(opts, &["route", label]))
        };
        Self {
            keys: counter(
                "headgate_idempotency_requests_total",
                "Requests with an idempotency key, by outcome: the first with the key, a replay, or an error.",
                "outcome",
            ),
            ends: counter(
                "headgate_paid_creates_total",
                "Paid creates that were recorded, by how they ended.",
                "end",
            ),
        }
    }

    /// Number of creates since the start whose outcome is unknown.
    pub fn unknown_outcomes(&self) -> u64 {
        let families = self.ends.collect();
        let series = families.iter().flat_map(|family| family.get_metric());
        let is_unknown = |series: &&prometheus::proto::Metric| {
            let mut labels = series.get_label().iter();
            labels.any(|label| label.value() == OUTCOME_UNKNOWN)
        };
        let counts = series
            .filter(is_unknown)
            .map(|series| series.get_counter().get_value());
        counts.sum::<f64>() as u64
    }

    /// Counts what a finished exchange on `route` learned of its key and its create.
    pub fn count(&self, route: &str, info: &StreamInfo) {
        if let Some(outcome) = info.idempotency {
            self.keys.with_label_values(&[route, outcome.name()]).inc();
        }
        if let Some(end) = info.create_end {
            self.ends.with_label_values(&[route, end]).inc();
        }
    }
}
