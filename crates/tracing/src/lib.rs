//! Traces of exchanges: W3C trace context, sampling, what becomes a span, and the export to an OpenTelemetry collector.
//!
//! An exchange collects few data while it runs. When it has ended, they are queued, and the exporter makes spans of them
//! in the background. The queue outlives snapshots, so that no reload loses what waits in it.

mod attempt_trace;
mod content;
mod context;
mod exchange_trace;
#[cfg(feature = "otlp")]
mod exporter;
mod ids;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "otlp")]
mod provider_name;
mod queue;
mod sampling;
mod settings;

pub use attempt_trace::{
    AttemptTarget, AttemptTrace, ProviderAndCallerWaits, TracedAttemptOutcome,
};
pub use content::{ExchangeMessages, MessageTracePolicy, ResponseMessageRecorder};
pub use context::{CallerTraceContext, TRACEPARENT, TRACESTATE};
pub use exchange_trace::{ExchangeSummary, ExchangeTrace, FinishedTrace};
#[cfg(feature = "otlp")]
pub use exporter::TraceExporter;
pub use ids::{SpanId, TraceId};
pub use queue::{LastSpanLoss, SpanExportOutcome, TraceQueue};
pub use sampling::{ErrorSampling, ParentSampling, TraceSampling};
pub use settings::{TraceSettings, Tracing};
