//! Writes the turns of a conversation.

use super::content::{can_write, write_block, write_cache_mark};
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::last_author::check_last_author;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Arguments, ContentRole, Part, PartKind, Request, Turn};
use crate::thinking::is_replayed;
use crate::tool_calls::ToolCallIndex;
use crate::tool_names::{sent_id, sent_name};
use headgate_protocol::conversation::ProviderFormat;

pub(super) fn write_conversation(
    request: &Request<'_>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    json.key("messages").begin_array();
    let mut writer = ConversationWriter {
        request,
        calls: ToolCallIndex::new(&request.turns, ledger),
        author: None,
        json,
        ledger,
    };
    for (position, turn) in request.turns.iter().enumerate() {
        match turn.role {
            ContentRole::Assistant => writer.write_assistant(position, turn),
            ContentRole::User => writer.write_user(position, turn),
            // Instructions stand before the conversation.
            ContentRole::System => {}
        }
    }
    writer.finish();
    json.end_array();
}

/// Writes blocks, and begins a message where the author changes. Turns on both sides of an instruction that was moved away
/// are one message, and what has no blocks is none.
struct ConversationWriter<'w, 'r> {
    request: &'r Request<'r>,
    calls: ToolCallIndex<'r>,
    /// The author of the message that is open.
    author: Option<ContentRole>,
    json: &'w mut JsonWriter,
    ledger: &'w mut Ledger,
}

impl ConversationWriter<'_, '_> {
    /// Results of tools come first in a turn of the user.
    fn write_user(&mut self, position: usize, turn: &Turn<'_>) {
        let mut follows_others = false;
        for part in &turn.parts {
            let PartKind::ToolResult {
                id,
                parts,
                is_error,
            } = &part.kind
            else {
                follows_others = true;
                continue;
            };
            if follows_others {
                let reason = "is sent before the content before it, since results are first in a turn of the messages protocol";
                self.ledger.add_alike(part.at, reason);
            }
            self.write_result(position, part, (id, parts, *is_error));
        }
        for part in &turn.parts {
            let is_result = matches!(part.kind, PartKind::ToolResult { .. });
            if !is_result && can_write(part, self.ledger) {
                self.begin_block(ContentRole::User);
                write_block(part, self.json, self.ledger);
            }
        }
    }

    fn write_result(
        &mut self,
        turn: usize,
        part: &Part<'_>,
        (id, parts, is_error): (&EscapedText<'_>, &[Part<'_>], bool),
    ) {
        let call = self.calls.answered(&self.request.turns, turn, id);
        let repetition = call.map_or(0, |call| call.repetition);
        self.begin_block(ContentRole::User);
        self.json.begin_object().key("type").literal("tool_result");
        self.json
            .key("tool_use_id")
            .text(&sent_id(id, repetition, ProviderFormat::Messages));
        if !parts.is_empty() {
            self.json.key("content");
            self.write_result_content(parts);
        }
        if is_error {
            self.json.key("is_error").bool(true);
        }
        write_cache_mark(part.cache.as_ref(), self.json, self.ledger);
        self.json.end_object();
    }

    fn write_result_content(&mut self, parts: &[Part<'_>]) {
        if let [
            Part {
                kind: PartKind::Text(text),
                cache: None,
                ..
            },
        ] = parts
        {
            self.json.text(text);
            return;
        }
        self.json.begin_array();
        for part in parts {
            if can_write(part, self.ledger) {
                write_block(part, self.json, self.ledger);
            }
        }
        self.json.end_array();
    }

    fn write_assistant(&mut self, position: usize, turn: &Turn<'_>) {
        for part in &turn.parts {
            match &part.kind {
                PartKind::Thinking {
                    text, signature, ..
                } => self.write_thinking(part, text, signature.as_ref()),
                PartKind::SealedThinking { data, .. } => self.write_sealed_thinking(part, data),
                PartKind::ToolCall {
                    id,
                    name,
                    arguments,
                } => self.write_call(position, part, (id, name, arguments)),
                PartKind::Text(text) | PartKind::Refusal(text) if text.is_blank() => {
                    can_write(part, self.ledger);
                }
                PartKind::Text(_) | PartKind::Refusal(_) => {
                    self.begin_block(ContentRole::Assistant);
                    write_block(part, self.json, self.ledger);
                }
                PartKind::Image { .. }
                | PartKind::Document { .. }
                | PartKind::Audio { .. }
                | PartKind::ToolResult { .. } => {
                    let reason = "stands in a message of the assistant, where the messages protocol takes only texts and calls";
                    self.ledger.add(part.at, FieldOutcome::Refused, reason);
                }
            }
        }
    }

    fn write_thinking(
        &mut self,
        part: &Part<'_>,
        text: &EscapedText<'_>,
        signature: Option<&EscapedText<'_>>,
    ) {
        if !self.is_replayed(part) {
            return;
        }
        self.begin_block(ContentRole::Assistant);
        let unsigned = EscapedText::literal("");
        self.json.begin_object().key("type").literal("thinking");
        self.json.key("thinking").text(text).key("signature");
        self.json.text(signature.unwrap_or(&unsigned)).end_object();
    }

    fn write_sealed_thinking(&mut self, part: &Part<'_>, data: &EscapedText<'_>) {
        if !self.is_replayed(part) {
            return;
        }
        self.begin_block(ContentRole::Assistant);
        self.json.begin_object();
        self.json.key("type").literal("redacted_thinking");
        self.json.key("data").text(data).end_object();
    }

    fn is_replayed(&mut self, part: &Part<'_>) -> bool {
        let caller = self.request.protocol;
        is_replayed(part, caller, ProviderFormat::Messages, self.ledger)
    }

    /// Writes a call. Its arguments are the object as it is written.
    fn write_call(
        &mut self,
        turn: usize,
        part: &Part<'_>,
        (id, name, arguments): (&EscapedText<'_>, &EscapedText<'_>, &Arguments<'_>),
    ) {
        let Some(input) = arguments.object() else {
            let reason =
                "has arguments that are no JSON object, which the messages protocol demands";
            self.ledger
                .add(part.at, FieldOutcome::AlwaysRefused, reason);
            return;
        };
        let call = self.calls.call(turn, id);
        let repetition = call.map_or(0, |call| call.repetition);
        self.begin_block(ContentRole::Assistant);
        self.json.begin_object().key("type").literal("tool_use");
        self.json
            .key("id")
            .text(&sent_id(id, repetition, ProviderFormat::Messages));
        let name = sent_name(name, ProviderFormat::Messages);
        self.json.key("name").text(&name);
        self.json.key("input").raw(input.as_bytes());
        write_cache_mark(part.cache.as_ref(), self.json, self.ledger);
        self.json.end_object();
    }

    fn begin_block(&mut self, author: ContentRole) {
        if self.author == Some(author) {
            return;
        }
        self.end_message();
        self.author = Some(author);
        self.json.begin_object().key("role");
        self.json.literal(match author {
            ContentRole::Assistant => "assistant",
            ContentRole::User | ContentRole::System => "user",
        });
        self.json.key("content").begin_array();
    }

    fn end_message(&mut self) {
        if self.author.is_some() {
            self.json.end_array().end_object();
        }
    }

    /// Providers want a message of the user, and continue one of the assistant at the end instead of answering it.
    fn finish(mut self) {
        self.end_message();
        let continued = "is of the assistant, and the messages protocol continues such a last message instead of answering it; end with a message of the user";
        let protocol = ProviderFormat::Messages;
        check_last_author(self.request, self.author, protocol, continued, self.ledger);
    }
}
