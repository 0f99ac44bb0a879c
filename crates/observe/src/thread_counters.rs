//! A counter with labels, which each thread raises for itself until it is read.

use headgate_core::feature::metrics::registered;
use headgate_core::state::lock::lock;
use headgate_core::thread_shards::ThreadShards;
use prometheus::core::Collector;
use prometheus::local::LocalIntCounterVec;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, Opts, Registry};
use std::sync::Mutex;

/// A counter with labels that requests raise.
pub(super) struct ThreadCounterVec {
    counters: IntCounterVec,
    threads: ThreadShards<Mutex<LocalIntCounterVec>>,
}

impl ThreadCounterVec {
    /// Registers the counter. [`Self::flush`] must be called before the registry is read.
    pub fn new(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> Self {
        Self {
            counters: registered(registry, IntCounterVec::new(Opts::new(name, help), labels)),
            threads: ThreadShards::default(),
        }
    }

    /// Adds one.
    pub fn inc(&self, labels: &[&str]) {
        let own = self.threads.own_or(|| Mutex::new(self.counters.local()));
        lock(own).with_label_values(labels).inc();
    }

    /// Adds what all threads have counted to the metric.
    pub fn flush(&self) {
        self.threads.iter().for_each(|own| lock(own).flush());
    }

    /// The metric as of the last flush.
    pub fn collect(&self) -> Vec<MetricFamily> {
        self.counters.collect()
    }
}
