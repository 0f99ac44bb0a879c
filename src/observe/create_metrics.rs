//! Metrics of paid creates: what became of idempotency keys, and how the creates ended.

use super::registration::registered;
use crate::filter::stream_info::StreamInfo;
use prometheus::{IntCounterVec, Opts, Registry};

/// Paid creates by route.
pub struct CreateMetrics {
    keys: IntCounterVec,
    ends: IntCounterVec,
}

impl CreateMetrics {
    pub fn new(registry: &Registry) -> Self {
        let counter = |name: &str, help: &str, label: &str| {
            let opts = Opts::new(name, help);
            registered(registry, IntCounterVec::new(opts, &["route", label]))
        };
        Self {
            keys: counter(
                "headgate_idempotency_requests_total",
                "Requests with an idempotency key, by what became of them: the first with the key, a replay, or an error.",
                "outcome",
            ),
            ends: counter(
                "headgate_paid_creates_total",
                "Paid creates that were recorded, by how they ended.",
                "end",
            ),
        }
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
