//! Metrics of the media store.

use super::counters::{RemovalReason, WriteOutcome};
use super::shared::SharedMediaState;
use headgate_core::feature::metrics::{FeatureMetrics, raise, registered};
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry};
use std::sync::Arc;

/// Objects of the media store, and what was done with them.
pub(super) struct MediaMetrics {
    shared: Arc<SharedMediaState>,
    objects: IntGauge,
    bytes: IntGauge,
    writes: IntCounterVec,
    written_bytes: IntCounter,
    read_failures: IntCounter,
    removals: IntCounterVec,
}

impl MediaMetrics {
    pub(super) fn new(registry: &Registry, shared: Arc<SharedMediaState>) -> Self {
        let gauge = |name, help| registered(registry, IntGauge::new(name, help));
        let counter = |name, help| registered(registry, IntCounter::new(name, help));
        let by = |name: &str, help: &str, label: &str| {
            let counters = IntCounterVec::new(Opts::new(name, help), &[label]);
            registered(registry, counters)
        };
        Self {
            shared,
            objects: gauge(
                "headgate_media_objects",
                "Files in the media store, of all gateways that share the state.",
            ),
            bytes: gauge(
                "headgate_media_bytes",
                "Size of the files in the media store, of all gateways that share the state.",
            ),
            writes: by(
                "headgate_media_writes_total",
                "Files that were to be stored, by outcome.",
                "outcome",
            ),
            written_bytes: counter(
                "headgate_media_written_bytes_total",
                "Bytes of the files that were written to the media store.",
            ),
            read_failures: counter(
                "headgate_media_read_failures_total",
                "Reads of files in the media store that failed.",
            ),
            removals: by(
                "headgate_media_removals_total",
                "Files that were removed from the media store, by reason.",
                "reason",
            ),
        }
    }
}

impl FeatureMetrics for MediaMetrics {
    fn update(&self) {
        let counters = &self.shared.counters;
        let totals = counters.totals();
        let gauge = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.objects.set(gauge(totals.objects));
        self.bytes.set(gauge(totals.bytes));
        for outcome in WriteOutcome::ALL {
            let counter = self.writes.with_label_values(&[outcome.name()]);
            raise(&counter, counters.writes(outcome));
        }
        raise(&self.written_bytes, counters.written_bytes());
        raise(&self.read_failures, counters.read_failures());
        for reason in RemovalReason::ALL {
            let counter = self.removals.with_label_values(&[reason.name()]);
            raise(&counter, counters.removals(reason));
        }
    }

    fn fault_counters(&self) -> Vec<MetricFamily> {
        [self.writes.collect(), self.read_failures.collect()].concat()
    }
}
