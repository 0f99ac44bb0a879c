//! Metrics of the response cache, and of copies of requests.

use super::registration::{raise, registered};
use headgate_core::filter::stream_info::CacheOutcome;
use headgate_filters::mirroring::{MirrorOutcome, MirroredRequests};
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, Opts, Registry};

/// Requests to the response cache by route.
pub struct ResponseCacheMetrics {
    requests: IntCounterVec,
}

/// Copies of requests by route.
pub struct MirrorMetrics {
    copies: IntCounterVec,
}

impl ResponseCacheMetrics {
    pub fn new(registry: &Registry) -> Self {
        let opts = Opts::new(
            "headgate_cache_requests_total",
            "Requests on routes with a response cache, by outcome: a recorded response, a request to the provider, or a request past the cache.",
        );
        Self {
            requests: registered(registry, IntCounterVec::new(opts, &["route", "outcome"])),
        }
    }

    /// Counts a finished exchange on `route`.
    pub fn count(&self, route: &str, outcome: CacheOutcome) {
        let labels = [route, outcome.name()];
        self.requests.with_label_values(&labels).inc();
    }
}

impl MirrorMetrics {
    /// The counters that findings are made of.
    pub(super) fn fault_counters(&self) -> Vec<MetricFamily> {
        self.copies.collect()
    }

    pub fn new(registry: &Registry) -> Self {
        let opts = Opts::new(
            "headgate_mirrored_requests_total",
            "Copies of requests for other channels, by outcome: completed, failed, or dropped above their bounds.",
        );
        Self {
            copies: registered(registry, IntCounterVec::new(opts, &["route", "outcome"])),
        }
    }

    /// Sets the metrics to the current counts.
    pub fn update(&self, mirrors: &MirroredRequests) {
        mirrors.for_each_route(|route, mirror| {
            for outcome in MirrorOutcome::ALL {
                let counter = self.copies.with_label_values(&[route, outcome.name()]);
                raise(&counter, mirror.total(outcome));
            }
        });
    }
}
