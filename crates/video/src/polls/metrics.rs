//! Metrics of status queries for video tasks.

use super::{PollAnswerSource, TaskStatusFetcher};
use headgate_core::feature::metrics::{FeatureMetrics, raise, registered};
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, IntCounterVec, Opts, Registry};
use std::sync::Arc;

/// Status queries by the way they were answered.
pub struct PollMetrics {
    fetcher: Arc<TaskStatusFetcher>,
    queries: IntCounterVec,
    removed_urls: IntCounter,
}

impl PollMetrics {
    pub fn new(registry: &Registry, fetcher: Arc<TaskStatusFetcher>) -> Self {
        let opts = Opts::new(
            "headgate_task_queries_total",
            "Status queries for video tasks, by outcome: sent to the provider, shared with a query already in flight, from the status cache, or over the channel's query limit.",
        );
        let removed_urls = IntCounter::new(
            "headgate_task_urls_removed_total",
            "URLs of providers that were removed from responses in a vendor's own format, since the family neither replaces nor allows them.",
        );
        Self {
            fetcher,
            removed_urls: registered(registry, removed_urls),
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
        raise(&self.removed_urls, self.fetcher.counters().removed_urls());
    }

    fn fault_counters(&self) -> Vec<MetricFamily> {
        self.queries.collect()
    }
}
