//! Metrics of status queries for video tasks.

use super::registration::{raise, registered};
use headgate_video::polls::{PollCounters, PollOutcome};
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, Opts, Registry};

/// Status queries by the way they were answered.
pub struct PollMetrics {
    queries: IntCounterVec,
}

impl PollMetrics {
    /// The counters that findings are made of.
    pub(super) fn fault_counters(&self) -> Vec<MetricFamily> {
        self.queries.collect()
    }

    pub fn new(registry: &Registry) -> Self {
        let opts = Opts::new(
            "headgate_task_queries_total",
            "Status queries for video tasks, by outcome: sent to the provider, shared with a query already in flight, from the status cache, or over the channel's query limit.",
        );
        Self {
            queries: registered(registry, IntCounterVec::new(opts, &["outcome"])),
        }
    }

    /// Sets the metrics to the current counts.
    pub fn update(&self, tally: &PollCounters) {
        for outcome in PollOutcome::ALL {
            let counter = self.queries.with_label_values(&[outcome.name()]);
            raise(&counter, tally.total(outcome));
        }
    }
}
