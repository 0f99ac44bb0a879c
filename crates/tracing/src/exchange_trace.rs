//! What becomes the spans of an exchange: collected while it runs, and completed at its end.

use super::attempt_trace::{
    AttemptTarget, AttemptTrace, ProviderAndCallerWaits, TracedAttemptOutcome,
};
use super::content::ExchangeMessages;
use super::context::{CallerTraceContext, TRACEPARENT, TRACESTATE, TraceFlags, traceparent};
use super::ids::{SpanId, TraceId};
use headgate_core::request_id::RequestId;
use headgate_protocol::Protocol;
use headgate_protocol::usage::TokenUsage;
use http::{HeaderMap, HeaderValue, Method};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The trace of an exchange that runs. It has no texts of the caller and none of the provider; what a route exports of
/// them is added at the end.
#[derive(Debug)]
pub struct ExchangeTrace {
    pub trace_id: TraceId,
    pub span_id: SpanId,
    /// The caller's span.
    pub parent: Option<SpanId>,
    /// Flags that are passed on to providers.
    pub flags: TraceFlags,
    /// The `tracestate` that is passed on.
    pub state: Option<HeaderValue>,
    /// When the exchange began.
    pub began: SystemTime,
    pub attempts: Vec<AttemptTrace>,
}

/// What is known of an exchange at its end. Texts of callers and providers are bounded.
#[derive(Debug)]
pub struct ExchangeSummary {
    pub request_id: RequestId,
    pub method: Method,
    /// The path of the route, with its parameters as in `/v1/responses/{id}`.
    pub route_path: String,
    pub path: String,
    pub scheme: &'static str,
    pub route: Arc<str>,
    pub protocol: Option<Protocol>,
    pub caller: Option<Arc<str>>,
    /// The run that the request belongs to.
    pub run: Option<Arc<str>>,
    pub model: Option<Arc<str>>,
    /// The address of the client.
    pub client: Option<String>,
    pub user_agent: Option<String>,
    /// `None` if no status was sent.
    pub status: Option<u16>,
    pub settlement: &'static str,
    pub is_streamed: bool,
    /// The gateway's error code, or the status of the provider's error; `None` for a success.
    pub error: Option<String>,
    /// Whether the span has the status of an error: it failed otherwise than by what the caller sent.
    pub is_failed: bool,
    pub first_byte: Option<Duration>,
    pub total: Duration,
    pub usage: Option<TokenUsage>,
    pub response_id: Option<String>,
    pub waits: ProviderAndCallerWaits,
    /// The longest single wait for the provider, the caller and the gateway.
    pub longest_waits: [Duration; 3],
    /// The revision of the configuration.
    pub revision: Arc<str>,
    /// What was translated between protocols, and what that lost.
    pub translation: Option<String>,
    /// What the route exports of the messages.
    pub messages: Option<Box<ExchangeMessages>>,
}

/// An exchange that has ended, as it is queued for the export.
#[derive(Debug)]
pub struct FinishedTrace {
    pub trace: ExchangeTrace,
    pub summary: ExchangeSummary,
}

impl ExchangeTrace {
    /// A trace that begins now, or continues that of the caller.
    pub(super) fn new(parent: Option<CallerTraceContext>, is_sampled: bool) -> Self {
        let (trace_id, parent, flags, state) = match parent {
            Some(parent) => {
                let CallerTraceContext {
                    trace_id,
                    span_id,
                    flags,
                    state,
                } = parent;
                (trace_id, Some(span_id), flags, state)
            }
            None => (TraceId::random(), None, TraceFlags::for_new_trace(), None),
        };
        Self {
            trace_id,
            span_id: SpanId::random(),
            parent,
            flags: flags.with_sampled(is_sampled),
            state,
            began: SystemTime::now(),
            attempts: Vec::new(),
        }
    }

    pub fn is_sampled(&self) -> bool {
        self.flags.is_sampled()
    }

    /// Begins an attempt; `waits` is how long the exchange has waited so far.
    pub fn begin_attempt(
        &mut self,
        target: AttemptTarget,
        at: Duration,
        waits: ProviderAndCallerWaits,
    ) {
        self.attempts.push(AttemptTrace::new(target, at, waits));
    }

    /// Sets the trace context of the current attempt in a request to its provider.
    pub fn set_headers(&self, headers: &mut HeaderMap) {
        let span = self
            .attempts
            .last()
            .map_or(self.span_id, |last| last.span_id);
        let parent = traceparent(self.trace_id, span, self.flags);
        headers.insert(TRACEPARENT, parent);
        if let Some(state) = &self.state {
            headers.insert(TRACESTATE, state.clone());
        }
    }

    /// Notes how often the current attempt was sent again on another connection.
    pub fn note_resends(&mut self, resends: u8) {
        if let Some(last) = self.attempts.last_mut() {
            last.resends = resends;
        }
    }

    /// Notes the status of the response to the current attempt.
    pub fn note_status(&mut self, status: u16) {
        if let Some(last) = self.attempts.last_mut() {
            last.status = Some(status);
        }
    }

    /// Notes how the current attempt was judged.
    pub fn note_outcome(&mut self, end: TracedAttemptOutcome) {
        if let Some(last) = self.attempts.last_mut() {
            last.outcome = Some(end.outcome);
            last.status = end.status.or(last.status);
        }
    }

    /// Notes the error that ended the current attempt, if nothing else did.
    pub fn note_fault(&mut self, code: &'static str) {
        if let Some(last) = self.attempts.last_mut() {
            last.outcome.get_or_insert(code);
        }
    }

    /// Whether the current attempt has not ended.
    pub fn has_open_attempt(&self) -> bool {
        let last = self.attempts.last();
        last.is_some_and(|last| last.ended.is_none())
    }

    /// Notes the provider's id of the request of the current attempt.
    pub fn note_upstream_id(&mut self, id: Option<String>) {
        if let Some(last) = self.attempts.last_mut() {
            last.upstream_request_id = id;
        }
    }

    /// Ends the current attempt, unless it has ended before.
    pub fn end_attempt(&mut self, at: Duration, waits: ProviderAndCallerWaits) {
        if let Some(last) = self.attempts.last_mut() {
            last.end(at, waits);
        }
    }
}
