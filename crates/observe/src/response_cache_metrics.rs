//! Metrics of the response cache.

use headgate_core::feature::metrics::registered;
use headgate_core::filter::stream_info::CacheOutcome;
use prometheus::{IntCounterVec, Opts, Registry};

/// Requests to the response cache by route.
pub struct ResponseCacheMetrics {
    requests: IntCounterVec,
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
