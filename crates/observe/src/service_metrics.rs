//! Metrics of the services that filters call.

use headgate_core::callout::{CallOutcome, CallRecorder};
use headgate_core::feature::metrics::registered;
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry};
use std::time::Duration;

/// Buckets in seconds, from a local service to a long timeout.
const DURATION_BUCKETS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// Calls of services, and their circuit breakers.
pub struct ServiceCallMetrics {
    calls: IntCounterVec,
    durations: HistogramVec,
    open_breakers: IntGaugeVec,
}

impl ServiceCallMetrics {
    /// The counters that findings are made of.
    pub(super) fn fault_counters(&self) -> Vec<MetricFamily> {
        self.calls.collect()
    }

    pub fn new(registry: &Registry) -> Self {
        let durations = HistogramOpts::new(
            "headgate_callout_duration_seconds",
            "Time of a call of a service, with the wait for a permit, in seconds.",
        );
        let durations = durations.buckets(DURATION_BUCKETS.to_vec());
        Self {
            calls: registered(
                registry,
                IntCounterVec::new(
                    Opts::new(
                        "headgate_callouts_total",
                        "Calls of services by filters, by outcome.",
                    ),
                    &["service", "outcome"],
                ),
            ),
            durations: registered(registry, HistogramVec::new(durations, &["service"])),
            open_breakers: registered(
                registry,
                IntGaugeVec::new(
                    Opts::new(
                        "headgate_callout_breaker_open",
                        "1 while the circuit breaker of a service is open, else 0.",
                    ),
                    &["service"],
                ),
            ),
        }
    }

    /// Sets the state of the circuit breakers to that of these services.
    pub fn update<'a>(&self, breakers: impl Iterator<Item = (&'a str, bool)>) {
        self.open_breakers.reset();
        for (service, is_open) in breakers {
            let breaker = self.open_breakers.with_label_values(&[service]);
            breaker.set(i64::from(is_open));
        }
    }
}

impl CallRecorder for ServiceCallMetrics {
    fn record(&self, service: &str, outcome: CallOutcome, duration: Duration) {
        self.calls
            .with_label_values(&[service, outcome.name()])
            .inc();
        self.durations
            .with_label_values(&[service])
            .observe(duration.as_secs_f64());
    }
}
