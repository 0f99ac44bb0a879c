//! Spans of finished exchanges in the format of OTLP.

mod messages;

use super::attempt_trace::{AttemptTrace, ProviderAndCallerWaits};
use super::exchange_trace::{ExchangeSummary, ExchangeTrace, FinishedTrace};
use super::provider_name::provider_name;
use super::settings::TraceSettings;
use bytes::Bytes;
use messages::{
    AttributeValue, AttributeValueKind, ExportTraceRequest, ExportTraceResponse, ExportedSpan,
    InstrumentationScope, ResourceSpans, ScopeSpans, SpanAttribute, SpanStatus, TelemetryResource,
};
use prost::Message;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `Span.SpanKind`.
const SERVER: i32 = 2;
const CLIENT: i32 = 3;
/// `Status.StatusCode`.
const ERROR: i32 = 2;
/// `SpanFlags`: whether the parent is of another process is known, and it is.
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

/// What a collector refused of an export that it accepted otherwise.
pub(super) struct PartialRefusal {
    pub spans: u64,
    pub reason: String,
}

/// The request of an export.
pub(super) fn encode(finished: &[FinishedTrace], settings: &TraceSettings) -> Bytes {
    let spans = finished.iter().flat_map(export_spans).collect();
    let mut resource = AttributeList::default();
    resource.text("service.name", settings.service_name.clone());
    resource.text("service.version", env!("CARGO_PKG_VERSION"));
    for (name, value) in &settings.resource {
        resource.push(Bytes::from(name.clone()), text_value(value.clone()));
    }
    let request = ExportTraceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(TelemetryResource {
                attributes: resource.0,
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: Bytes::from_static(b"headgate"),
                    version: Bytes::from_static(env!("CARGO_PKG_VERSION").as_bytes()),
                }),
                spans,
            }],
        }],
    };
    Bytes::from(request.encode_to_vec())
}

/// What the response to an export refuses; `None` if that is nothing, or if the response is not of OTLP.
pub(super) fn partial_refusal(response: &[u8]) -> Option<PartialRefusal> {
    let partial = ExportTraceResponse::decode(response)
        .ok()?
        .partial_success?;
    let spans = u64::try_from(partial.rejected_spans).unwrap_or(0);
    let reason = String::from_utf8_lossy(&partial.error_message).into_owned();
    (spans > 0 || !reason.is_empty()).then_some(PartialRefusal { spans, reason })
}

/// The spans of an exchange, that of the server first.
fn export_spans(finished: &FinishedTrace) -> impl Iterator<Item = ExportedSpan> {
    let FinishedTrace { trace, summary } = finished;
    let last = trace.attempts.len().wrapping_sub(1);
    let attempts = trace.attempts.iter().enumerate();
    let attempts = attempts
        .map(move |(index, attempt)| attempt_span(trace, summary, attempt, index, index == last));
    std::iter::once(exchange_span(trace, summary)).chain(attempts)
}

/// The span of an exchange.
fn exchange_span(trace: &ExchangeTrace, summary: &ExchangeSummary) -> ExportedSpan {
    let mut attributes = AttributeList::default();
    add_request(&mut attributes, summary);
    add_response(&mut attributes, trace, summary);
    let last = trace.attempts.last();
    let host = last.map_or("", |last| &last.target.host);
    add_generation(&mut attributes, summary, host, summary.model.as_ref());
    add_usage(&mut attributes, summary);
    add_messages(&mut attributes, summary);
    ExportedSpan {
        trace_id: Bytes::copy_from_slice(trace.trace_id.bytes()),
        span_id: Bytes::copy_from_slice(trace.span_id.bytes()),
        trace_state: trace_state_bytes(trace),
        parent_span_id: trace
            .parent
            .map_or_else(Bytes::new, |parent| Bytes::copy_from_slice(parent.bytes())),
        flags: u32::from(trace.flags.bits())
            | HAS_IS_REMOTE
            | if trace.parent.is_some() { IS_REMOTE } else { 0 },
        name: format!("{} {}", summary.method, summary.route_path).into(),
        kind: SERVER,
        start_time_unix_nano: unix_nanos(trace.began, Duration::ZERO),
        end_time_unix_nano: unix_nanos(trace.began, summary.total),
        attributes: attributes.0,
        status: summary.is_failed.then(|| SpanStatus {
            message: Bytes::from(summary.error.clone().unwrap_or_default()),
            code: ERROR,
        }),
    }
}

/// The span of an attempt.
fn attempt_span(
    trace: &ExchangeTrace,
    summary: &ExchangeSummary,
    attempt: &AttemptTrace,
    index: usize,
    is_last: bool,
) -> ExportedSpan {
    let target = &attempt.target;
    let settlement = match is_last {
        true => summary.settlement,
        false => "failed_over",
    };
    // What interrupted an attempt is what ended the exchange.
    let outcome = attempt.outcome.unwrap_or("interrupted");
    let is_error = !matches!(outcome, "success" | "interrupted");
    let mut attributes = AttributeList::default();
    attributes.copy("server.address", &target.host);
    attributes.number("server.port", target.port.into());
    if let Some(status) = attempt.status {
        attributes.number("http.response.status_code", status.into());
    }
    let resends = resends_until(&trace.attempts[..=index]);
    if resends > 0 {
        attributes.number("http.request.resend_count", resends);
    }
    if is_error {
        attributes.text("error.type", outcome);
    }
    add_generation(
        &mut attributes,
        summary,
        &target.host,
        target.model.as_ref(),
    );
    attributes.copy("headgate.channel", &target.channel);
    attributes.number("headgate.attempt", index as i64 + 1);
    if let Some(credential) = target.credential {
        attributes.number("headgate.credential", credential as i64 + 1);
    }
    attributes.text("headgate.outcome", outcome);
    attributes.text("headgate.settlement", settlement);
    let ended = attempt.ended.unwrap_or(summary.total);
    add_waits(
        &mut attributes,
        attempt.waits,
        ended.saturating_sub(attempt.began),
    );
    attributes.text("headgate.longest_wait.side", longest_wait(attempt.waits));
    if let Some(id) = &attempt.upstream_request_id {
        attributes.text("headgate.upstream_request_id", id.clone());
    }
    ExportedSpan {
        trace_id: Bytes::copy_from_slice(trace.trace_id.bytes()),
        span_id: Bytes::copy_from_slice(attempt.span_id.bytes()),
        trace_state: trace_state_bytes(trace),
        parent_span_id: Bytes::copy_from_slice(trace.span_id.bytes()),
        flags: u32::from(trace.flags.bits()) | HAS_IS_REMOTE,
        name: attempt_name(summary, target.model.as_deref()).into(),
        kind: CLIENT,
        start_time_unix_nano: unix_nanos(trace.began, attempt.began),
        end_time_unix_nano: unix_nanos(trace.began, ended),
        attributes: attributes.0,
        status: is_error.then(|| SpanStatus {
            message: Bytes::from_static(outcome.as_bytes()),
            code: ERROR,
        }),
    }
}

fn add_request(attributes: &mut AttributeList, summary: &ExchangeSummary) {
    attributes.text("http.request.method", summary.method.to_string());
    attributes.text("http.route", summary.route_path.clone());
    attributes.text("url.path", summary.path.clone());
    attributes.text("url.scheme", summary.scheme);
    if let Some(client) = &summary.client {
        attributes.text("client.address", client.clone());
    }
    if let Some(agent) = &summary.user_agent {
        attributes.text("user_agent.original", agent.clone());
    }
    attributes.copy("headgate.request_id", &summary.request_id);
    attributes.copy("headgate.route", &summary.route);
    attributes.copy("headgate.revision", &summary.revision);
    if let Some(caller) = &summary.caller {
        attributes.copy("headgate.caller", caller);
    }
    if let Some(run) = &summary.run {
        attributes.copy("headgate.run", run);
    }
    if let Some(protocol) = summary.protocol {
        attributes.text("headgate.protocol", protocol.name());
    }
    if let Some(translation) = &summary.translation {
        attributes.text("headgate.translation", translation.clone());
    }
}

fn add_response(attributes: &mut AttributeList, trace: &ExchangeTrace, summary: &ExchangeSummary) {
    if let Some(status) = summary.status {
        attributes.number("http.response.status_code", status.into());
    }
    if let Some(error) = &summary.error {
        attributes.text("error.type", error.clone());
    }
    attributes.text("headgate.settlement", summary.settlement);
    attributes.flag("headgate.streamed", summary.is_streamed);
    attributes.number("headgate.attempts", trace.attempts.len() as i64);
    if let Some(first_byte) = summary.first_byte {
        attributes.seconds("headgate.first_byte", first_byte);
    }
    add_waits(attributes, summary.waits, summary.total);
    let sides = [UPSTREAM, CLIENT_SIDE, GATEWAY];
    let longest = summary.longest_waits.iter().zip(sides);
    if let Some((time, side)) = longest.max_by_key(|(time, _)| **time) {
        attributes.text("headgate.longest_wait.side", side);
        attributes.seconds("headgate.longest_wait", *time);
    }
}

/// Attributes of the conventions for generative AI, on both kinds of spans.
fn add_generation(
    attributes: &mut AttributeList,
    summary: &ExchangeSummary,
    host: &str,
    model: Option<&Arc<str>>,
) {
    let Some(protocol) = summary.protocol else {
        return;
    };
    let names = protocol.descriptor().traces;
    attributes.text("gen_ai.operation.name", names.operation);
    if let Some(provider) = provider_name(host, Some(protocol)) {
        attributes.text("gen_ai.provider.name", provider);
    }
    if let Some(model) = model {
        attributes.copy("gen_ai.request.model", model);
    }
    if let Some(output) = names.output_type {
        attributes.text("gen_ai.output.type", output);
    }
}

fn add_usage(attributes: &mut AttributeList, summary: &ExchangeSummary) {
    if let Some(id) = &summary.response_id {
        attributes.text("gen_ai.response.id", id.clone());
    }
    let Some(usage) = &summary.usage else {
        return;
    };
    for (name, count) in [
        ("gen_ai.usage.input_tokens", usage.input_with_cache()),
        ("gen_ai.usage.output_tokens", usage.output_tokens),
        (
            "gen_ai.usage.cache_read.input_tokens",
            usage.cached_input_tokens,
        ),
        (
            "gen_ai.usage.cache_creation.input_tokens",
            usage.cache_write_tokens,
        ),
        (
            "gen_ai.usage.reasoning.output_tokens",
            usage.reasoning_tokens,
        ),
    ] {
        if let Some(count) = count {
            attributes.number(name, i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}

/// The messages of the request and its response, if the route exports them.
fn add_messages(attributes: &mut AttributeList, summary: &ExchangeSummary) {
    let Some(messages) = &summary.messages else {
        return;
    };
    for (name, text) in messages.attributes() {
        attributes.text(name, text.json.clone());
    }
    if messages.attributes().any(|(_, text)| text.is_truncated) {
        attributes.flag("headgate.messages.truncated", true);
    }
}

/// The times add up to that of the span.
fn add_waits(attributes: &mut AttributeList, waits: ProviderAndCallerWaits, total: Duration) {
    let gateway = total.saturating_sub(waits.upstream + waits.client);
    attributes.seconds("headgate.wait.upstream", waits.upstream);
    attributes.seconds("headgate.wait.client", waits.client);
    attributes.seconds("headgate.wait.gateway", gateway);
}

const UPSTREAM: &str = "upstream";
const CLIENT_SIDE: &str = "client";
const GATEWAY: &str = "gateway";

/// The side that an attempt waited for the longest.
fn longest_wait(waits: ProviderAndCallerWaits) -> &'static str {
    match waits.client > waits.upstream {
        true => CLIENT_SIDE,
        false => UPSTREAM,
    }
}

/// How often the request had been sent before it was sent for the last time in these attempts.
fn resends_until(attempts: &[AttemptTrace]) -> i64 {
    let repeated: i64 = attempts.iter().map(|one| i64::from(one.resends)).sum();
    repeated + attempts.len() as i64 - 1
}

/// `gen_ai.operation.name` and the model, as the conventions name a span; without a protocol the request's.
fn attempt_name(summary: &ExchangeSummary, model: Option<&str>) -> String {
    let protocol = summary.protocol;
    let operation = protocol.map(|protocol| protocol.descriptor().traces.operation);
    match (operation, model) {
        (Some(operation), Some(model)) => format!("{operation} {model}"),
        (Some(operation), None) => operation.to_owned(),
        (None, _) => summary.method.to_string(),
    }
}

fn trace_state_bytes(trace: &ExchangeTrace) -> Bytes {
    let state = trace.state.as_ref();
    state.map_or_else(Bytes::new, |state| Bytes::copy_from_slice(state.as_bytes()))
}

fn unix_nanos(began: SystemTime, after: Duration) -> u64 {
    let since = began.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from((since + after).as_nanos()).unwrap_or(u64::MAX)
}

/// Attributes of a span or a resource.
#[derive(Default)]
struct AttributeList(Vec<SpanAttribute>);

impl AttributeList {
    fn text(&mut self, name: &'static str, value: impl Into<Bytes>) {
        self.push(Bytes::from_static(name.as_bytes()), text_value(value));
    }

    fn copy(&mut self, name: &'static str, value: &str) {
        self.text(name, Bytes::copy_from_slice(value.as_bytes()));
    }

    fn number(&mut self, name: &'static str, value: i64) {
        self.value(name, AttributeValueKind::Int(value));
    }

    fn flag(&mut self, name: &'static str, value: bool) {
        self.value(name, AttributeValueKind::Bool(value));
    }

    fn seconds(&mut self, name: &'static str, value: Duration) {
        self.value(name, AttributeValueKind::Double(value.as_secs_f64()));
    }

    fn value(&mut self, name: &'static str, value: AttributeValueKind) {
        self.push(Bytes::from_static(name.as_bytes()), value);
    }

    fn push(&mut self, key: Bytes, value: AttributeValueKind) {
        let value = Some(AttributeValue { value: Some(value) });
        self.0.push(SpanAttribute { key, value });
    }
}

fn text_value(value: impl Into<Bytes>) -> AttributeValueKind {
    AttributeValueKind::String(value.into())
}
