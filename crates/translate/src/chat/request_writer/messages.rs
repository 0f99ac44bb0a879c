//! Writes the messages of a conversation.

use super::content::{texts, write_joined, write_text_part, write_user_content, write_user_part};
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{ContentRole, Part, PartKind, Request, Turn};
use crate::thinking::{ThinkingReplay, replay};
use crate::tool_names::sent_name;
use crate::tool_results::ERROR_LINE;
use headgate_protocol::conversation::ConversationFormat;
use std::collections::HashMap;

/// Between texts that were blocks of their own.
const BLANK_LINE: EscapedText<'static> = EscapedText::literal(r"\n\n");

/// The names of tools by the ids of their calls.
type CallNames<'r> = HashMap<&'r str, &'r EscapedText<'r>>;

pub(super) fn write_messages(request: &Request<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    json.key("messages").begin_array();
    if !request.instructions.is_empty() {
        write_system(&request.instructions, json, ledger);
    }
    let mut names = CallNames::new();
    for turn in &request.turns {
        match turn.role {
            ContentRole::System => write_system(&turn.parts, json, ledger),
            ContentRole::User => write_user(turn, &names, json, ledger),
            ContentRole::Assistant => {
                write_assistant(request.protocol, turn, json, ledger);
                for part in &turn.parts {
                    if let PartKind::ToolCall { id, name, .. } = &part.kind {
                        names.insert(id.as_written(), name);
                    }
                }
            }
        }
    }
    json.end_array();
}

fn write_system(parts: &[Part<'_>], json: &mut JsonWriter, ledger: &mut Ledger) {
    for part in parts {
        if !matches!(part.kind, PartKind::Text(_)) {
            let reason = "stands in instructions, where the chat protocol takes only texts";
            ledger.add(part.at, FieldOutcome::Refused, reason);
        }
    }
    json.begin_object()
        .key("role")
        .literal("system")
        .key("content");
    write_joined(&texts(parts).collect::<Vec<_>>(), &BLANK_LINE, json);
    json.end_object();
}

/// Writes the results of tools, which must come directly behind their calls, then what the user says.
fn write_user(turn: &Turn<'_>, names: &CallNames<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let mut framed = Vec::new();
    let mut own = Vec::new();
    for part in &turn.parts {
        match &part.kind {
            PartKind::ToolResult {
                id,
                parts,
                is_error,
            } => {
                write_result(part, id, parts, *is_error, json, ledger);
                let media = parts
                    .iter()
                    .filter(|part| !matches!(part.kind, PartKind::Text(_)));
                framed.extend(media.map(|part| (id, part)));
            }
            _ => own.push(part),
        }
    }
    if framed.is_empty() && own.is_empty() {
        return;
    }
    json.begin_object()
        .key("role")
        .literal("user")
        .key("content");
    if framed.is_empty() {
        write_user_content(&own, json, ledger);
    } else {
        json.begin_array();
        for (id, part) in framed {
            write_framed(id, part, names, json, ledger);
        }
        for part in own {
            write_user_part(part, json, ledger);
        }
        json.end_array();
    }
    json.end_object();
}

fn write_result(
    at: &Part<'_>,
    id: &EscapedText<'_>,
    parts: &[Part<'_>],
    is_error: bool,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    json.begin_object().key("role").literal("tool");
    json.key("tool_call_id").text(id).key("content");
    let line = ERROR_LINE;
    let mut all: Vec<&EscapedText<'_>> = Vec::new();
    if is_error {
        all.push(&line);
        let reason = "is an error, which only the text of the result says here";
        ledger.add(at.at, FieldOutcome::Approximated, reason);
    }
    all.extend(texts(parts));
    write_joined(&all, &EscapedText::literal(""), json);
    json.end_object();
}

/// Writes an image or document that a tool returned: results have only text here. It is named as what it is, so that it does
/// not pass for what the user shows.
fn write_framed(
    id: &EscapedText<'_>,
    part: &Part<'_>,
    names: &CallNames<'_>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let reason = "is in a message of the user behind the result, which has only text here";
    ledger.add(part.at, FieldOutcome::Approximated, reason);
    let unknown = EscapedText::literal("unknown");
    let name = names.get(id.as_written()).copied().unwrap_or(&unknown);
    let frame = [
        EscapedText::literal("The next item is not from the user. The tool `"),
        name.clone(),
        EscapedText::literal("` returned it:"),
    ];
    write_text_part(&frame.each_ref(), json);
    write_user_part(part, json, ledger);
}

fn write_assistant(
    caller: ConversationFormat,
    turn: &Turn<'_>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let mut thoughts: Vec<&EscapedText<'_>> = Vec::new();
    let mut refusals: Vec<&EscapedText<'_>> = Vec::new();
    let mut has_calls = false;
    for part in &turn.parts {
        match &part.kind {
            PartKind::Text(_) => {}
            PartKind::Refusal(text) => refusals.push(text),
            PartKind::ToolCall { .. } => has_calls = true,
            PartKind::Thinking { text, .. } => {
                match replay(part, caller, ConversationFormat::Chat, ledger) {
                    ThinkingReplay::ReasoningContent | ThinkingReplay::Same => thoughts.push(text),
                    ThinkingReplay::LeftOut => {}
                }
            }
            PartKind::SealedThinking { .. } => {
                replay(part, caller, ConversationFormat::Chat, ledger);
            }
            PartKind::Image { .. }
            | PartKind::Document { .. }
            | PartKind::Audio { .. }
            | PartKind::ToolResult { .. } => {
                let reason = "stands in a message of the assistant, where the chat protocol takes only texts";
                ledger.add(part.at, FieldOutcome::Refused, reason);
            }
        }
    }
    let content: Vec<&EscapedText<'_>> = texts(&turn.parts).collect();
    let none = EscapedText::literal("");
    json.begin_object()
        .key("role")
        .literal("assistant")
        .key("content");
    match content.is_empty() && (has_calls || !refusals.is_empty()) {
        true => {
            json.null();
        }
        false => write_joined(&content, &none, json),
    }
    for (name, pieces) in [("reasoning_content", &thoughts), ("refusal", &refusals)] {
        if !pieces.is_empty() {
            json.key(name);
            write_joined(pieces, &BLANK_LINE, json);
        }
    }
    if has_calls {
        json.key("tool_calls").begin_array();
        for part in &turn.parts {
            write_call(part, json);
        }
        json.end_array();
    }
    json.end_object();
}

fn write_call(part: &Part<'_>, json: &mut JsonWriter) {
    let PartKind::ToolCall {
        id,
        name,
        arguments,
    } = &part.kind
    else {
        return;
    };
    json.begin_object()
        .key("id")
        .text(id)
        .key("type")
        .literal("function");
    let name = sent_name(name, ConversationFormat::Chat);
    json.key("function").begin_object().key("name").text(&name);
    json.key("arguments").text(&arguments.json_text());
    json.end_object().end_object();
}
