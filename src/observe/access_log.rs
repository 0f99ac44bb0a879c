//! The access log: one JSON line per exchange.

use super::bounded::{FIELD_BYTES_MAX, SHORT_BYTES_MAX, bounded, cleaned};
use super::line_writer::{LineWriter, LogSink};
use super::timestamp::rfc3339;
use super::token_path::without_token;
use super::wait_times::WaitTimes;
use crate::callout::CallOutcome;
use crate::catalog::client_address::DownstreamClient;
use crate::filter::stream_info::CalloutSummary;
use crate::protocol::fault::Fault;
use crate::protocol::usage::TokenUsage;
use http::HeaderValue;
use serde::Serialize;
use std::borrow::Cow;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// Writes access log lines, or discards them if the log is off.
pub struct AccessLog {
    lines: Option<LineWriter>,
}

/// The data of one line. No field holds a secret.
pub struct AccessLogEntry<'a> {
    pub id: &'a str,
    pub revision: &'a str,
    pub client: Option<DownstreamClient>,
    pub user_agent: Option<&'a HeaderValue>,
    pub caller: Option<&'a str>,
    pub route: &'a str,
    pub protocol: Option<&'a str>,
    pub method: &'a str,
    /// Without the query, which may contain credentials.
    pub path: &'a str,
    pub model: Option<&'a str>,
    pub channel: Option<&'a str>,
    pub channel_model: Option<&'a str>,
    pub status: u16,
    pub settlement: &'a str,
    pub streamed: bool,
    pub attempts: u32,
    /// Number of the channel's credential, counted from 1.
    pub credential: Option<usize>,
    /// When the response for the caller was chosen.
    pub committed: Option<Duration>,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub first_byte: Option<Duration>,
    pub total: Duration,
    pub wait_times: Option<WaitTimes>,
    pub usage: Option<&'a TokenUsage>,
    pub response_id: Option<&'a str>,
    /// The provider's request id in the last attempt.
    pub upstream_request_id: Option<&'a HeaderValue>,
    /// What became of the caller's idempotency key.
    pub idempotency: Option<&'static str>,
    /// What the response cache did.
    pub cache: Option<&'static str>,
    pub callouts: CalloutSummary,
    pub fault: Option<&'a Fault>,
}

/// A line in its written form: times are numbers, absent fields are omitted, and texts from callers and providers are
/// bounded.
#[derive(Serialize)]
struct AccessLogJson<'a> {
    /// The end of the exchange, by RFC 3339 to the millisecond.
    time: String,
    id: &'a str,
    revision: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<&'a str>,
    route: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'a str>,
    method: Cow<'a, str>,
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel_model: Option<&'a str>,
    status: u16,
    settlement: &'a str,
    streamed: bool,
    attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    credential: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    committed_ms: Option<f64>,
    bytes_in: u64,
    bytes_out: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_byte_ms: Option<f64>,
    total_ms: f64,
    #[serde(flatten)]
    wait_times: Option<WaitTimesJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_write_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_request_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<&'static str>,
    callouts: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    callout_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    callout_outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_detail: Option<Cow<'a, str>>,
}

/// Wait times by side; the first three add up to the total time.
#[derive(Serialize)]
struct WaitTimesJson {
    upstream_ms: f64,
    client_ms: f64,
    gateway_ms: f64,
    upstream_longest_wait_ms: f64,
    client_longest_wait_ms: f64,
    gateway_longest_wait_ms: f64,
}

impl AccessLog {
    /// Writes to `sink`, or nowhere.
    pub fn new(sink: Option<LogSink>) -> Self {
        Self {
            lines: sink.map(LineWriter::start),
        }
    }

    /// Writes a line.
    pub fn write(&self, line: &AccessLogEntry<'_>) {
        if let Some(lines) = &self.lines {
            lines.append(|waiting| {
                serde_json::to_writer(&mut *waiting, &AccessLogJson::from(line))
                    .expect("a line of plain fields is JSON");
                waiting.push(b'\n');
            });
        }
    }

    /// Writes all buffered lines; called when the process ends.
    pub fn flush(&self) {
        if let Some(lines) = &self.lines {
            lines.flush();
        }
    }

    /// Number of lines that were dropped because the reader was too slow.
    pub fn dropped(&self) -> u64 {
        self.lines.as_ref().map_or(0, LineWriter::dropped)
    }
}

impl<'a> From<&AccessLogEntry<'a>> for AccessLogJson<'a> {
    fn from(line: &AccessLogEntry<'a>) -> Self {
        let field = |text: &'a str| cleaned(text.as_bytes(), FIELD_BYTES_MAX);
        let short = |bytes: &'a [u8]| cleaned(bytes, SHORT_BYTES_MAX);
        let asked = Some(line.callouts).filter(|callouts| callouts.calls > 0);
        let tokens = |count: fn(&TokenUsage) -> Option<u64>| line.usage.and_then(count);
        Self {
            time: rfc3339(SystemTime::now()),
            id: line.id,
            revision: line.revision,
            client_address: line.client.map(|client| client.address),
            client_port: line.client.and_then(|client| client.port),
            user_agent: line.user_agent.map(|value| short(value.as_bytes())),
            caller: line.caller,
            route: line.route,
            protocol: line.protocol,
            method: bounded(line.method, SHORT_BYTES_MAX),
            path: field(without_token(line.path)),
            model: line.model,
            channel: line.channel,
            channel_model: line.channel_model,
            status: line.status,
            settlement: line.settlement,
            streamed: line.streamed,
            attempts: line.attempts,
            credential: line.credential,
            committed_ms: line.committed.map(milliseconds),
            bytes_in: line.bytes_in,
            bytes_out: line.bytes_out,
            first_byte_ms: line.first_byte.map(milliseconds),
            total_ms: milliseconds(line.total),
            wait_times: line.wait_times.map(WaitTimesJson::from),
            input_tokens: tokens(|usage| usage.input_tokens),
            output_tokens: tokens(|usage| usage.output_tokens),
            cached_input_tokens: tokens(|usage| usage.cached_input_tokens),
            cache_write_tokens: tokens(|usage| usage.cache_write_tokens),
            reasoning_tokens: tokens(|usage| usage.reasoning_tokens),
            total_tokens: tokens(|usage| usage.total_tokens),
            response_id: line.response_id.map(|id| bounded(id, SHORT_BYTES_MAX)),
            upstream_request_id: line
                .upstream_request_id
                .map(|value| short(value.as_bytes())),
            idempotency: line.idempotency,
            cache: line.cache,
            callouts: asked.map(|callouts| callouts.calls),
            callout_ms: asked.map(|callouts| milliseconds(callouts.total())),
            callout_outcome: line.callouts.outcome.map(CallOutcome::name),
            error_code: line.fault.map(|fault| fault.kind.code()),
            error_message: line.fault.map(|fault| field(&fault.message)),
            error_detail: line
                .fault
                .and_then(|fault| fault.detail.as_deref().map(field)),
        }
    }
}

impl From<WaitTimes> for WaitTimesJson {
    fn from(spent: WaitTimes) -> Self {
        let WaitTimes {
            upstream,
            client,
            gateway,
        } = spent;
        Self {
            upstream_ms: milliseconds(upstream.total),
            client_ms: milliseconds(client.total),
            gateway_ms: milliseconds(gateway.total),
            upstream_longest_wait_ms: milliseconds(upstream.longest),
            client_longest_wait_ms: milliseconds(client.longest),
            gateway_longest_wait_ms: milliseconds(gateway.longest),
        }
    }
}

/// Milliseconds, rounded down to microseconds.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_micros() as f64) / 1000.0
}
