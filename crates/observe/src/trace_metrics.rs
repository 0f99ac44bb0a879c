//! Metrics of the export of traces.

use headgate_core::feature::metrics::{raise, registered};
use headgate_tracing::{SpanExportOutcome, TraceQueue};
use prometheus::{IntCounterVec, IntGauge, Opts, Registry};

/// Spans by outcome, and the queue of the exporter.
pub struct TraceExportMetrics {
    spans: IntCounterVec,
    queued: IntGauge,
}

impl TraceExportMetrics {
    pub fn new(registry: &Registry) -> Self {
        let opts = Opts::new(
            "headgate_trace_spans_total",
            "Spans of traces, by outcome: exported, dropped because the queue was full, refused by the collector, or undelivered.",
        );
        let queued = IntGauge::new(
            "headgate_trace_queue_requests",
            "Requests whose traces wait for the export.",
        );
        Self {
            spans: registered(registry, IntCounterVec::new(opts, &["outcome"])),
            queued: registered(registry, queued),
        }
    }

    /// Sets the metrics to the current counts.
    pub fn update(&self, queue: &TraceQueue) {
        for outcome in SpanExportOutcome::ALL {
            let counter = self.spans.with_label_values(&[outcome.name()]);
            raise(&counter, queue.total(outcome));
        }
        self.queued
            .set(i64::try_from(queue.len()).unwrap_or(i64::MAX));
    }
}
