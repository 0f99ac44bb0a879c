//! Writes turns as the items of the input.

use super::content::{ContentSide, ContentWriter};
use crate::dialect::CallIdForm;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::FieldOutcome;
use crate::responses::output_item::write_summary_part;
use crate::superset::{Arguments, ContentRole, Part, PartKind, Turn};
use crate::thinking::{ThinkingReplay, replay};
use crate::tool_names::{sent_call_id, sent_name};
use crate::tool_results::ERROR_LINE;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use std::collections::BTreeSet;

#[derive(Debug)]
pub(super) struct ItemWriter<'w, 'a> {
    caller: ConversationFormat,
    content: ContentWriter<'w>,
    json: &'w mut JsonWriter,
    /// Ids of calls that take free text: their results are items of another type.
    custom_calls: BTreeSet<&'a str>,
    /// The role of the message that is not ended.
    open_message: Option<ContentRole>,
}

impl<'w, 'a> ItemWriter<'w, 'a> {
    pub(super) fn new(
        caller: ConversationFormat,
        content: ContentWriter<'w>,
        json: &'w mut JsonWriter,
    ) -> Self {
        Self {
            caller,
            content,
            json,
            custom_calls: BTreeSet::new(),
            open_message: None,
        }
    }

    pub(super) fn write_instructions(&mut self, parts: &'a [Part<'_>]) {
        self.write_parts(ContentRole::System, parts);
    }

    pub(super) fn write_turn(&mut self, turn: &'a Turn<'_>) {
        self.write_parts(turn.role, &turn.parts);
    }

    /// Refuses a conversation that ends with the start of the answer, which some messages models continue.
    pub(super) fn check_end(&mut self, last: Option<&Turn<'_>>) {
        let is_start = |turn: &&Turn<'_>| turn.role == ContentRole::Assistant;
        if self.caller == ConversationFormat::Messages
            && let Some(turn) = last.filter(is_start)
        {
            let reason =
                "is the start of an answer, which the responses protocol does not continue";
            let ledger = &mut self.content.ledger;
            ledger.add(turn.at, FieldOutcome::Refused, reason);
        }
    }

    fn write_parts(&mut self, role: ContentRole, parts: &'a [Part<'_>]) {
        for part in parts {
            match &part.kind {
                PartKind::ToolCall {
                    id,
                    name,
                    arguments,
                } => self.write_call(id, name, arguments),
                PartKind::ToolResult {
                    id,
                    parts,
                    is_error,
                } => self.write_result(id, parts, *is_error),
                PartKind::Thinking {
                    text, signature, ..
                } => self.write_thinking(part, Some(text), signature.as_ref()),
                PartKind::SealedThinking { data, .. } => {
                    self.write_thinking(part, None, Some(data));
                }
                PartKind::Text(text) if text.is_empty() => {}
                PartKind::Text(_)
                | PartKind::Refusal(_)
                | PartKind::Image { .. }
                | PartKind::Document { .. }
                | PartKind::Audio { .. } => self.write_content(role, part),
            }
        }
        self.end_message();
    }

    /// Writes a part of a message, which begins with the first one.
    fn write_content(&mut self, role: ContentRole, part: &Part<'_>) {
        let (name, side) = match role {
            ContentRole::User => ("user", ContentSide::Input),
            ContentRole::Assistant => ("assistant", ContentSide::Output),
            ContentRole::System => ("system", ContentSide::Input),
        };
        if self.open_message.is_none() {
            self.begin_item("message").key("role").literal(name);
            self.json.key("content").begin_array();
            self.open_message = Some(role);
        }
        self.content.write(part, side, self.json);
    }

    fn end_message(&mut self) {
        if self.open_message.take().is_some() {
            self.json.end_array().end_object();
        }
    }

    fn begin_item(&mut self, kind: &'static str) -> &mut JsonWriter {
        self.end_message();
        self.json.begin_object().key("type").literal(kind)
    }

    fn write_call(
        &mut self,
        id: &'a EscapedText<'_>,
        name: &EscapedText<'_>,
        arguments: &Arguments<'_>,
    ) {
        let (kind, member, text) = match arguments {
            Arguments::FreeText(text) => {
                self.custom_calls.insert(id.as_written());
                ("custom_tool_call", "input", text.clone())
            }
            Arguments::Object(_) | Arguments::Text(_) => {
                ("function_call", "arguments", arguments.json_text())
            }
        };
        let name = sent_name(name, ProviderFormat::Responses);
        let json = self.begin_item(kind);
        json.key("call_id").text(&sent_call_id(id, CallIdForm::Any));
        json.key("name").text(&name);
        json.key(member).text(&text).end_object();
    }

    fn write_result(&mut self, id: &EscapedText<'_>, parts: &[Part<'_>], is_error: bool) {
        let kind = match self.custom_calls.contains(id.as_written()) {
            true => "custom_tool_call_output",
            false => "function_call_output",
        };
        let json = self.begin_item(kind);
        json.key("call_id").text(&sent_call_id(id, CallIdForm::Any));
        json.key("output");
        match parts {
            [] if is_error => {
                json.text(&ERROR_LINE);
            }
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
                let error = if is_error {
                    ERROR_LINE
                } else {
                    EscapedText::default()
                };
                json.text_pieces(&[&error, text]);
            }
            parts => {
                json.begin_array();
                if is_error {
                    json.begin_object().key("type").literal("input_text");
                    json.key("text").text(&ERROR_LINE).end_object();
                }
                for part in parts {
                    self.content.write(part, ContentSide::Input, self.json);
                }
                self.json.end_array();
            }
        }
        self.json.end_object();
    }

    fn write_thinking(
        &mut self,
        part: &Part<'_>,
        text: Option<&EscapedText<'_>>,
        encrypted_content: Option<&EscapedText<'_>>,
    ) {
        let channel = ProviderFormat::Responses;
        match replay(part, self.caller, channel, self.content.ledger) {
            ThinkingReplay::Same => {}
            ThinkingReplay::ReasoningContent | ThinkingReplay::LeftOut => return,
        }
        let json = self.begin_item("reasoning");
        json.key("summary").begin_array();
        if let Some(text) = text {
            write_summary_part(text, json);
        }
        json.end_array();
        if let Some(sealed) = encrypted_content {
            json.key("encrypted_content").text(sealed);
        }
        json.end_object();
    }
}
