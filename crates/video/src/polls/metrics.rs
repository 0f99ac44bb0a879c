//! Metrics of status queries for video tasks.

use super::{PollAnswerSource, TaskStatusFetcher};
use headgate_core::feature::metrics::{FeatureMetrics, raise, registered};
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, Opts, Registry};
use std::sync::Arc;

/// Status queries by the way they were answered.
pub struct PollMetrics {
    fetcher: Arc<TaskStatusFetcher>,
    queries: IntCounterVec,
}

impl PollMetrics {
    pub fn new(registry: &Registry, fetcher: Arc<TaskStatusFetcher>) -> Self {
        let opts = Opts::new(
            "headgate_task_queries_total",
            "Status queries for video tasks, by outcome: sent to the provider, shared with a query already in flight, from the status cache, or over the channel's query limit.",
        );
        Self {
            fetcher,
            queries: registered(registry, IntCounterVec::new(opts, &["outcome"])),
        }
    }
}

impl FeatureMetrics for PollMetrics {
    fn update(&self) {
        for outcome in PollAnswerSource::ALL {
            let counter = self.queries.with_label_values(&[outcome.name()]);
            raise(&counter, self.fetcher.counters().total(outcome));
        }
    }

    fn fault_counters(&self) -> Vec<MetricFamily> {
        self.queries.collect()
    }
}
