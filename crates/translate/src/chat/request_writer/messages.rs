//! Writes the messages of a conversation.

use super::content::{
    BLANK_LINE, ChatContentWriter, NO_SPACE, text_pieces, write_joined, write_text_part,
    write_user_content,
};
use crate::answer_instruction::{answer_instruction, needed_support};
use crate::chat::reasoning_details::write_detail;
use crate::dialect::{CallIdForm, ChatDialect, ReasoningHistory, ReasoningMember};
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Arguments, ContentRole, Part, PartKind, Request, Turn};
use crate::thinking::{ThinkingReplay, replay};
use crate::tool_calls::ToolCallIndex;
use crate::tool_names::{sent_call_id, sent_name};
use crate::tool_results::media_frame;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};

pub(super) fn write_messages(
    request: &Request<'_>,
    dialect: &ChatDialect,
    takes_custom: bool,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    json.key("messages").begin_array();
    let calls = ToolCallIndex::new(&request.turns, ledger);
    let mut writer = MessageWriter {
        request,
        calls,
        takes_custom,
        content: ChatContentWriter {
            dialect,
            json,
            ledger,
        },
    };
    let format = request.output_format.as_ref();
    let asked = format.filter(|format| needed_support(format) > dialect.output_format);
    match asked.and_then(answer_instruction) {
        Some(instruction) => {
            let mut instructions = request.instructions.clone();
            instructions.push(Part {
                at: request.body,
                kind: PartKind::Text(EscapedText::plain(&instruction)),
                cache: None,
            });
            writer.write_system(&instructions);
        }
        None if !request.instructions.is_empty() => writer.write_system(&request.instructions),
        None => {}
    }
    for (position, turn) in request.turns.iter().enumerate() {
        match turn.role {
            ContentRole::System => writer.write_system(&turn.parts),
            ContentRole::User => writer.write_user(position, turn),
            ContentRole::Assistant => writer.write_assistant(turn),
        }
    }
    writer.refuse_prefill();
    json.end_array();
}

/// Why thoughts of the channel's own model are left out.
const NOT_TAKEN_BACK: &str = "has thoughts that the channel's provider does not take back";

struct MessageWriter<'w, 'r> {
    request: &'r Request<'r>,
    calls: ToolCallIndex<'r>,
    /// Whether the model takes tools of free text.
    takes_custom: bool,
    content: ChatContentWriter<'w>,
}

/// What the parts of a turn of the assistant become.
#[derive(Default)]
struct AssistantMessage<'p, 'a> {
    texts: Vec<&'p Part<'a>>,
    refusals: Vec<&'p EscapedText<'a>>,
    thoughts: Vec<&'p EscapedText<'a>>,
    /// Proofs of thoughts, and their texts.
    details: Vec<(Option<&'p EscapedText<'a>>, Option<&'p EscapedText<'a>>)>,
    calls: Vec<&'p Part<'a>>,
}

impl MessageWriter<'_, '_> {
    fn write_system(&mut self, parts: &[Part<'_>]) {
        let mut texts = Vec::with_capacity(parts.len());
        for part in parts {
            if let PartKind::Text(_) = part.kind {
                texts.push(part);
            } else {
                let reason = "stands in instructions, where the chat protocol takes only texts";
                self.note(part, FieldOutcome::Refused, reason);
            }
        }
        if !texts.is_empty() {
            self.begin_message("system");
            let joined = "is joined to the instruction before it, since engines of the chat protocol take one text";
            self.content.write_texts(&texts, &BLANK_LINE, joined);
            self.content.json.end_object();
        }
    }

    /// Writes the results of tools, which must come directly after their calls, then what the user says.
    fn write_user(&mut self, position: usize, turn: &Turn<'_>) {
        let mut media = Vec::new();
        let mut own = Vec::new();
        let mut has_results = false;
        for part in &turn.parts {
            let PartKind::ToolResult { id, parts, .. } = &part.kind else {
                if self.content.can_write(part) {
                    own.push(part);
                }
                continue;
            };
            if !own.is_empty() {
                let reason = "is sent before the content before it, directly after its call";
                self.note(part, FieldOutcome::Approximated, reason);
            }
            self.write_result(part);
            has_results = true;
            for part in parts {
                if text_pieces(part).is_none() && self.content.can_write(part) {
                    media.push((id, part));
                }
            }
        }
        if let Some(first) = own
            .first()
            .copied()
            .or(media.first().map(|(_, part)| *part))
            && has_results
        {
            self.write_between_results(first);
        }
        if !media.is_empty() {
            self.write_media_of_results(position, &media);
        }
        if !own.is_empty() {
            self.begin_message("user");
            write_user_content(&own, &mut self.content);
            self.content.json.end_object();
        }
    }

    /// Writes a message of the assistant after results, for providers that refuse one of the user there.
    fn write_between_results(&mut self, next: &Part<'_>) {
        let dialect = self.content.dialect;
        if let Some(text) = &dialect.after_results {
            let reason = "follows a message of the assistant that the gateway adds, since the channel's provider takes none of the user directly after results";
            self.note(next, FieldOutcome::Approximated, reason);
            self.begin_message("assistant");
            self.content.json.plain(text).end_object();
        }
    }

    fn write_result(&mut self, result: &Part<'_>) {
        let PartKind::ToolResult {
            id,
            parts,
            is_error,
        } = &result.kind
        else {
            return;
        };
        self.begin_message("tool");
        let texts: Vec<&Part<'_>> = parts
            .iter()
            .filter(|part| text_pieces(part).is_some())
            .collect();
        self.content.write_result(result, &texts, *is_error);
        let id = sent_call_id(id, self.content.dialect.tools.call_ids);
        self.content.json.key("tool_call_id").text(&id).end_object();
    }

    /// Writes the images and documents that tools returned: results have only text here. Each is named as what it is, in a
    /// message apart from that of the user, so that it does not pass for what the user shows.
    fn write_media_of_results(&mut self, turn: usize, media: &[(&EscapedText<'_>, &Part<'_>)]) {
        self.begin_message("user");
        self.content.json.begin_array();
        for (id, part) in media {
            let reason = "is in a message after the results, which have only text here";
            self.note(part, FieldOutcome::Approximated, reason);
            let unknown = EscapedText::literal("unknown");
            let call = self.calls.answered(&self.request.turns, turn, id);
            let name = call.map_or(&unknown, |call| call.name);
            let name = sent_name(name, ProviderFormat::Chat);
            write_text_part(&media_frame(&name).each_ref(), self.content.json);
            self.content.json.end_object();
            self.content.write_user_part(part);
        }
        self.content.json.end_array().end_object();
    }

    fn write_assistant(&mut self, turn: &Turn<'_>) {
        let message = self.sort_parts(turn);
        let has_no_text = message.texts.is_empty();
        let is_empty =
            message.calls.is_empty() && message.refusals.is_empty() && message.details.is_empty();
        if has_no_text && is_empty {
            return;
        }
        self.begin_message("assistant");
        let reasoning = &self.content.dialect.reasoning;
        let in_content = reasoning.member == ReasoningMember::Content;
        let call_ids = self.content.dialect.tools.call_ids;
        if in_content && !message.thoughts.is_empty() {
            self.write_thoughts_in_content(&message);
        } else if has_no_text && !(message.calls.is_empty() && message.refusals.is_empty()) {
            self.content.json.null();
        } else {
            let joined = "is joined to the text before it, since a message of the assistant is one text in the chat protocol";
            self.content.write_texts(&message.texts, &NO_SPACE, joined);
        }
        if !in_content {
            self.write_thoughts(&message);
        }
        let json = &mut *self.content.json;
        if !message.refusals.is_empty() {
            write_joined(&message.refusals, &BLANK_LINE, json.key("refusal"));
        }
        if !message.calls.is_empty() {
            json.key("tool_calls").begin_array();
            for call in &message.calls {
                write_call(call, self.takes_custom, call_ids, json);
            }
            json.end_array();
        }
        json.end_object();
    }

    /// Writes thoughts beside the content.
    fn write_thoughts(&mut self, message: &AssistantMessage<'_, '_>) {
        let reasoning = &self.content.dialect.reasoning;
        let json = &mut *self.content.json;
        let name = match reasoning.member {
            ReasoningMember::ReasoningContent | ReasoningMember::Content => "reasoning_content",
            ReasoningMember::Reasoning | ReasoningMember::ReasoningDetails => "reasoning",
        };
        let has_proofs = message.details.iter().any(|(proof, _)| proof.is_some());
        if reasoning.member == ReasoningMember::ReasoningDetails && has_proofs {
            json.key("reasoning_details").begin_array();
            for (proof, text) in &message.details {
                write_detail(*proof, *text, json);
            }
            json.end_array();
        } else if !message.thoughts.is_empty() {
            write_joined(&message.thoughts, &BLANK_LINE, json.key(name));
        } else if reasoning.is_empty_if_missing
            && let Some(call) = message.calls.first()
        {
            json.key(name).literal("");
            let reason = "is sent with empty thoughts, since the channel's provider demands some and there are none to give back";
            self.note(call, FieldOutcome::Approximated, reason);
        }
    }

    /// Writes thoughts as parts of the content, before the texts.
    fn write_thoughts_in_content(&mut self, message: &AssistantMessage<'_, '_>) {
        let json = &mut *self.content.json;
        json.begin_array().begin_object();
        json.key("type").literal("thinking").key("thinking");
        json.begin_array();
        for thoughts in &message.thoughts {
            write_text_part(&[thoughts], json);
            json.end_object();
        }
        json.end_array().end_object();
        self.content.write_parts(&message.texts);
        self.content.json.end_array();
    }

    /// Texts come before calls here.
    fn sort_parts<'p, 'a>(&mut self, turn: &'p Turn<'a>) -> AssistantMessage<'p, 'a> {
        let takes_thoughts = self.takes_thoughts(turn);
        let reasoning = &self.content.dialect.reasoning;
        let has_details = reasoning.member == ReasoningMember::ReasoningDetails;
        let mut message = AssistantMessage::default();
        for part in &turn.parts {
            match &part.kind {
                PartKind::Text(_) => {
                    if !message.calls.is_empty() {
                        let reason = "is sent before the calls before it";
                        self.note(part, FieldOutcome::Approximated, reason);
                    }
                    message.texts.push(part);
                }
                PartKind::Refusal(text) => {
                    self.note_joined(part, !message.refusals.is_empty());
                    message.refusals.push(text);
                }
                PartKind::ToolCall { .. } => {
                    self.content.note_lost_mark(part.cache.as_ref());
                    message.calls.push(part);
                }
                PartKind::Thinking {
                    text, signature, ..
                } => match self.replay(part) {
                    ThinkingReplay::ReasoningContent | ThinkingReplay::Same if takes_thoughts => {
                        self.note_joined(part, !has_details && !message.thoughts.is_empty());
                        message.thoughts.push(text);
                        message.details.push((signature.as_ref(), Some(text)));
                    }
                    ThinkingReplay::ReasoningContent | ThinkingReplay::Same => {
                        self.note(part, FieldOutcome::Dropped, NOT_TAKEN_BACK);
                    }
                    ThinkingReplay::LeftOut => {}
                },
                PartKind::SealedThinking { data, .. } => match self.replay(part) {
                    ThinkingReplay::ReasoningContent if takes_thoughts && has_details => {
                        message.details.push((Some(data), None));
                    }
                    ThinkingReplay::ReasoningContent => {
                        self.note(part, FieldOutcome::Dropped, NOT_TAKEN_BACK);
                    }
                    ThinkingReplay::Same | ThinkingReplay::LeftOut => {}
                },
                PartKind::Image { .. }
                | PartKind::Document { .. }
                | PartKind::Audio { .. }
                | PartKind::ToolResult { .. } => {
                    let reason = "stands in a message of the assistant, where the chat protocol takes only texts";
                    self.note(part, FieldOutcome::Refused, reason);
                }
            }
        }
        message
    }

    /// Whether the provider takes the thoughts of a turn back.
    fn takes_thoughts(&self, turn: &Turn<'_>) -> bool {
        let is_call = |part: &Part<'_>| matches!(part.kind, PartKind::ToolCall { .. });
        match self.content.dialect.reasoning.history {
            ReasoningHistory::All => true,
            ReasoningHistory::Calls => turn.parts.iter().any(is_call),
            ReasoningHistory::None => false,
        }
    }

    fn replay(&mut self, part: &Part<'_>) -> ThinkingReplay {
        let caller = self.request.protocol;
        replay(part, caller, ProviderFormat::Chat, self.content.ledger)
    }

    /// Begins a message, up to its content.
    fn begin_message(&mut self, role: &'static str) {
        let json = &mut *self.content.json;
        json.begin_object().key("role").literal(role).key("content");
    }

    /// Notes a thought or a refusal after another one of the same message.
    fn note_joined(&mut self, part: &Part<'_>, follows_another: bool) {
        if follows_another {
            let reason =
                "is joined to the one before it, since a message has one in the chat protocol";
            self.content.ledger.add_alike(part.at, reason);
        }
    }

    fn note(&mut self, part: &Part<'_>, outcome: FieldOutcome, reason: &'static str) {
        self.content.ledger.add(part.at, outcome, reason);
    }

    /// Providers of chat answer a last message of the assistant instead of continuing it.
    fn refuse_prefill(&mut self) {
        let last = self.request.turns.last();
        if let Some(turn) = last.filter(|turn| turn.role == ContentRole::Assistant)
            && self.request.protocol != ConversationFormat::Chat
        {
            let reason = "is of the assistant, and the chat protocol does not continue such a last message; end with a message of the user";
            let outcome = FieldOutcome::Refused;
            self.content.ledger.add(turn.at, outcome, reason);
        }
    }
}

fn write_call(part: &Part<'_>, takes_custom: bool, call_ids: CallIdForm, json: &mut JsonWriter) {
    let PartKind::ToolCall {
        id,
        name,
        arguments,
    } = &part.kind
    else {
        return;
    };
    let (kind, member, text) = match arguments {
        Arguments::FreeText(text) if takes_custom => ("custom", "input", text.clone()),
        Arguments::Object(_) | Arguments::Text(_) | Arguments::FreeText(_) => {
            ("function", "arguments", arguments.json_text())
        }
    };
    let id = sent_call_id(id, call_ids);
    json.begin_object().key("id").text(&id);
    json.key("type").literal(kind).key(kind).begin_object();
    let name = sent_name(name, ProviderFormat::Chat);
    json.key("name").text(&name).key(member).text(&text);
    json.end_object().end_object();
}
