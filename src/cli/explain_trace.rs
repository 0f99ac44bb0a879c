//! The trace that `headgate explain` prints: the caller's, or a new one.

use headgate_tracing::{ExchangeTrace, TRACEPARENT};
use http::HeaderMap;

/// Prints a line if the configuration has `tracing`; `sent` are the headers of the caller.
pub(super) fn print_trace(trace: Option<&ExchangeTrace>, sent: &HeaderMap) {
    let Some(trace) = trace else {
        return;
    };
    let origin = match (trace.parent, sent.contains_key(TRACEPARENT)) {
        (Some(_), _) => "continues that of the caller",
        (None, true) => "new, since the caller's traceparent is invalid",
        (None, false) => "new",
    };
    let sampled = match trace.is_sampled() {
        true => "sampled",
        false => "not sampled",
    };
    println!("trace     {} {origin}, {sampled}", trace.trace_id);
}
