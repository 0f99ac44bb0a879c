//! Writes the turns of a conversation.

use super::content::write_block;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Arguments, ContentRole, Part, PartKind, Request, Turn};
use crate::thinking::{ThinkingReplay, replay};
use crate::tool_names::{sent_id, sent_name};
use headgate_protocol::conversation::ConversationFormat;

pub(super) fn write_conversation(
    request: &Request<'_>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    json.key("messages").begin_array();
    let mut last = None;
    for turn in &request.turns {
        // Turns on both sides of an instruction that was moved away are one turn.
        if turn.role == ContentRole::System || turn.parts.is_empty() {
            continue;
        }
        if last != Some(turn.role) {
            if last.is_some() {
                json.end_array().end_object();
            }
            json.begin_object().key("role");
            json.literal(match turn.role {
                ContentRole::Assistant => "assistant",
                ContentRole::User | ContentRole::System => "user",
            });
            json.key("content").begin_array();
            last = Some(turn.role);
        }
        match turn.role {
            ContentRole::Assistant => write_assistant(request.protocol, turn, json, ledger),
            ContentRole::User | ContentRole::System => write_user(turn, json, ledger),
        }
    }
    if last.is_some() {
        json.end_array().end_object();
    }
    json.end_array();
}

/// Results of tools come first in a turn of the user.
fn write_user(turn: &Turn<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let is_result = |part: &&Part<'_>| matches!(part.kind, PartKind::ToolResult { .. });
    for part in turn.parts.iter().filter(is_result) {
        write_result(part, json, ledger);
    }
    for part in turn.parts.iter().filter(|part| !is_result(part)) {
        write_block(part, json, ledger);
    }
}

fn write_result(part: &Part<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let PartKind::ToolResult {
        id,
        parts,
        is_error,
    } = &part.kind
    else {
        return;
    };
    json.begin_object().key("type").literal("tool_result");
    json.key("tool_use_id").text(&sent_id(id)).key("content");
    match parts.as_slice() {
        [] => {
            json.literal("");
        }
        [
            Part {
                kind: PartKind::Text(text),
                cache: None,
                ..
            },
        ] => {
            json.text(text);
        }
        parts => {
            json.begin_array();
            for part in parts {
                write_block(part, json, ledger);
            }
            json.end_array();
        }
    }
    if *is_error {
        json.key("is_error").bool(true);
    }
    json.end_object();
}

fn write_assistant(
    caller: ConversationFormat,
    turn: &Turn<'_>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    for part in &turn.parts {
        match &part.kind {
            PartKind::Thinking {
                text, signature, ..
            } => {
                if is_replayed(part, caller, ledger) {
                    let none = EscapedText::literal("");
                    json.begin_object().key("type").literal("thinking");
                    json.key("thinking").text(text).key("signature");
                    json.text(signature.as_ref().unwrap_or(&none)).end_object();
                }
            }
            PartKind::SealedThinking { data, .. } => {
                if is_replayed(part, caller, ledger) {
                    json.begin_object().key("type").literal("redacted_thinking");
                    json.key("data").text(data).end_object();
                }
            }
            PartKind::ToolCall {
                id,
                name,
                arguments,
            } => write_call(part, (id, name, arguments), json, ledger),
            PartKind::Text(_) | PartKind::Refusal(_) => write_block(part, json, ledger),
            PartKind::Image { .. }
            | PartKind::Document { .. }
            | PartKind::Audio { .. }
            | PartKind::ToolResult { .. } => {
                let reason = "stands in a message of the assistant, where the messages protocol takes only texts and calls";
                ledger.add(part.at, FieldOutcome::Refused, reason);
            }
        }
    }
}

fn is_replayed(part: &Part<'_>, caller: ConversationFormat, ledger: &mut Ledger) -> bool {
    match replay(part, caller, ConversationFormat::Messages, ledger) {
        ThinkingReplay::Same => true,
        ThinkingReplay::ReasoningContent | ThinkingReplay::LeftOut => false,
    }
}

/// Writes a call. Its arguments are the object as it is written.
fn write_call(
    part: &Part<'_>,
    (id, name, arguments): (&EscapedText<'_>, &EscapedText<'_>, &Arguments<'_>),
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let Some(input) = arguments.object() else {
        let reason = "has arguments that are no JSON object, which the messages protocol demands";
        ledger.add(part.at, FieldOutcome::AlwaysRefused, reason);
        return;
    };
    json.begin_object().key("type").literal("tool_use");
    json.key("id").text(&sent_id(id));
    json.key("name")
        .text(&sent_name(name, ConversationFormat::Messages));
    json.key("input").raw(input.as_bytes()).end_object();
}
