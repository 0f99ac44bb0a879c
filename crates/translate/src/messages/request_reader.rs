//! Reads a request of the messages protocol.

mod content;
mod conversation;
mod tools;

use crate::escaped_text::EscapedText;
use crate::json_schema::can_be_strict;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{AnswerFormat, ReasoningSettings, Request, SamplingSettings, StreamSettings};
use crate::typed_value::{
    array, boolean, element_text, number, object, present, read_effort, refuse, refuse_no_messages,
    required_text, text,
};
use content::read_content;
use conversation::MessageConversation;
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind};
use tools::{read_tool_choice, read_tools};

/// The request that a body makes. A value of the wrong type is a refusal in `ledger`.
pub(crate) fn read_request<'a>(body: &'a JsonDocument, ledger: &mut Ledger) -> Request<'a> {
    let root = body.root();
    if root.kind() != ValueKind::Object {
        refuse::<()>(Some(root), "an object", ledger);
    }
    let [system, messages, tools, choice, stream, metadata] = root.get_each([
        "system",
        "messages",
        "tools",
        "tool_choice",
        "stream",
        "metadata",
    ]);
    let mut conversation = MessageConversation::default();
    if let Some(system) = present(system) {
        read_content(system, &mut conversation.instructions, ledger);
    }
    refuse_no_messages(root, messages, ledger);
    conversation.read_messages(array(messages, ledger), ledger);
    let choice = read_tool_choice(choice, ledger);
    let stream = boolean(stream, ledger).unwrap_or(false);
    let user = object(metadata, ledger).and_then(|metadata| metadata.get("user_id"));
    Request {
        protocol: ConversationFormat::Messages,
        body: root,
        instructions: conversation.instructions,
        turns: conversation.turns,
        tools: read_tools(tools, ledger),
        parallel_tool_calls: choice.parallel_tool_calls,
        tool_choice: choice.choice,
        sampling: read_sampling(root, ledger),
        reasoning: read_reasoning(root, ledger),
        output_format: read_output_format(root, ledger),
        stream: stream.then_some(StreamSettings {
            includes_usage: true,
        }),
        user: text(user, ledger),
    }
}

fn read_sampling<'a>(root: DocumentNode<'a>, ledger: &mut Ledger) -> SamplingSettings<'a> {
    let [limit, temperature, top_p, top_k, stop] = root.get_each([
        "max_tokens",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
    ]);
    let stop = array(stop, ledger).into_iter();
    let stop = stop.flat_map(DocumentNode::elements);
    SamplingSettings {
        max_output_tokens: number(limit, ledger),
        temperature: number(temperature, ledger),
        top_p: number(top_p, ledger),
        top_k: number(top_k, ledger),
        stop: stop.filter_map(|text| element_text(text, ledger)).collect(),
    }
}

fn read_reasoning<'a>(root: DocumentNode<'a>, ledger: &mut Ledger) -> ReasoningSettings<'a> {
    let [thinking, output] = root.get_each(["thinking", "output_config"]);
    let effort = object(output, ledger).and_then(|output| output.get("effort"));
    let mut settings = ReasoningSettings {
        effort: read_effort(effort, ledger),
        ..ReasoningSettings::default()
    };
    let Some(thinking) = object(thinking, ledger) else {
        return settings;
    };
    let [kind, budget] = thinking.get_each(["type", "budget_tokens"]);
    settings.budget = number(budget, ledger);
    let name = required_text(thinking, "type", kind, ledger);
    settings.is_enabled = match name.as_ref().map(EscapedText::as_written) {
        Some("enabled") => {
            if present(budget).is_none() {
                ledger.add_missing(thinking, "budget_tokens");
            }
            Some(true)
        }
        Some("adaptive" | "between_tools") => Some(true),
        Some("disabled") => Some(false),
        Some(other) => {
            let reason = format!("is of type `{other:.64}`, which no other protocol has");
            ledger.add(thinking, FieldOutcome::Refused, reason);
            None
        }
        None => None,
    };
    settings
}

/// The form of the answer: in `output_config`, or as older clients write it. Providers enforce its schema, if they can.
fn read_output_format<'a>(root: DocumentNode<'a>, ledger: &mut Ledger) -> Option<AnswerFormat<'a>> {
    let [config, old] = root.get_each(["output_config", "output_format"]);
    let format = present(config).and_then(|config| config.get("format"));
    let format = object(present(format).or(old), ledger)?;
    let [kind, schema] = format.get_each(["type", "schema"]);
    let name = required_text(format, "type", kind, ledger)?;
    if name.as_written() != "json_schema" {
        let name = name.as_written();
        let reason = format!("is of type `{name:.64}`, which no other protocol has");
        ledger.add(format, FieldOutcome::Refused, reason);
        return None;
    }
    if present(schema).is_none() {
        ledger.add_missing(format, "schema");
    }
    let schema = object(schema, ledger)?;
    Some(AnswerFormat::JsonSchema {
        name: None,
        description: None,
        schema,
        strict: Some(is_strict(format, schema, ledger)),
    })
}

/// Whether a schema that this protocol enforces can be enforced in others, where strict ones name and demand all members.
fn is_strict(owner: DocumentNode<'_>, schema: DocumentNode<'_>, ledger: &mut Ledger) -> bool {
    let can_be_strict = can_be_strict(schema);
    if !can_be_strict {
        let reason = "is not strict, since its schema allows members that it does not demand";
        ledger.add(owner, FieldOutcome::Approximated, reason);
    }
    can_be_strict
}
