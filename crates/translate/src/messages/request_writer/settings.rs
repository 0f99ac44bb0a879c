//! Writes limits, sampling, thoughts and the form of the answer.

use crate::context::{ChannelSettings, ThinkingRequest};
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{AnswerFormat, ReasoningEffort, Request};

/// The least budget of thoughts that providers take, in tokens.
const BUDGET_MIN: u64 = 1024;

pub(super) fn write_settings(
    request: &Request<'_>,
    channel: &ChannelSettings,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let limit = write_limit(request, channel, json, ledger);
    let thinks = write_thinking(request, channel, limit, json, ledger);
    write_sampling(request, thinks, json, ledger);
    if let Some(user) = &request.user {
        json.key("metadata").begin_object();
        json.key("user_id").text(user).end_object();
    }
}

/// Writes the limit of output tokens, which the protocol demands.
fn write_limit(
    request: &Request<'_>,
    channel: &ChannelSettings,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) -> u64 {
    json.key("max_tokens");
    if let Some(limit) = request.sampling.max_output_tokens {
        json.raw(limit.raw());
        return limit.as_u64().unwrap_or(u64::MAX);
    }
    let limit = channel.max_output_tokens;
    let reason = format!("is {limit}, since the messages protocol demands a limit");
    ledger.add_path("max_tokens".to_owned(), FieldOutcome::Approximated, reason);
    json.number(limit);
    limit
}

/// Writes how much the model should think; whether it should.
fn write_thinking(
    request: &Request<'_>,
    channel: &ChannelSettings,
    limit: u64,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) -> bool {
    let effort = request.reasoning.effort;
    let thinks = match (effort, channel.features.thinking_request) {
        (None, _) => false,
        (Some(ReasoningEffort::None), _) => {
            json.key("thinking").begin_object();
            json.key("type").literal("disabled").end_object();
            false
        }
        (Some(_), ThinkingRequest::Effort) => {
            json.key("thinking").begin_object();
            json.key("type").literal("adaptive").end_object();
            true
        }
        (Some(effort), ThinkingRequest::Budget) => write_budget(effort, limit, json),
    };
    let named = effort
        .filter(|_| thinks && channel.features.thinking_request == ThinkingRequest::Effort)
        .map(|effort| effort.max(ReasoningEffort::Low));
    let format = request.output_format.as_ref();
    let format = format.filter(|format| !matches!(format, AnswerFormat::Text));
    if named.is_some() || format.is_some() {
        json.key("output_config").begin_object();
        if let Some(effort) = named {
            json.key("effort").literal(effort.name());
        }
        if let Some(format) = format {
            write_format(request, format, json, ledger);
        }
        json.end_object();
    }
    thinks
}

/// Writes a budget within the limit of the response; `false` if there is no room for one.
fn write_budget(effort: ReasoningEffort, limit: u64, json: &mut JsonWriter) -> bool {
    let tokens = match effort {
        ReasoningEffort::None | ReasoningEffort::Minimal | ReasoningEffort::Low => 2048,
        ReasoningEffort::Medium => 4096,
        ReasoningEffort::High => 8192,
        ReasoningEffort::XHigh | ReasoningEffort::Max => 16384,
    };
    let tokens = tokens.min(limit.saturating_sub(1));
    if tokens < BUDGET_MIN {
        return false;
    }
    json.key("thinking").begin_object();
    json.key("type").literal("enabled");
    json.key("budget_tokens").number(tokens).end_object();
    true
}

fn write_format(
    request: &Request<'_>,
    format: &AnswerFormat<'_>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    match format {
        AnswerFormat::Text => {}
        AnswerFormat::JsonObject => {
            let reason =
                "has no counterpart in the messages protocol; send a schema with `json_schema`";
            let at = request
                .body
                .get("response_format")
                .or_else(|| request.body.get("text"));
            ledger.add(at.unwrap_or(request.body), FieldOutcome::Refused, reason);
        }
        AnswerFormat::JsonSchema { schema, .. } => {
            json.key("format").begin_object();
            json.key("type").literal("json_schema");
            json.key("schema").raw(schema).end_object();
        }
    }
}

/// Models that think take neither a temperature nor another share of the probability.
fn write_sampling(request: &Request<'_>, thinks: bool, json: &mut JsonWriter, ledger: &mut Ledger) {
    let sampling = &request.sampling;
    for (name, number) in [
        ("temperature", sampling.temperature),
        ("top_p", sampling.top_p),
        ("top_k", sampling.top_k),
    ] {
        let Some(number) = number else {
            continue;
        };
        if thinks {
            let reason = "is left out, since models of the messages protocol do not take it while they think";
            ledger.add(number, FieldOutcome::Dropped, reason);
        } else if name == "temperature" && number.as_f64().is_none_or(|value| value > 1.0) {
            let reason = "becomes 1, the highest of the messages protocol";
            ledger.add(number, FieldOutcome::Approximated, reason);
            json.key(name).number(1);
        } else {
            json.key(name).raw(number.raw());
        }
    }
    if !sampling.stop.is_empty() {
        json.key("stop_sequences").begin_array();
        for text in &sampling.stop {
            json.text(text);
        }
        json.end_array();
    }
}
