//! Metrics of copies of requests.

use super::{MirrorOutcome, MirrorSendersByRoute};
use headgate_core::feature::metrics::{FeatureMetrics, raise, registered};
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, Opts, Registry};
use std::sync::Arc;

/// Copies of requests by route.
pub struct MirrorMetrics {
    mirrors: Arc<MirrorSendersByRoute>,
    copies: IntCounterVec,
}

impl MirrorMetrics {
    pub fn new(registry: &Registry, mirrors: Arc<MirrorSendersByRoute>) -> Self {
        let opts = Opts::new(
            "headgate_mirrored_requests_total",
            "Copies of requests for other channels, by outcome: completed, failed, or dropped above their bounds.",
        );
        Self {
            mirrors,
            copies: registered(registry, IntCounterVec::new(opts, &["route", "outcome"])),
        }
    }
}

impl FeatureMetrics for MirrorMetrics {
    fn update(&self) {
        self.mirrors.for_each_route(|route, mirror| {
            for outcome in MirrorOutcome::ALL {
                let counter = self.copies.with_label_values(&[route, outcome.name()]);
                raise(&counter, mirror.total(outcome));
            }
        });
    }

    fn fault_counters(&self) -> Vec<MetricFamily> {
        self.copies.collect()
    }
}
