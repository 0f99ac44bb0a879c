//! Writes limits, sampling, the form of the answer, and what names the caller.

use super::thinking::{named_effort, write_thinking};
use crate::context::ChannelSettings;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{AnswerFormat, Request};
use crate::typed_value::text;
use headgate_protocol::conversation::ConversationFormat;

pub(super) fn write_settings(
    request: &Request<'_>,
    channel: &ChannelSettings,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let limit = write_limit(request, channel, json, ledger);
    let thinks = write_thinking(request, channel, limit, json, ledger);
    write_output(request, channel, json, ledger);
    write_sampling(request, thinks, json, ledger);
    write_user(request, json, ledger);
    write_service_tier(request, json, ledger);
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

fn write_output(
    request: &Request<'_>,
    channel: &ChannelSettings,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let effort = named_effort(request, channel, ledger);
    let schema = match &request.output_format {
        Some(AnswerFormat::JsonSchema { schema, .. }) => Some(schema),
        Some(AnswerFormat::Text | AnswerFormat::JsonObject) | None => None,
    };
    if effort.is_none() && schema.is_none() {
        return;
    }
    json.key("output_config").begin_object();
    if let Some(effort) = effort {
        json.key("effort").literal(effort);
    }
    if let Some(schema) = schema {
        json.key("format").begin_object();
        json.key("type").literal("json_schema");
        json.key("schema").raw(schema).end_object();
    }
    json.end_object();
}

/// Models that think take neither a temperature nor another share of the probability.
fn write_sampling(request: &Request<'_>, thinks: bool, json: &mut JsonWriter, ledger: &mut Ledger) {
    let sampling = &request.sampling;
    let is_own = request.protocol == ConversationFormat::Messages;
    for (name, number) in [
        ("temperature", sampling.temperature),
        ("top_p", sampling.top_p),
        ("top_k", sampling.top_k),
    ] {
        let Some(number) = number else {
            continue;
        };
        if thinks && !is_own {
            let reason = "is left out, since models of the messages protocol do not take it while they think";
            ledger.add(number, FieldOutcome::Approximated, reason);
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

/// Writes the caller's user. Of two names for it, the protocol takes one.
fn write_user(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let Some(user) = &request.user else {
        return;
    };
    json.key("metadata").begin_object();
    json.key("user_id").text(user).end_object();
    let identifier = request.body.get("safety_identifier");
    if let Some(other) = text(identifier, ledger)
        && other.decoded() != user.decoded()
        && let Some(identifier) = identifier
    {
        let reason = "is left out, since the messages protocol has one name for a user";
        ledger.add(identifier, FieldOutcome::Dropped, reason);
    }
}

/// The protocols share `auto`, which is the default.
fn write_service_tier(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let node = request.body.get("service_tier");
    let (Some(node), Some(tier)) = (node, text(node, ledger)) else {
        return;
    };
    match (request.protocol, tier.as_written()) {
        (_, "auto") => {}
        (ConversationFormat::Messages, _) => {
            json.key("service_tier").text(&tier);
        }
        (ConversationFormat::Chat | ConversationFormat::Responses, "default") => {
            let reason = "becomes `standard_only`";
            ledger.add(node, FieldOutcome::Approximated, reason);
            json.key("service_tier").literal("standard_only");
        }
        (ConversationFormat::Chat | ConversationFormat::Responses, _) => {
            let reason = "is left out, since the messages protocol has no such tier";
            ledger.add(node, FieldOutcome::Dropped, reason);
        }
    }
}
