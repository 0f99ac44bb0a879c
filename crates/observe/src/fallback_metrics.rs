//! Metrics of models that stand in for others.

use headgate_core::feature::metrics::registered;
use prometheus::{IntCounterVec, Opts, Registry};

/// Fallbacks by model and cause.
pub struct FallbackMetrics {
    fallbacks: IntCounterVec,
}

impl FallbackMetrics {
    pub fn new(registry: &Registry) -> Self {
        let opts = Opts::new(
            "headgate_fallbacks_total",
            "Requests that another model took over from this one, by the cause.",
        );
        Self {
            fallbacks: registered(registry, IntCounterVec::new(opts, &["model", "cause"])),
        }
    }

    /// Counts a request that leaves `model`, a bounded name, for another one.
    pub fn count(&self, model: &str, cause: &str) {
        self.fallbacks.with_label_values(&[model, cause]).inc();
    }
}
