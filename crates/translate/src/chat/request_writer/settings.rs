//! Writes limits, sampling, effort, the form of the answer, and what names the caller.

use super::reasoning::write_reasoning;
use crate::answer_instruction::{format_node, needed_support};
use crate::dialect::{ChatDialect, ChatOutputLimit, OutputFormatSupport};
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{AnswerFormat, Request};
use crate::tool_names::shortened_user;
use crate::typed_value::{json_text, text};
use headgate_protocol::conversation::ConversationFormat;

pub(super) fn write_settings(
    request: &Request<'_>,
    dialect: &ChatDialect,
    without_thoughts: bool,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    write_sampling(request, dialect, json, ledger);
    if request.protocol != ConversationFormat::Chat {
        write_stop(request, dialect, json, ledger);
    }
    write_reasoning(request, &dialect.reasoning, without_thoughts, json, ledger);
    if let Some(format) = &request.output_format {
        write_output_format(request, format, dialect, json, ledger);
    }
    if request.protocol == ConversationFormat::Messages {
        write_user(request, dialect, json, ledger);
        write_service_tier(request, dialect, json, ledger);
    }
}

fn write_sampling(
    request: &Request<'_>,
    dialect: &ChatDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let sampling = &request.sampling;
    let limit = match dialect.output_limit {
        ChatOutputLimit::MaxCompletionTokens => "max_completion_tokens",
        ChatOutputLimit::MaxTokens => "max_tokens",
    };
    for (name, number) in [
        (limit, sampling.max_output_tokens),
        ("temperature", sampling.temperature),
        ("top_p", sampling.top_p),
        ("top_k", sampling.top_k),
    ] {
        let Some(number) = number else {
            continue;
        };
        if name == "top_k" && !dialect.top_k {
            let reason = "has no counterpart in the chat protocol; remove it, or let the route drop it with `on_loss: drop`";
            ledger.add(number, FieldOutcome::Refused, reason);
        } else if dialect.members.begin(name, Some(number), json, ledger) {
            match dialect.temperature_max.filter(|_| name == "temperature") {
                Some(max) if number.as_f64().is_none_or(|value| value > max) => {
                    let reason = format!("becomes {max}, the highest that the provider takes");
                    ledger.add(number, FieldOutcome::Approximated, reason);
                    json.raw(max.to_string());
                }
                Some(_) | None => {
                    json.raw(number.raw());
                }
            }
        }
    }
}

fn write_stop(
    request: &Request<'_>,
    dialect: &ChatDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let stop = &request.sampling.stop;
    if stop.is_empty() {
        return;
    }
    let node = request.body.get("stop_sequences");
    let max = dialect.stop_max;
    if let Some(node) = node.filter(|_| stop.len() > max) {
        let reason = match max {
            4 => "has more than the four texts that the chat protocol takes".into(),
            _ => format!("has more texts than the provider takes: {max}"),
        };
        ledger.add(node, FieldOutcome::Refused, reason);
    }
    if !dialect.members.begin("stop", node, json, ledger) {
        return;
    }
    json.begin_array();
    for text in stop.iter().take(max) {
        json.text(text);
    }
    json.end_array();
}

/// Writes the form of the answer. What the provider does not enforce stands in an instruction.
fn write_output_format(
    request: &Request<'_>,
    format: &AnswerFormat<'_>,
    dialect: &ChatDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let at = format_node(request.body);
    let is_enforced = needed_support(format) <= dialect.output_format;
    if !is_enforced {
        let reason = "is sent as an instruction, since the channel's provider does not enforce it";
        ledger.add(at, FieldOutcome::Approximated, reason);
    }
    if !is_enforced && dialect.output_format == OutputFormatSupport::Text
        || !(dialect.members).begin("response_format", Some(at), json, ledger)
    {
        return;
    }
    json.begin_object().key("type");
    match format {
        AnswerFormat::JsonSchema { .. } if !is_enforced => json.literal("json_object"),
        AnswerFormat::Text => json.literal("text"),
        AnswerFormat::JsonObject => json.literal("json_object"),
        AnswerFormat::JsonSchema {
            name,
            description,
            schema,
            strict,
        } => {
            json.literal("json_schema").key("json_schema");
            json.begin_object();
            let unnamed = EscapedText::literal("response");
            json.key("name").text(name.as_ref().unwrap_or(&unnamed));
            if let Some(description) = description {
                json.key("description").text(description);
            }
            json.key("schema").raw(json_text(*schema));
            if let Some(strict) = strict {
                json.key("strict").bool(*strict);
            }
            json.end_object()
        }
    };
    json.end_object();
}

fn write_user(
    request: &Request<'_>,
    dialect: &ChatDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let Some(user) = &request.user else {
        return;
    };
    let node = request.body.pointer("/metadata/user_id");
    if !dialect.members.begin("user", node, json, ledger) {
        return;
    }
    json.text(&shortened_user(user, node, ledger));
}

/// The protocols share `auto`, which is the default.
fn write_service_tier(
    request: &Request<'_>,
    dialect: &ChatDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let node = request.body.get("service_tier");
    let (Some(node), Some(tier)) = (node, text(node, ledger)) else {
        return;
    };
    match tier.as_written() {
        "auto" => {}
        "standard_only" => {
            let members = &dialect.members;
            if members.begin("service_tier", Some(node), json, ledger) {
                let reason = "becomes `default`";
                ledger.add(node, FieldOutcome::Approximated, reason);
                json.literal("default");
            }
        }
        _ => {
            let reason = "is left out, since the chat protocol has no such tier";
            ledger.add(node, FieldOutcome::Dropped, reason);
        }
    }
}
