//! The record of an exchange, and its line of JSON.

use crate::body::PromptBody;
use headgate_core::catalog::price::Cost;
use headgate_core::filter::stream_info::ExchangeTraceId;
use headgate_core::request_id::RequestId;
use headgate_core::timestamp::rfc3339;
use headgate_protocol::usage::TokenUsage;
use serde::Serialize;
use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

/// What a record takes beside its bodies, in bytes: an upper bound for usual names.
const HEAD_BYTES: usize = 1024;

/// What is logged of an exchange.
pub(crate) struct PromptRecord {
    /// When the request came.
    pub time: SystemTime,
    pub id: RequestId,
    /// `None` without tracing.
    pub trace_id: Option<ExchangeTraceId>,
    pub caller: Option<Arc<str>>,
    pub run: Option<Arc<str>>,
    pub route: Arc<str>,
    pub protocol: Option<&'static str>,
    pub model: Option<Arc<str>>,
    pub channel: Option<Arc<str>>,
    pub channel_model: Option<Arc<str>>,
    /// `None` if no response of a provider arrived.
    pub status: Option<u16>,
    pub settlement: &'static str,
    pub cache: Option<&'static str>,
    pub usage: Option<TokenUsage>,
    /// With its currency.
    pub cost: Option<(Cost, Arc<str>)>,
    pub request: Option<PromptBody>,
    pub response: Option<PromptBody>,
}

/// The members of a line before its cost and its bodies.
#[derive(Serialize)]
struct LineHead<'r> {
    time: String,
    id: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    gateway: &'r str,
    caller: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'r str>,
    route: &'r str,
    protocol: Option<&'static str>,
    model: Option<&'r str>,
    channel: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel_model: Option<&'r str>,
    status: Option<u16>,
    settlement: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<&'r str>,
}

impl PromptRecord {
    /// The memory that it takes, in bytes.
    pub fn size(&self) -> usize {
        let bodies = [&self.request, &self.response];
        let bodies = bodies.map(|body| body.as_ref().map_or(0, PromptBody::size));
        HEAD_BYTES + bodies.iter().sum::<usize>()
    }

    /// Appends the record as an object of JSON, without line breaks.
    pub fn append_json(&self, gateway: &str, out: &mut Vec<u8>) {
        let head = LineHead {
            time: rfc3339(self.time),
            id: &self.id,
            trace_id: self.trace_id.map(|trace| trace.to_string()),
            gateway,
            caller: self.caller.as_deref(),
            run: self.run.as_deref(),
            route: &self.route,
            protocol: self.protocol,
            model: self.model.as_deref(),
            channel: self.channel.as_deref(),
            channel_model: self.channel_model.as_deref(),
            status: self.status,
            settlement: self.settlement,
            cache: self.cache,
            input_tokens: self.usage.and_then(|usage| usage.input_tokens),
            output_tokens: self.usage.and_then(|usage| usage.output_tokens),
            currency: self.cost.as_ref().map(|(_, currency)| &**currency),
        };
        serde_json::to_writer(&mut *out, &head).expect("texts and numbers serialise");
        // The closing brace follows after the members that are no values of serde.
        out.pop();
        if let Some((cost, _)) = &self.cost {
            write!(out, ",\"cost\":{cost}").expect("memory takes what is written");
        }
        for (name, body) in [("request", &self.request), ("response", &self.response)] {
            if let Some(body) = body {
                write!(out, ",\"{name}\":").expect("memory takes what is written");
                body.append_json(out);
            }
        }
        out.push(b'}');
    }
}
