//! The access log: one JSON line per exchange.

use super::bounded::{FIELD_BYTES_MAX, SHORT_BYTES_MAX, bounded, cleaned};
use super::json_line::{EncodedFieldName, JsonLineWriter, field_name};
use super::line_writer::{BackgroundLineWriter, LogSink};
use super::recent_requests::RecentRequests;
use super::token_path::without_token;
use super::wait_times::ExchangeWaitTimes;
use headgate_core::callout::CallOutcome;
use headgate_core::catalog::client_address::DownstreamClient;
use headgate_core::catalog::price::Cost;
use headgate_core::filter::stream_info::CalloutSummary;
use headgate_protocol::fault::Fault;
use headgate_protocol::usage::TokenUsage;
use headgate_tracing::TraceId;
use http::HeaderValue;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Writes access log lines to the log, unless it is off, and keeps the last ones.
pub struct AccessLog {
    lines: Option<BackgroundLineWriter>,
    pub recent: RecentRequests,
}

/// An attempt without a good response.
pub struct FailedAttempt {
    pub channel: Arc<str>,
    pub outcome: &'static str,
    /// The status of the provider's response, if there was one.
    pub status: Option<u16>,
    /// Time from the start of the request to the end of the attempt.
    pub after: Duration,
}

/// The data of one line. No field holds a secret.
#[derive(Default)]
pub struct AccessLogEntry<'a> {
    pub id: &'a str,
    pub revision: &'a str,
    pub client: Option<DownstreamClient>,
    pub user_agent: Option<&'a HeaderValue>,
    pub caller: Option<&'a str>,
    /// The label of the caller's key.
    pub key: Option<&'a str>,
    /// The run that the request belongs to.
    pub run: Option<&'a str>,
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
    /// Whether the request is a message of a WebSocket.
    pub is_over_websocket: bool,
    pub attempts: u32,
    pub failed_attempts: &'a [FailedAttempt],
    /// Number of the channel's credential, counted from 1.
    pub credential: Option<usize>,
    /// When the response for the caller was chosen.
    pub committed: Option<Duration>,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub first_byte: Option<Duration>,
    pub total: Duration,
    pub wait_times: Option<ExchangeWaitTimes>,
    pub usage: Option<&'a TokenUsage>,
    /// The cost, and its currency.
    pub cost: Option<(Cost, &'a str)>,
    /// What the exchange has cost of its caller's budgets, in billionths.
    pub budget_charge: Option<u64>,
    pub response_id: Option<&'a str>,
    /// The provider's request id in the last attempt.
    pub upstream_request_id: Option<&'a HeaderValue>,
    /// Whether the own channel of the request's session served it, or why another one.
    pub affinity: Option<&'static str>,
    /// What became of the caller's idempotency key.
    pub idempotency: Option<&'static str>,
    /// The model that the request named and the cause, if another model stood in.
    pub fallback: Option<(&'a str, &'static str)>,
    /// The protocols that were translated, and what the request and its response lost by that.
    pub translation: Option<&'a str>,
    /// What the response cache did.
    pub cache: Option<&'static str>,
    pub callouts: CalloutSummary,
    /// The trace, and whether it is exported.
    pub trace: Option<(TraceId, bool)>,
    pub fault: Option<&'a Fault>,
}

impl AccessLog {
    /// Writes to `sink`, or nowhere.
    pub fn new(sink: Option<LogSink>) -> Self {
        Self {
            lines: sink.map(BackgroundLineWriter::start),
            recent: RecentRequests::default(),
        }
    }

    /// Writes a line.
    pub fn write(&self, line: &AccessLogEntry<'_>) {
        let mut text = self.recent.buffer();
        line.write(&mut text);
        if let Some(lines) = &self.lines {
            lines.append(|waiting| waiting.extend_from_slice(&text));
        }
        self.recent.push(text);
    }

    /// Writes all buffered lines; called when the process ends.
    pub fn flush(&self) {
        if let Some(lines) = &self.lines {
            lines.flush();
        }
    }

    /// Number of lines that were dropped because the reader was too slow.
    pub fn dropped(&self) -> u64 {
        self.lines.as_ref().map_or(0, BackgroundLineWriter::dropped)
    }
}

impl AccessLogEntry<'_> {
    /// The line.
    pub fn line(&self) -> Vec<u8> {
        let mut line = Vec::new();
        self.write(&mut line);
        line
    }

    /// Appends the line. Absent fields are omitted, and texts from callers and providers are bounded.
    fn write(&self, out: &mut Vec<u8>) {
        let mut line = JsonLineWriter::begin(out);
        // The end of the exchange.
        line.time(field_name!("time"), SystemTime::now());
        self.write_request(&mut line);
        self.write_response(&mut line);
        self.write_times(&mut line);
        self.write_usage(&mut line);
        self.write_cost(&mut line);
        if let Some(nanos) = self.budget_charge {
            line.billionths(field_name!("budget_charge"), nanos);
        }
        self.write_ids(&mut line);
        self.write_callouts(&mut line);
        self.write_fault(&mut line);
        line.end();
    }

    fn write_request(&self, line: &mut JsonLineWriter<'_>) {
        line.plain_text(field_name!("id"), self.id);
        line.plain_text(field_name!("revision"), self.revision);
        if let Some(client) = self.client {
            line.address(field_name!("client_address"), client.address);
            if let Some(port) = client.port {
                line.number(field_name!("client_port"), port.into());
            }
        }
        if let Some(value) = self.user_agent {
            line.text(
                field_name!("user_agent"),
                &cleaned(value.as_bytes(), SHORT_BYTES_MAX),
            );
        }
        write_text(line, field_name!("caller"), self.caller);
        write_text(line, field_name!("key"), self.key);
        write_text(line, field_name!("run"), self.run);
        line.text(field_name!("route"), self.route);
        if let Some(protocol) = self.protocol {
            line.plain_text(field_name!("protocol"), protocol);
        }
        line.text(
            field_name!("method"),
            &bounded(self.method, SHORT_BYTES_MAX),
        );
        line.text(field_name!("path"), &field(without_token(self.path)));
        write_text(line, field_name!("model"), self.model);
        write_text(line, field_name!("channel"), self.channel);
        write_text(line, field_name!("channel_model"), self.channel_model);
        write_text(line, field_name!("affinity"), self.affinity);
    }

    fn write_response(&self, line: &mut JsonLineWriter<'_>) {
        line.number(field_name!("status"), self.status.into());
        line.plain_text(field_name!("settlement"), self.settlement);
        line.boolean(field_name!("streamed"), self.streamed);
        if self.is_over_websocket {
            line.boolean(field_name!("websocket"), true);
        }
        line.number(field_name!("attempts"), self.attempts.into());
        if !self.failed_attempts.is_empty() {
            line.text(
                field_name!("failed_attempts"),
                &failed_attempts(self.failed_attempts),
            );
        }
        if let Some(credential) = self.credential {
            line.number(field_name!("credential"), credential as u64);
        }
    }

    /// The totals of the three sides add up to the total time.
    fn write_times(&self, line: &mut JsonLineWriter<'_>) {
        write_milliseconds(line, field_name!("committed_ms"), self.committed);
        line.number(field_name!("bytes_in"), self.bytes_in);
        line.number(field_name!("bytes_out"), self.bytes_out);
        write_milliseconds(line, field_name!("first_byte_ms"), self.first_byte);
        line.milliseconds(field_name!("total_ms"), self.total);
        if let Some(ExchangeWaitTimes {
            upstream,
            client,
            gateway,
        }) = self.wait_times
        {
            line.milliseconds(field_name!("upstream_ms"), upstream.total);
            line.milliseconds(field_name!("client_ms"), client.total);
            line.milliseconds(field_name!("gateway_ms"), gateway.total);
            line.milliseconds(field_name!("upstream_longest_wait_ms"), upstream.longest);
            line.milliseconds(field_name!("client_longest_wait_ms"), client.longest);
            line.milliseconds(field_name!("gateway_longest_wait_ms"), gateway.longest);
        }
    }

    fn write_usage(&self, line: &mut JsonLineWriter<'_>) {
        let Some(usage) = self.usage else {
            return;
        };
        let TokenUsage {
            input_tokens,
            output_tokens,
            cached_input_tokens,
            cache_write_tokens,
            reasoning_tokens,
            total_tokens,
            audio_ms,
            input_excludes_cache: _,
        } = *usage;
        for (name, count) in [
            (field_name!("input_tokens"), input_tokens),
            (field_name!("output_tokens"), output_tokens),
            (field_name!("cached_input_tokens"), cached_input_tokens),
            (field_name!("cache_write_tokens"), cache_write_tokens),
            (field_name!("reasoning_tokens"), reasoning_tokens),
            (field_name!("total_tokens"), total_tokens),
        ] {
            if let Some(count) = count {
                line.number(name, count);
            }
        }
        if let Some(length) = audio_ms {
            let nanos = u64::from(length.get()) * 1_000_000;
            line.billionths(field_name!("audio_seconds"), nanos);
        }
    }

    fn write_cost(&self, line: &mut JsonLineWriter<'_>) {
        if let Some((Cost(nanos), currency)) = self.cost {
            line.billionths(field_name!("cost"), nanos);
            line.text(field_name!("currency"), currency);
        }
    }

    fn write_ids(&self, line: &mut JsonLineWriter<'_>) {
        if let Some(id) = self.response_id {
            line.text(field_name!("response_id"), &bounded(id, SHORT_BYTES_MAX));
        }
        if let Some(value) = self.upstream_request_id {
            let id = cleaned(value.as_bytes(), SHORT_BYTES_MAX);
            line.text(field_name!("upstream_request_id"), &id);
        }
        if let Some((trace, is_exported)) = self.trace {
            line.text(field_name!("trace_id"), &trace.to_string());
            line.boolean(field_name!("trace_exported"), is_exported);
        }
        write_text(line, field_name!("idempotency"), self.idempotency);
        write_text(line, field_name!("cache"), self.cache);
        if let Some((requested, cause)) = self.fallback {
            line.text(
                field_name!("requested_model"),
                &bounded(requested, SHORT_BYTES_MAX),
            );
            line.text(field_name!("fallback_cause"), cause);
        }
        if let Some(translation) = self.translation {
            let translation = bounded(translation, FIELD_BYTES_MAX);
            line.text(field_name!("translation"), &translation);
        }
    }

    fn write_callouts(&self, line: &mut JsonLineWriter<'_>) {
        if self.callouts.calls > 0 {
            line.number(field_name!("callouts"), self.callouts.calls.into());
            line.milliseconds(field_name!("callout_ms"), self.callouts.total());
        }
        let outcome = self.callouts.outcome.map(CallOutcome::name);
        write_text(line, field_name!("callout_outcome"), outcome);
    }

    fn write_fault(&self, line: &mut JsonLineWriter<'_>) {
        let Some(fault) = self.fault else {
            return;
        };
        line.text(field_name!("error_code"), fault.kind.code());
        line.text(field_name!("error_message"), &field(&fault.message));
        if let Some(detail) = &fault.detail {
            line.text(field_name!("error_detail"), &field(detail));
        }
    }
}

/// The attempts as text, such as `main: upstream_5xx, status 503, after 12 ms`.
fn failed_attempts(attempts: &[FailedAttempt]) -> String {
    let attempts = attempts.iter().map(|attempt| {
        let status = attempt
            .status
            .map_or(String::new(), |status| format!(", status {status}"));
        let after = attempt.after.as_millis();
        format!(
            "{}: {}{status}, after {after} ms",
            attempt.channel, attempt.outcome
        )
    });
    attempts.collect::<Vec<_>>().join("; ")
}

fn write_text(line: &mut JsonLineWriter<'_>, name: EncodedFieldName, value: Option<&str>) {
    if let Some(value) = value {
        line.text(name, value);
    }
}

fn write_milliseconds(
    line: &mut JsonLineWriter<'_>,
    name: EncodedFieldName,
    value: Option<Duration>,
) {
    if let Some(value) = value {
        line.milliseconds(name, value);
    }
}

fn field(text: &str) -> Cow<'_, str> {
    cleaned(text.as_bytes(), FIELD_BYTES_MAX)
}
