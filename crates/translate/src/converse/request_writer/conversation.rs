//! Writes the turns of a conversation.

use super::content::{can_write, write_block, write_cache_point};
use super::document_names::DocumentNames;
use crate::dialect::ModelFamily;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::last_author::check_last_author;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Arguments, ContentRole, Part, PartKind, Request, Turn};
use crate::thinking::is_replayed;
use crate::tool_calls::ToolCallIndex;
use crate::tool_names::{sent_id, sent_name};
use crate::tool_results::ERROR_LINE;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};

pub(super) fn write_conversation(
    request: &Request<'_>,
    family: ModelFamily,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    json.key("messages").begin_array();
    let mut writer = ConverseTurnWriter {
        request,
        family,
        calls: ToolCallIndex::new(&request.turns, ledger),
        names: DocumentNames::default(),
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

/// Writes blocks, and begins a message where the author changes: messages of users and of the assistant alternate. What
/// has no blocks is no message.
struct ConverseTurnWriter<'w, 'r> {
    request: &'r Request<'r>,
    family: ModelFamily,
    calls: ToolCallIndex<'r>,
    names: DocumentNames,
    /// The author of the message that is open.
    author: Option<ContentRole>,
    json: &'w mut JsonWriter,
    ledger: &'w mut Ledger,
}

impl ConverseTurnWriter<'_, '_> {
    /// Results of tools come first in a turn of the user.
    fn write_user(&mut self, position: usize, turn: &Turn<'_>) {
        let mut texts = turn.parts.iter().map(|part| &part.kind);
        let has_text = texts.any(|kind| matches!(kind, PartKind::Text(text) if !text.is_blank()));
        let is_result = |part: &&Part<'_>| matches!(part.kind, PartKind::ToolResult { .. });
        let is_lone = |part: &Part<'_>| !has_text && matches!(part.kind, PartKind::Document { .. });
        let mut results = turn.parts.iter().filter(is_result).peekable();
        let has_results = results.peek().is_some();
        while let Some(part) = results.next() {
            self.begin_block(ContentRole::User, turn);
            let beside = turn.parts.iter().filter(|part| is_lone(part));
            // Agents give a file that a tool has read beside the last result.
            let beside = beside.filter(|_| results.peek().is_none());
            self.write_result(position, part, &beside.collect::<Vec<_>>());
        }
        for part in turn.parts.iter().filter(|part| !is_result(part)) {
            if is_lone(part) && has_results || !can_write(part, self.ledger) {
                continue;
            }
            if is_lone(part) {
                let reason = "is a document in a message without a text, which the converse protocol does not take; add a text";
                self.ledger.add(part.at, FieldOutcome::Refused, reason);
                continue;
            }
            self.begin_block(ContentRole::User, turn);
            write_block(part, &mut self.names, self.json, self.ledger);
            self.write_cache_point(part);
        }
    }

    /// Writes the result of a tool, and behind its content documents that stand beside it.
    fn write_result(&mut self, turn: usize, part: &Part<'_>, beside: &[&Part<'_>]) {
        let PartKind::ToolResult {
            id,
            parts,
            is_error,
        } = &part.kind
        else {
            return;
        };
        let is_error = *is_error;
        let call = self.calls.answered(&self.request.turns, turn, id);
        let repetition = call.map_or(0, |call| call.repetition);
        self.json.begin_object().key("toolResult").begin_object();
        let id = sent_id(id, repetition, ProviderFormat::Converse);
        self.json.key("toolUseId").text(&id);
        self.json.key("content").begin_array();
        let has_status = self.family.takes_result_status();
        if is_error && !has_status {
            let reason = "is an error of a tool, which becomes a line before its result, since the channel's model is not known to take it otherwise";
            self.ledger.add(part.at, FieldOutcome::Approximated, reason);
            self.json.begin_object();
            self.json.key("text").text(&ERROR_LINE).end_object();
        }
        for part in parts {
            if let PartKind::Audio { .. } = part.kind {
                let reason = "is audio in the result of a tool, where the converse protocol does not take it";
                self.ledger.add(part.at, FieldOutcome::Refused, reason);
            } else if can_write(part, self.ledger) {
                write_block(part, &mut self.names, self.json, self.ledger);
            }
            self.note_lost_mark(part);
        }
        for document in beside {
            if can_write(document, self.ledger) {
                let reason = "stands in the result of the tool before it, since the converse protocol takes no document beside results without a text";
                let approximated = FieldOutcome::Approximated;
                self.ledger.add(document.at, approximated, reason);
                write_block(document, &mut self.names, self.json, self.ledger);
            }
            self.note_lost_mark(document);
        }
        self.json.end_array();
        if is_error && has_status {
            self.json.key("status").literal("error");
        }
        self.json.end_object().end_object();
        self.write_cache_point(part);
    }

    fn note_lost_mark(&mut self, part: &Part<'_>) {
        if let Some(mark) = &part.cache {
            let reason =
                "is left out, since it stands inside of the result of a tool; mark the result";
            self.ledger.add(mark.at, FieldOutcome::Dropped, reason);
        }
    }

    fn write_assistant(&mut self, position: usize, turn: &Turn<'_>) {
        for part in &turn.parts {
            match &part.kind {
                PartKind::Thinking {
                    text, signature, ..
                } => self.write_thinking(turn, part, text, signature.as_ref()),
                PartKind::SealedThinking { data, .. } => {
                    self.write_sealed_thinking(turn, part, data);
                }
                PartKind::ToolCall {
                    id,
                    name,
                    arguments,
                } => self.write_call((position, turn), part, (id, name, arguments)),
                PartKind::Text(text) | PartKind::Refusal(text) if text.is_blank() => {
                    can_write(part, self.ledger);
                }
                PartKind::Text(_) | PartKind::Refusal(_) => {
                    self.begin_block(ContentRole::Assistant, turn);
                    write_block(part, &mut self.names, self.json, self.ledger);
                    self.write_cache_point(part);
                }
                PartKind::Image { .. }
                | PartKind::Document { .. }
                | PartKind::Audio { .. }
                | PartKind::ToolResult { .. } => {
                    let reason = "stands in a message of the assistant, where the converse protocol takes only texts and calls";
                    self.ledger.add(part.at, FieldOutcome::Refused, reason);
                }
            }
        }
    }

    fn write_thinking(
        &mut self,
        turn: &Turn<'_>,
        part: &Part<'_>,
        text: &EscapedText<'_>,
        signature: Option<&EscapedText<'_>>,
    ) {
        if !self.is_replayed(part) {
            return;
        }
        self.begin_block(ContentRole::Assistant, turn);
        self.json.begin_object();
        self.json.key("reasoningContent").begin_object();
        self.json.key("reasoningText").begin_object();
        self.json.key("text").text(text);
        if let Some(signature) = signature {
            self.json.key("signature").text(signature);
        }
        self.json.end_object().end_object().end_object();
    }

    fn write_sealed_thinking(&mut self, turn: &Turn<'_>, part: &Part<'_>, data: &EscapedText<'_>) {
        if !self.is_replayed(part) {
            return;
        }
        self.begin_block(ContentRole::Assistant, turn);
        self.json.begin_object();
        self.json.key("reasoningContent").begin_object();
        self.json.key("redactedContent").text(data);
        self.json.end_object().end_object();
    }

    fn is_replayed(&mut self, part: &Part<'_>) -> bool {
        let caller = self.request.protocol;
        is_replayed(part, caller, ProviderFormat::Converse, self.ledger)
    }

    /// Writes a call. Its arguments are the object as it is written.
    fn write_call(
        &mut self,
        (position, turn): (usize, &Turn<'_>),
        part: &Part<'_>,
        (id, name, arguments): (&EscapedText<'_>, &EscapedText<'_>, &Arguments<'_>),
    ) {
        let Some(input) = arguments.object() else {
            let reason =
                "has arguments that are no JSON object, which the converse protocol demands";
            self.ledger
                .add(part.at, FieldOutcome::AlwaysRefused, reason);
            return;
        };
        let call = self.calls.call(position, id);
        let repetition = call.map_or(0, |call| call.repetition);
        self.begin_block(ContentRole::Assistant, turn);
        self.json.begin_object().key("toolUse").begin_object();
        let id = sent_id(id, repetition, ProviderFormat::Converse);
        self.json.key("toolUseId").text(&id);
        let name = sent_name(name, ProviderFormat::Converse);
        self.json.key("name").text(&name);
        self.json.key("input").raw(input.as_bytes());
        self.json.end_object().end_object();
        self.write_cache_point(part);
    }

    fn write_cache_point(&mut self, part: &Part<'_>) {
        write_cache_point(part.cache.as_ref(), self.family, self.json, self.ledger);
    }

    fn begin_block(&mut self, author: ContentRole, turn: &Turn<'_>) {
        if self.author == Some(author) {
            return;
        }
        if self.author.is_none() && author == ContentRole::Assistant {
            let reason = "is of the assistant, and a conversation of the converse protocol begins with a message of the user";
            self.ledger
                .add(turn.at, FieldOutcome::AlwaysRefused, reason);
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

    /// Some models continue a message of the assistant at the end instead of answering it.
    fn finish(mut self) {
        self.end_message();
        let continues = self.request.protocol == ConversationFormat::Messages
            && self.family == ModelFamily::Claude;
        if continues && self.author == Some(ContentRole::Assistant) {
            return;
        }
        let continued = "is of the assistant, and the channel's model continues such a last message instead of answering it, or refuses it; end with a message of the user";
        let protocol = ProviderFormat::Converse;
        check_last_author(self.request, self.author, protocol, continued, self.ledger);
    }
}
