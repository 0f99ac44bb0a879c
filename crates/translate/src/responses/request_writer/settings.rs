//! Writes the settings of a request.

use crate::dialect::{MemberRules, ResponsesDialect};
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{AnswerFormat, ReasoningEffort, Request};
use crate::tool_names::shortened_user;
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

pub(super) fn write_settings(
    request: &Request<'_>,
    dialect: &ResponsesDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let members = &dialect.members;
    let sampling = &request.sampling;
    write_limit(sampling.max_output_tokens, members, json, ledger);
    let numbers = [
        ("temperature", sampling.temperature),
        ("top_p", sampling.top_p),
    ];
    for (name, number) in numbers {
        write_member(name, number, members, json, ledger);
    }
    write_reasoning(request, dialect, json, ledger);
    write_text(request, members, json, ledger);
    if request.stream.is_some() {
        json.key("stream").bool(true);
    }
    match request.protocol {
        ConversationFormat::Chat | ConversationFormat::Responses => {
            let values = request.body.get_each(SAME_IN_CHAT);
            for (name, value) in SAME_IN_CHAT.into_iter().zip(values) {
                write_member(name, value, members, json, ledger);
            }
        }
        ConversationFormat::Messages => {
            let at = request.body.pointer("/metadata/user_id");
            if let Some(user) = &request.user
                && members.begin("user", at, json, ledger)
            {
                json.text(&shortened_user(user, at, ledger));
            }
            let at = request.body.get("service_tier");
            let tier = at.and_then(EscapedText::from_node);
            if tier.is_some_and(|tier| tier.as_written() == "standard_only")
                && members.begin("service_tier", at, json, ledger)
            {
                json.literal("default");
            }
        }
    }
}

/// Writes the limit of output tokens. Providers refuse one below 16, which other protocols' clients send to probe a model.
fn write_limit(
    limit: Option<DocumentNode<'_>>,
    members: &MemberRules,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    const LIMIT_MIN: u64 = 16;
    let Some(limit) = present(limit) else {
        return;
    };
    if !members.begin("max_output_tokens", Some(limit), json, ledger) {
        return;
    }
    if limit.as_u64().is_some_and(|tokens| tokens < LIMIT_MIN) {
        let reason = "becomes 16, the least limit of the responses protocol";
        ledger.add(limit, FieldOutcome::Approximated, reason);
        json.number(LIMIT_MIN);
    } else {
        json.raw(json_text(limit));
    }
}

fn write_raw(name: &str, value: Option<DocumentNode<'_>>, json: &mut JsonWriter) {
    if let Some(value) = present(value) {
        json.key(name).raw(json_text(value));
    }
}

fn write_member(
    name: &'static str,
    value: Option<DocumentNode<'_>>,
    members: &MemberRules,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    if let Some(value) = present(value)
        && members.begin(name, Some(value), json, ledger)
    {
        json.raw(json_text(value));
    }
}

fn write_reasoning(
    request: &Request<'_>,
    dialect: &ResponsesDialect,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let reasoning = &request.reasoning;
    let budget = reasoning.budget.and_then(DocumentNode::as_u64);
    let effort = match reasoning.is_enabled {
        Some(false) => Some(ReasoningEffort::None),
        Some(true) | None => reasoning.effort.or(budget.map(ReasoningEffort::for_budget)),
    };
    // Who asks for thoughts gets the only ones that the protocol has in plain text.
    let thoughts = (reasoning.is_enabled == Some(true)).then_some(EscapedText::literal("auto"));
    let summary = reasoning.summary.clone().or(thoughts);
    let effort = effort.and_then(|effort| sent_effort(request, effort, dialect, ledger));
    if effort.is_none() && summary.is_none() {
        return;
    }
    json.key("reasoning").begin_object();
    if let Some(effort) = effort {
        json.key("effort").plain(effort);
    }
    if let Some(summary) = summary {
        json.key("summary").text(&summary);
    }
    json.end_object();
}

/// The provider's word for an effort; `None` if it takes none.
fn sent_effort<'d>(
    request: &Request<'_>,
    effort: ReasoningEffort,
    dialect: &'d ResponsesDialect,
    ledger: &mut Ledger,
) -> Option<&'d str> {
    let word = dialect.effort.then(|| dialect.efforts.word(effort));
    if word != Some(effort.name()) {
        let body = request.body;
        let at = body.get("reasoning_effort");
        let at = at.or_else(|| body.pointer("/output_config/effort"));
        let at = at.or_else(|| body.pointer("/reasoning/effort"));
        let at = at.or_else(|| body.get("thinking")).unwrap_or(body);
        let reason = match word {
            Some(word) => format!("becomes `{word}`"),
            None => "is left to the model, whose provider has no way to ask for it".into(),
        };
        ledger.add(at, FieldOutcome::Approximated, reason);
    }
    word
}

fn write_text(
    request: &Request<'_>,
    members: &MemberRules,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let verbosity = match request.protocol {
        ConversationFormat::Chat => request.body.get("verbosity"),
        ConversationFormat::Responses => {
            let text = request.body.get("text");
            text.and_then(|text| text.get("verbosity"))
        }
        ConversationFormat::Messages => None,
    };
    let verbosity = present(verbosity);
    if verbosity.is_none() && request.output_format.is_none()
        || !members.begin("text", verbosity, json, ledger)
    {
        return;
    }
    json.begin_object();
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
            json.key("schema").raw(json_text(*schema));
            if let Some(strict) = strict {
                json.key("strict").bool(*strict);
            }
        }
    }
    json.end_object();
}
