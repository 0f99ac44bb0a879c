//! The access log: one JSON line per exchange.

use super::line_writer::{LineWriter, Sink};
use super::time_spent::TimeSpent;
use crate::protocol::fault::Fault;
use crate::protocol::redact::redact;
use crate::protocol::usage::Usage;
use serde::Serialize;
use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Takes lines, or throws them away where nobody wants them.
pub struct AccessLog {
    lines: Option<LineWriter>,
}

/// One line. Secrets have no field here.
pub struct Line<'a> {
    pub id: &'a str,
    pub revision: &'a str,
    pub caller: Option<&'a str>,
    pub route: &'a str,
    pub protocol: Option<&'a str>,
    pub method: &'a str,
    /// Without the query, which may hold what callers should not have put there.
    pub path: &'a str,
    pub model: Option<&'a str>,
    pub channel: Option<&'a str>,
    pub channel_model: Option<&'a str>,
    pub status: u16,
    pub settlement: &'a str,
    pub streamed: bool,
    pub attempts: u32,
    /// Which of the channel's keys was used, from 1.
    pub credential: Option<usize>,
    /// When it was decided whose answer the caller gets.
    pub committed: Option<Duration>,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub first_byte: Option<Duration>,
    pub total: Duration,
    pub time_spent: Option<TimeSpent>,
    pub usage: Option<&'a Usage>,
    pub response_id: Option<&'a str>,
    pub fault: Option<&'a Fault>,
}

/// A line as it is written: times as numbers, absent things left out.
#[derive(Serialize)]
struct WrittenLine<'a> {
    /// Unix time in seconds, to the millisecond.
    time: f64,
    id: &'a str,
    revision: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<&'a str>,
    route: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'a str>,
    method: &'a str,
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
    time_spent: Option<WrittenTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_detail: Option<String>,
}

/// Whom the time was spent with; the first three add up to the whole.
#[derive(Serialize)]
struct WrittenTime {
    upstream_ms: f64,
    client_ms: f64,
    gateway_ms: f64,
    upstream_silence_ms: f64,
    client_silence_ms: f64,
    gateway_silence_ms: f64,
}

impl AccessLog {
    /// Writes to `sink`, or nowhere.
    pub fn new(sink: Option<Sink>) -> Self {
        Self {
            lines: sink.map(LineWriter::start),
        }
    }

    /// Adds a line.
    pub fn write(&self, line: &Line<'_>) {
        if let Some(lines) = &self.lines {
            lines.append(|waiting| {
                serde_json::to_writer(&mut *waiting, &WrittenLine::from(line))
                    .expect("a line of plain fields is JSON");
                waiting.push(b'\n');
            });
        }
    }

    /// Writes what waits; for the end of the process.
    pub fn flush(&self) {
        if let Some(lines) = &self.lines {
            lines.flush();
        }
    }

    /// Lines lost so far because nobody took them.
    pub fn dropped(&self) -> u64 {
        self.lines.as_ref().map_or(0, LineWriter::dropped)
    }
}

impl<'a> From<&Line<'a>> for WrittenLine<'a> {
    fn from(line: &Line<'a>) -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            time: (now.as_millis() as f64) / 1000.0,
            id: line.id,
            revision: line.revision,
            caller: line.caller,
            route: line.route,
            protocol: line.protocol,
            method: line.method,
            path: match line.fault {
                Some(_) => Cow::Owned(redacted(line.path)),
                None => Cow::Borrowed(line.path),
            },
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
            time_spent: line.time_spent.map(WrittenTime::from),
            input_tokens: line.usage.and_then(|usage| usage.input_tokens),
            output_tokens: line.usage.and_then(|usage| usage.output_tokens),
            cached_input_tokens: line.usage.and_then(|usage| usage.cached_input_tokens),
            response_id: line.response_id,
            error: line.fault.map(|fault| fault.kind.code()),
            error_message: line.fault.map(|fault| redacted(&fault.message)),
            error_detail: line
                .fault
                .and_then(|fault| fault.detail.as_deref().map(redacted)),
        }
    }
}

impl From<TimeSpent> for WrittenTime {
    fn from(spent: TimeSpent) -> Self {
        let TimeSpent {
            upstream,
            client,
            gateway,
        } = spent;
        Self {
            upstream_ms: milliseconds(upstream.total),
            client_ms: milliseconds(client.total),
            gateway_ms: milliseconds(gateway.total),
            upstream_silence_ms: milliseconds(upstream.longest),
            client_silence_ms: milliseconds(client.longest),
            gateway_silence_ms: milliseconds(gateway.longest),
        }
    }
}

/// Words that quote a caller or a provider may quote a key that stood in the wrong place.
fn redacted(words: &str) -> String {
    String::from_utf8_lossy(&redact(words.as_bytes(), &[])).into_owned()
}

/// With three digits behind the point: microseconds are as fine as anybody reads them.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_micros() as f64) / 1000.0
}
