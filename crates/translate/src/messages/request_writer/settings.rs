//! Writes limits, sampling, the form of the answer, and what names the caller.

use super::thinking::{named_effort, write_thinking};
use crate::context::ChannelSettings;
use crate::dialect::{MemberRules, MessagesDialect};
use crate::escaped_text::EscapedText;
use crate::json_schema::write_closed;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{AnswerFormat, Request};
use crate::tool_names::anonymous_user;
use crate::typed_value::text;
use headgate_protocol::conversation::ConversationFormat;

pub(super) fn write_settings(
    request: &Request<'_>,
    channel: &ChannelSettings,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let limit = write_limit(request, channel, json, ledger);
    let dialect = &channel.features.messages;
    let thinks = write_thinking(request, dialect, limit, json, ledger);
    write_output(request, dialect, json, ledger);
    write_sampling(request, dialect, thinks, json, ledger);
    write_user(request, dialect, json, ledger);
    write_service_tier(request, dialect, json, ledger);
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
    dialect: &MessagesDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let effort = named_effort(request, dialect, ledger);
    let schema = match &request.output_format {
        Some(AnswerFormat::JsonSchema { schema, .. }) if dialect.structured_outputs => Some(schema),
        Some(AnswerFormat::JsonSchema { .. } | AnswerFormat::Text | AnswerFormat::JsonObject)
        | None => None,
    };
    if effort.is_none() && schema.is_none() {
        return;
    }
    json.key("output_config").begin_object();
    if let Some(effort) = effort {
        json.key("effort").plain(effort);
    }
    if let Some(schema) = schema {
        json.key("format").begin_object();
        json.key("type").literal("json_schema");
        write_closed(*schema, json.key("schema"), ledger);
        json.end_object();
    }
    json.end_object();
}

/// Models that think take neither a temperature nor another share of the probability.
fn write_sampling(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    thinks: bool,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let sampling = &request.sampling;
    let members = &dialect.members;
    let is_pair = sampling.temperature.is_some() && sampling.top_p.is_some();
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
        } else if name == "top_p" && is_pair && !dialect.temperature_with_top_p {
            let reason =
                "is left out, since the channel's model does not take it beside a temperature";
            ledger.add(number, FieldOutcome::Approximated, reason);
        } else if !members.begin(name, Some(number), json, ledger) {
            // It is in the ledger.
        } else if name == "temperature" && number.as_f64().is_none_or(|value| value > 1.0) {
            let reason = "becomes 1, the highest of the messages protocol";
            ledger.add(number, FieldOutcome::Approximated, reason);
            json.number(1);
        } else {
            json.raw(number.raw());
        }
    }
    write_stop(request, members, json, ledger);
}

/// Writes the texts at which the model stops. Providers refuse those of white space.
fn write_stop(
    request: &Request<'_>,
    members: &MemberRules,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let at = request.body.get("stop");
    let is_blank = |text: &&EscapedText<'_>| text.decoded().trim().is_empty();
    let stop = &request.sampling.stop;
    if let Some(at) = at.filter(|_| stop.iter().any(|text| is_blank(&text))) {
        let reason = "has a text of white space alone, at which models of the messages protocol do not stop; remove it, or let the route drop it with `on_loss: drop`";
        ledger.add(at, FieldOutcome::Refused, reason);
    }
    if stop.iter().all(|text| is_blank(&text)) || !members.begin("stop_sequences", at, json, ledger)
    {
        return;
    }
    json.begin_array();
    for text in stop.iter().filter(|text| !is_blank(text)) {
        json.text(text);
    }
    json.end_array();
}

/// Writes the caller's user. Of two names for it, the protocol takes one.
fn write_user(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let Some(user) = &request.user else {
        return;
    };
    let at = request.body.get("user");
    let at = at.or_else(|| request.body.get("safety_identifier"));
    if !dialect.members.begin("metadata", at, json, ledger) {
        return;
    }
    json.begin_object();
    let sent = anonymous_user(user);
    if let Some(at) = at.filter(|_| sent != *user) {
        let reason =
            "becomes a hash, since the provider takes no names of persons and at most 256 letters";
        ledger.add(at, FieldOutcome::Approximated, reason);
    }
    json.key("user_id").text(&sent).end_object();
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
fn write_service_tier(
    request: &Request<'_>,
    dialect: &MessagesDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
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
            let members = &dialect.members;
            if members.begin("service_tier", Some(node), json, ledger) {
                let reason = "becomes `standard_only`";
                ledger.add(node, FieldOutcome::Approximated, reason);
                json.literal("standard_only");
            }
        }
        (ConversationFormat::Chat | ConversationFormat::Responses, _) => {
            let reason = "is left out, since the messages protocol has no such tier";
            ledger.add(node, FieldOutcome::Dropped, reason);
        }
    }
}
