//! Writes limits, sampling, effort, the form of the answer, and what names the caller.

use crate::context::{ChannelSettings, ChatOutputLimit};
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{AnswerFormat, ReasoningEffort, Request};
use crate::tool_names::shortened;
use crate::typed_value::text;
use headgate_protocol::conversation::ConversationFormat;

/// Texts at which a model stops, of which the protocol takes a few.
const STOP_MAX: usize = 4;
/// The longest name of a user, in letters.
const USER_LEN_MAX: usize = 64;

pub(super) fn write_settings(
    request: &Request<'_>,
    channel: &ChannelSettings,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    write_sampling(request, channel, json);
    if request.protocol != ConversationFormat::Chat {
        write_stop(request, json, ledger);
    }
    write_effort(request, json, ledger);
    if let Some(format) = &request.output_format {
        write_output_format(format, json);
    }
    if request.protocol == ConversationFormat::Messages {
        write_user(request, json, ledger);
        write_service_tier(request, json, ledger);
    }
}

fn write_sampling(request: &Request<'_>, channel: &ChannelSettings, json: &mut JsonWriter) {
    let sampling = &request.sampling;
    let limit = match channel.features.chat_output_limit {
        ChatOutputLimit::MaxCompletionTokens => "max_completion_tokens",
        ChatOutputLimit::MaxTokens => "max_tokens",
    };
    for (name, number) in [
        (limit, sampling.max_output_tokens),
        ("temperature", sampling.temperature),
        ("top_p", sampling.top_p),
    ] {
        if let Some(number) = number {
            json.key(name).raw(number.raw());
        }
    }
}

fn write_stop(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let stop = &request.sampling.stop;
    if stop.is_empty() {
        return;
    }
    let node = request.body.get("stop_sequences");
    if let Some(node) = node.filter(|_| stop.len() > STOP_MAX) {
        let reason = "has more than the four texts that the chat protocol takes";
        ledger.add(node, FieldOutcome::Refused, reason);
    }
    json.key("stop").begin_array();
    for text in stop.iter().take(STOP_MAX) {
        json.text(text);
    }
    json.end_array();
}

/// Thoughts without an effort or a budget are the provider's default. `none` is not sent in place of thoughts that are off:
/// models without thoughts refuse it.
fn write_effort(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let reasoning = &request.reasoning;
    let budget = reasoning.budget;
    let budget = budget.filter(|_| reasoning.is_enabled == Some(true));
    if let Some(budget) = budget {
        let reason = match reasoning.effort {
            None => "becomes the nearest effort",
            Some(_) => "is left out beside the effort",
        };
        ledger.add(budget, FieldOutcome::Approximated, reason);
    }
    let by_budget = || Some(ReasoningEffort::for_budget(budget?.as_u64()?));
    if let Some(effort) = reasoning.effort.or_else(by_budget) {
        json.key("reasoning_effort").literal(effort.name());
    } else if reasoning.is_enabled == Some(false)
        && let Some(thinking) = request.body.get("thinking")
    {
        let reason = "leaves to the model how much it thinks: not all models of the chat protocol know the effort `none`";
        ledger.add(thinking, FieldOutcome::Approximated, reason);
    }
}

fn write_output_format(format: &AnswerFormat<'_>, json: &mut JsonWriter) {
    json.key("response_format").begin_object().key("type");
    match format {
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
            json.key("schema").raw(schema);
            if let Some(strict) = strict {
                json.key("strict").bool(*strict);
            }
            json.end_object()
        }
    };
    json.end_object();
}

fn write_user(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let Some(user) = &request.user else {
        return;
    };
    let sent = shortened(user, USER_LEN_MAX);
    if sent != *user
        && let Some(node) = request.body.pointer("/metadata/user_id")
    {
        let reason = "is shortened to 64 letters, of which the last ones are a hash";
        ledger.add(node, FieldOutcome::Approximated, reason);
    }
    json.key("user").text(&sent);
}

/// The protocols share `auto`, which is the default.
fn write_service_tier(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let node = request.body.get("service_tier");
    let (Some(node), Some(tier)) = (node, text(node, ledger)) else {
        return;
    };
    match tier.as_written() {
        "auto" => {}
        "standard_only" => {
            let reason = "becomes `default`";
            ledger.add(node, FieldOutcome::Approximated, reason);
            json.key("service_tier").literal("default");
        }
        _ => {
            let reason = "is left out, since the chat protocol has no such tier";
            ledger.add(node, FieldOutcome::Dropped, reason);
        }
    }
}
