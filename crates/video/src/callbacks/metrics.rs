//! Metrics of callbacks of providers, and of deliveries to callers.

use super::{CallbackWorkerQueue, DeliveryOutcome, ReceivedCallbackResult};
use headgate_core::feature::metrics::{FeatureMetrics, raise, registered};
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{Gauge, IntCounterVec, IntGauge, Opts, Registry};
use std::sync::Arc;

/// Callbacks and deliveries.
pub struct CallbackMetrics {
    queue: Arc<CallbackWorkerQueue>,
    received: IntCounterVec,
    deliveries: IntCounterVec,
    pending: IntGauge,
    dead: IntGauge,
    oldest: Gauge,
}

impl CallbackMetrics {
    pub fn new(registry: &Registry, queue: Arc<CallbackWorkerQueue>) -> Self {
        let counter = |name: &str, help: &str, label: &str| {
            registered(
                registry,
                IntCounterVec::new(Opts::new(name, help), &[label]),
            )
        };
        Self {
            queue,
            received: counter(
                "headgate_callbacks_received_total",
                "Callbacks from providers, by result: accepted, unknown, refused, or no_keys.",
                "result",
            ),
            deliveries: counter(
                "headgate_deliveries_total",
                "Attempts to deliver events to callers and events that are not sent, by outcome.",
                "outcome",
            ),
            pending: registered(
                registry,
                IntGauge::new(
                    "headgate_deliveries_pending",
                    "Events in the state store that wait for their delivery.",
                ),
            ),
            dead: registered(
                registry,
                IntGauge::new(
                    "headgate_dead_letters",
                    "Events in the state store that could not be delivered.",
                ),
            ),
            oldest: registered(
                registry,
                Gauge::new(
                    "headgate_oldest_delivery_seconds",
                    "Age of the oldest event that waits for its delivery, in seconds.",
                ),
            ),
        }
    }
}

impl FeatureMetrics for CallbackMetrics {
    fn update(&self) {
        let counters = self.queue.counters();
        for result in ReceivedCallbackResult::ALL {
            let counter = self.received.with_label_values(&[result.name()]);
            raise(&counter, counters.received(result));
        }
        for outcome in DeliveryOutcome::ALL {
            let counter = self.deliveries.with_label_values(&[outcome.name()]);
            raise(&counter, counters.total(outcome));
        }
        let totals = counters.totals();
        let gauge = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.pending.set(gauge(totals.pending));
        self.dead.set(gauge(totals.dead));
        self.oldest.set(totals.oldest_ms as f64 / 1_000.0);
    }

    fn fault_counters(&self) -> Vec<MetricFamily> {
        [self.received.collect(), self.deliveries.collect()].concat()
    }
}
