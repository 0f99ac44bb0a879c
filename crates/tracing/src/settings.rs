//! Tracing as configured, with the queue that outlives it.

use super::context::{CallerTraceContext, TRACEPARENT, TRACESTATE};
use super::exchange_trace::{ExchangeSummary, ExchangeTrace, FinishedTrace};
use super::queue::TraceQueue;
use super::sampling::TraceSampling;
use headgate_core::callout::ServiceEndpoint;
use http::HeaderMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Settings of tracing.
#[derive(Debug)]
pub struct TraceSettings {
    pub collector: ServiceEndpoint,
    pub sampling: TraceSampling,
    pub service_name: String,
    /// Further attributes of the resource, by name.
    pub resource: Vec<(String, String)>,
    /// Maximum number of exchanges that wait for the export.
    pub queue_size: usize,
    /// Maximum number of exchanges of one export.
    pub batch_size: usize,
    /// How long an export may take, with its response.
    pub timeout: Duration,
}

/// Tracing of a configuration that has it.
pub struct Tracing {
    pub settings: TraceSettings,
    queue: Arc<TraceQueue>,
}

impl Tracing {
    pub fn new(settings: TraceSettings, queue: Arc<TraceQueue>) -> Self {
        Self { settings, queue }
    }

    /// The trace of an exchange that began at `now`. Takes the trace context out of the headers, so that nothing but an
    /// attempt passes on its own.
    pub fn begin(&self, headers: &mut HeaderMap, now: Instant) -> Box<ExchangeTrace> {
        let parent = CallerTraceContext::from_headers(headers);
        headers.remove(TRACEPARENT);
        headers.remove(TRACESTATE);
        let is_sampled = self.settings.sampling.decide(parent.as_ref(), now);
        Box::new(ExchangeTrace::new(parent, is_sampled))
    }

    /// Whether an exchange is exported; `callers_fault` is `None` if the exchange did not fail.
    pub fn exports(&self, trace: &ExchangeTrace, callers_fault: Option<bool>) -> bool {
        let errors = self.settings.sampling.errors;
        trace.is_sampled() || callers_fault.is_some_and(|fault| errors.takes(fault))
    }

    /// Queues an exchange for the export. Never waits: if the queue is full, the exchange is dropped and counted.
    pub fn export(&self, trace: ExchangeTrace, summary: ExchangeSummary) {
        let finished = FinishedTrace { trace, summary };
        let TraceSettings {
            queue_size,
            batch_size,
            ..
        } = self.settings;
        self.queue.push(finished, queue_size, batch_size);
    }
}

impl fmt::Debug for Tracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracing").finish_non_exhaustive()
    }
}
