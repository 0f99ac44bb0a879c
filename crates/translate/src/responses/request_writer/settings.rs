//! Writes the settings of a request.

use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::superset::{AnswerFormat, ReasoningEffort, Request};
use crate::typed_value::{json_text, present};
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::DocumentNode;

/// Members that chat requests have alike.
const SAME_IN_CHAT: [&str; 7] = [
    "metadata",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "user",
];

pub(super) fn write_settings(request: &Request<'_>, json: &mut JsonWriter) {
    let sampling = &request.sampling;
    let numbers = [
        ("max_output_tokens", sampling.max_output_tokens),
        ("temperature", sampling.temperature),
        ("top_p", sampling.top_p),
    ];
    for (name, number) in numbers {
        write_raw(name, number, json);
    }
    write_reasoning(request, json);
    write_text(request, json);
    if request.stream.is_some() {
        json.key("stream").bool(true);
    }
    match request.protocol {
        ConversationFormat::Chat | ConversationFormat::Responses => {
            let values = request.body.get_each(SAME_IN_CHAT);
            for (name, value) in SAME_IN_CHAT.into_iter().zip(values) {
                write_raw(name, value, json);
            }
        }
        ConversationFormat::Messages => {
            if let Some(user) = &request.user {
                json.key("user").text(user);
            }
            let tier = request
                .body
                .get("service_tier")
                .and_then(EscapedText::from_node);
            if tier.is_some_and(|tier| tier.as_written() == "standard_only") {
                json.key("service_tier").literal("default");
            }
        }
    }
}

fn write_raw(name: &str, value: Option<DocumentNode<'_>>, json: &mut JsonWriter) {
    if let Some(value) = present(value) {
        json.key(name).raw(json_text(value));
    }
}

fn write_reasoning(request: &Request<'_>, json: &mut JsonWriter) {
    let reasoning = &request.reasoning;
    let budget = reasoning.budget.and_then(DocumentNode::as_u64);
    let effort = match reasoning.is_enabled {
        Some(false) => Some(ReasoningEffort::None),
        Some(true) | None => reasoning.effort.or(budget.map(ReasoningEffort::for_budget)),
    };
    // Who asks for thoughts gets the only ones that the protocol has in plain text.
    let thoughts = (reasoning.is_enabled == Some(true)).then_some(EscapedText::literal("auto"));
    let summary = reasoning.summary.clone().or(thoughts);
    if effort.is_none() && summary.is_none() {
        return;
    }
    json.key("reasoning").begin_object();
    if let Some(effort) = effort {
        json.key("effort").literal(effort.name());
    }
    if let Some(summary) = summary {
        json.key("summary").text(&summary);
    }
    json.end_object();
}

fn write_text(request: &Request<'_>, json: &mut JsonWriter) {
    let verbosity = match request.protocol {
        ConversationFormat::Chat => request.body.get("verbosity"),
        ConversationFormat::Responses => {
            let text = request.body.get("text");
            text.and_then(|text| text.get("verbosity"))
        }
        ConversationFormat::Messages => None,
    };
    let verbosity = present(verbosity);
    if verbosity.is_none() && request.output_format.is_none() {
        return;
    }
    json.key("text").begin_object();
    if let Some(format) = &request.output_format {
        write_format(format, json.key("format"));
    }
    write_raw("verbosity", verbosity, json);
    json.end_object();
}

fn write_format(format: &AnswerFormat<'_>, json: &mut JsonWriter) {
    json.begin_object().key("type");
    match format {
        AnswerFormat::Text => {
            json.literal("text");
        }
        AnswerFormat::JsonObject => {
            json.literal("json_object");
        }
        AnswerFormat::JsonSchema {
            name,
            description,
            schema,
            strict,
        } => {
            // The protocol demands a name, which the messages protocol does not have.
            let unnamed = EscapedText::literal("response");
            json.literal("json_schema");
            json.key("name").text(name.as_ref().unwrap_or(&unnamed));
            if let Some(description) = description {
                json.key("description").text(description);
            }
            json.key("schema").raw(schema);
            if let Some(strict) = strict {
                json.key("strict").bool(*strict);
            }
        }
    }
    json.end_object();
}
