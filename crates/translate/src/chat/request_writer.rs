//! Writes a request in the chat protocol.

mod content;
mod messages;
mod tools;

use crate::context::{ChannelSettings, ChatOutputLimit};
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{AnswerFormat, PartKind, ReasoningEffort, ReasoningSettings, Request};
use crate::typed_value::json_text;
use headgate_protocol::conversation::ConversationFormat;
use messages::write_messages;
use tools::write_tools;

/// Members that responses write as chat does.
const SHARED_WITH_RESPONSES: [&str; 6] = [
    "metadata",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "top_logprobs",
];
/// Members of chat that are not part of the superset.
const OWN: [&str; 14] = [
    "audio",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "modalities",
    "n",
    "prediction",
    "presence_penalty",
    "prompt_cache_options",
    "seed",
    "store",
    "user",
    "verbosity",
    "web_search_options",
];

/// The provider's body for a request. What it cannot say is added to `ledger`.
pub(crate) fn write_request(
    request: &Request<'_>,
    channel: &ChannelSettings,
    ledger: &mut Ledger,
) -> Vec<u8> {
    let mut json = JsonWriter::with_capacity(request.body.raw().len() + 512);
    json.begin_object();
    json.key("model").raw(&channel.model);
    write_messages(request, &mut json, ledger);
    write_sampling(request, channel, &mut json);
    write_tools(request, &mut json, ledger);
    note_cache_marks(request, ledger);
    write_effort(&request.reasoning, &mut json, ledger);
    if let Some(format) = &request.output_format {
        write_output_format(format, &mut json);
    }
    if request.stream.is_some() {
        json.key("stream").bool(true).key("stream_options");
        json.begin_object().key("include_usage").bool(true);
        json.end_object();
    }
    copy_members(request, &mut json);
    json.end_object();
    json.into_bytes()
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
    if !sampling.stop.is_empty() {
        json.key("stop").begin_array();
        for text in &sampling.stop {
            json.text(text);
        }
        json.end_array();
    }
    if let Some(user) = &request.user {
        json.key("user").text(user);
    }
}

/// Thoughts without an effort or a budget are the provider's default. `none` is not sent in place of thoughts that are off:
/// models without thoughts refuse it.
fn write_effort(reasoning: &ReasoningSettings<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let by_budget = || {
        let budget = reasoning
            .budget
            .filter(|_| reasoning.is_enabled == Some(true))?;
        ledger.add(budget, FieldOutcome::Approximated, "is an effort here");
        Some(ReasoningEffort::for_budget(budget.as_u64()?))
    };
    if let Some(effort) = reasoning.effort.or_else(by_budget) {
        json.key("reasoning_effort").literal(effort.name());
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
            json.literal("json_schema")
                .key("json_schema")
                .begin_object();
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

/// Copies members that the caller's protocol writes as this one does.
fn copy_members(request: &Request<'_>, json: &mut JsonWriter) {
    let (shared, own): (&[&'static str], &[&'static str]) = match request.protocol {
        ConversationFormat::Messages => (&[], &[]),
        ConversationFormat::Responses => (&SHARED_WITH_RESPONSES, &[]),
        ConversationFormat::Chat => (&SHARED_WITH_RESPONSES, &OWN),
    };
    for name in shared.iter().chain(own) {
        let value = request.body.get(name).filter(|value| !value.is_null());
        if let Some(value) = value
            && !(*name == "user" && request.user.is_some())
        {
            json.key(name).raw(json_text(value));
        }
    }
    if request.protocol == ConversationFormat::Responses
        && let Some(verbosity) = request.body.pointer("/text/verbosity")
    {
        json.key("verbosity").raw(json_text(verbosity));
    }
}

/// Marks of prefixes belong to parts, and texts are strings here.
fn note_cache_marks(request: &Request<'_>, ledger: &mut Ledger) {
    let parts = request.turns.iter().flat_map(|turn| &turn.parts);
    let nested = parts.clone().filter_map(|part| match &part.kind {
        PartKind::ToolResult { parts, .. } => Some(parts),
        _ => None,
    });
    let all = request
        .instructions
        .iter()
        .chain(parts)
        .chain(nested.flatten());
    let marks = all.filter_map(|part| part.cache.as_ref());
    for mark in marks.chain(request.tools.iter().filter_map(|tool| tool.cache.as_ref())) {
        let reason = "is left out, since the channel's model is not known to take it";
        ledger.add(mark.at, FieldOutcome::Dropped, reason);
    }
}
