//! Metrics of the state store, copied from the store's own counters.

use headgate_core::feature::metrics::{raise, registered};
use headgate_core::state::health::{StoreHealthReport, StoreOperation};
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};

/// Metrics of the state store.
pub struct StateStoreMetrics {
    up: IntGaugeVec,
    failed: IntCounterVec,
    dropped: IntCounterVec,
}

impl StateStoreMetrics {
    pub fn new(registry: &Registry) -> Self {
        let labels = ["store", "operation"];
        let counter =
            |name, help| registered(registry, IntCounterVec::new(Opts::new(name, help), &labels));
        Self {
            up: registered(
                registry,
                IntGaugeVec::new(
                    Opts::new(
                        "headgate_state_up",
                        "1 while the state store is reachable and accepts writes, else 0.",
                    ),
                    &["store"],
                ),
            ),
            failed: counter(
                "headgate_state_failures_total",
                "Failed operations on the state store.",
            ),
            dropped: counter(
                "headgate_state_dropped_total",
                "Operations on the state store dropped because its queue was full.",
            ),
        }
    }

    pub fn update(&self, health: &StoreHealthReport) {
        let StoreHealthReport {
            store,
            up,
            failed,
            dropped,
            ..
        } = health;
        self.up.with_label_values(&[store]).set(i64::from(*up));
        for operation in StoreOperation::ALL {
            let labels = [*store, operation.name()];
            let count = |counter: &IntCounterVec, counts: &[u64]| {
                let counter = counter.with_label_values(&labels);
                raise(&counter, counts[operation as usize]);
            };
            count(&self.failed, failed);
            count(&self.dropped, dropped);
        }
    }
}
