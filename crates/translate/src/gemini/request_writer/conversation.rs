//! Writes the turns of a conversation. Consecutive ones of one author are one content, but for results of tools.

mod results;

use super::content::{can_write_user_part, write_user_part};
use super::marks::note_mark;
use crate::escaped_text::EscapedText;
use crate::gemini::models::GeminiModel;
use crate::gemini::signatures::SignaturePlace;
use crate::json_writer::JsonWriter;
use crate::last_author::check_last_author;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Arguments, ContentRole, Part, PartKind, Request, Turn};
use crate::thinking::is_replayed;
use crate::tool_calls::ToolCallIndex;
use crate::tool_names::sent_name;
use headgate_protocol::conversation::ProviderFormat;
use headgate_protocol::json::DocumentNode;

/// What Google documents for calls of which there is no signature, since another model made them.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(super) fn write_conversation(
    request: &Request<'_>,
    (model, has_call_ids): (GeminiModel, bool),
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    json.key("contents").begin_array();
    let mut writer = TurnWriter {
        request,
        model,
        has_call_ids,
        calls: ToolCallIndex::new(&request.turns, ledger),
        author: None,
        holds_results: false,
        json,
        ledger,
    };
    for (position, turn) in request.turns.iter().enumerate() {
        match turn.role {
            ContentRole::Assistant => writer.write_assistant(turn),
            ContentRole::User => writer.write_user(position, turn),
            // Instructions stand before the conversation.
            ContentRole::System => {}
        }
    }
    writer.finish();
    json.end_array();
}

struct TurnWriter<'w, 'r> {
    request: &'r Request<'r>,
    model: GeminiModel,
    /// Whether calls and their results have ids; otherwise their names and order say which belong together.
    has_call_ids: bool,
    calls: ToolCallIndex<'r>,
    /// The author of the content that is open.
    author: Option<ContentRole>,
    /// Whether the content that is open has results of tools. Nothing else may stand beside them.
    holds_results: bool,
    json: &'w mut JsonWriter,
    ledger: &'w mut Ledger,
}

/// The proofs of a turn of the model, by where they belong, and where the caller has them.
#[derive(Default)]
struct TurnSignatures<'a> {
    placed: Vec<(SignaturePlace, EscapedText<'a>, DocumentNode<'a>)>,
}

impl<'a> TurnSignatures<'a> {
    fn take(&mut self, place: SignaturePlace) -> Option<EscapedText<'a>> {
        let mut placed = self.placed.iter();
        let at = placed.position(|(its_place, ..)| *its_place == place)?;
        Some(self.placed.swap_remove(at).1)
    }
}

impl TurnWriter<'_, '_> {
    /// Results of tools come first, in the order of their calls, and then what is not in results here.
    fn write_user(&mut self, position: usize, turn: &Turn<'_>) {
        let mut results: Vec<_> = turn
            .parts
            .iter()
            .filter_map(|part| {
                let PartKind::ToolResult { id, .. } = &part.kind else {
                    return None;
                };
                let call = self.calls.answered(&self.request.turns, position, id);
                Some((call.map_or(usize::MAX, |call| call.part), part))
            })
            .collect();
        results.sort_by_key(|(call, _)| *call);
        for (_, part) in &results {
            self.write_result(position, part);
        }
        for (_, part) in &results {
            self.write_media_of_result(position, part);
        }
        for part in &turn.parts {
            let is_result = matches!(part.kind, PartKind::ToolResult { .. });
            if !is_result && can_write_user_part(part, self.model, self.ledger) {
                self.begin_part(ContentRole::User);
                write_user_part(part, self.model, self.json, self.ledger);
            }
        }
    }

    fn write_assistant(&mut self, turn: &Turn<'_>) {
        let mut signatures = self.turn_signatures(turn);
        let (mut texts, mut calls) = (0, 0);
        for part in &turn.parts {
            match &part.kind {
                PartKind::Thinking {
                    text, signature, ..
                } => self.write_thought(part, text, signature.as_ref()),
                PartKind::SealedThinking { .. } => {}
                PartKind::Text(text) | PartKind::Refusal(text) => {
                    let signature = signatures.take(SignaturePlace::Text(texts));
                    texts += 1;
                    self.write_text(part, text, signature.as_ref());
                }
                PartKind::ToolCall {
                    id,
                    name,
                    arguments,
                } => {
                    let signature = signatures.take(SignaturePlace::Call(calls));
                    self.write_call(part, (id, name, arguments), signature, calls == 0);
                    calls += 1;
                }
                PartKind::Image { .. }
                | PartKind::Document { .. }
                | PartKind::Audio { .. }
                | PartKind::ToolResult { .. } => {
                    let reason = "stands in a message of the assistant, where the gemini protocol takes only texts and calls";
                    self.ledger.add(part.at, FieldOutcome::Refused, reason);
                }
            }
        }
        for (place, signature, at) in signatures.placed {
            self.write_alone(place, &signature, at);
        }
    }

    /// Writes a proof whose part is not there as a part of its own, unless it is that of a call.
    fn write_alone(
        &mut self,
        place: SignaturePlace,
        signature: &EscapedText<'_>,
        at: DocumentNode<'_>,
    ) {
        if let SignaturePlace::Call(_) = place {
            let reason = "is the proof of thoughts before a call that is not there";
            self.ledger.add(at, FieldOutcome::Dropped, reason);
            return;
        }
        self.begin_part(ContentRole::Assistant);
        self.json.begin_object().key("text").literal("");
        self.json
            .key("thoughtSignature")
            .text(signature)
            .end_object();
    }

    /// The proofs of the channel's own in a turn.
    fn turn_signatures<'a>(&mut self, turn: &Turn<'a>) -> TurnSignatures<'a> {
        let mut signatures = TurnSignatures::default();
        for part in &turn.parts {
            let PartKind::SealedThinking { data, .. } = &part.kind else {
                continue;
            };
            if !self.is_replayed(part) {
                continue;
            }
            match SignaturePlace::split(data) {
                Some((place, signature)) => signatures.placed.push((place, signature, part.at)),
                None => {
                    let reason = "is no proof of thoughts of this provider";
                    self.ledger.add(part.at, FieldOutcome::Dropped, reason);
                }
            }
        }
        signatures
    }

    fn is_replayed(&mut self, part: &Part<'_>) -> bool {
        let caller = self.request.protocol;
        is_replayed(part, caller, ProviderFormat::Gemini, self.ledger)
    }

    fn write_thought(
        &mut self,
        part: &Part<'_>,
        text: &EscapedText<'_>,
        signature: Option<&EscapedText<'_>>,
    ) {
        if !self.is_replayed(part) {
            return;
        }
        self.begin_part(ContentRole::Assistant);
        self.json.begin_object().key("text").text(text);
        self.json.key("thought").bool(true);
        if let Some(signature) = signature {
            self.json.key("thoughtSignature").text(signature);
        }
        self.json.end_object();
    }

    fn write_text(
        &mut self,
        part: &Part<'_>,
        text: &EscapedText<'_>,
        signature: Option<&EscapedText<'_>>,
    ) {
        if signature.is_none() && !can_write_user_part(part, self.model, self.ledger) {
            return;
        }
        note_mark(part.cache.as_ref(), self.ledger);
        self.begin_part(ContentRole::Assistant);
        self.json.begin_object().key("text").text(text);
        if let Some(signature) = signature {
            self.json.key("thoughtSignature").text(signature);
        }
        self.json.end_object();
    }

    /// Writes a call. Its arguments are the object as it is written.
    fn write_call(
        &mut self,
        part: &Part<'_>,
        (id, name, arguments): (&EscapedText<'_>, &EscapedText<'_>, &Arguments<'_>),
        signature: Option<EscapedText<'_>>,
        is_first: bool,
    ) {
        let Some(object) = arguments.object() else {
            let reason = "has arguments that are no JSON object, which the gemini protocol demands";
            self.ledger
                .add(part.at, FieldOutcome::AlwaysRefused, reason);
            return;
        };
        note_mark(part.cache.as_ref(), self.ledger);
        self.begin_part(ContentRole::Assistant);
        self.json.begin_object().key("functionCall").begin_object();
        let name = sent_name(name, ProviderFormat::Gemini);
        self.write_call_id(id);
        self.json.key("name").text(&name);
        self.json.key("args").raw(object.as_bytes()).end_object();
        match signature {
            Some(signature) => {
                self.json.key("thoughtSignature").text(&signature);
            }
            None if is_first && self.model.demands_signatures => {
                let reason = "is sent as a call of another model: there is no signature of the thoughts before it";
                self.ledger.add(part.at, FieldOutcome::Approximated, reason);
                self.json.key("thoughtSignature").literal(NO_SIGNATURE);
            }
            None => {}
        }
        self.json.end_object();
    }

    fn write_call_id(&mut self, id: &EscapedText<'_>) {
        if self.has_call_ids {
            self.json.key("id").text(id);
        }
    }

    /// The name of the call that a result in a turn answers, as the provider knows it.
    fn name_of_call(&self, turn: usize, id: &EscapedText<'_>) -> EscapedText<'static> {
        let call = self.calls.answered(&self.request.turns, turn, id);
        call.map_or(EscapedText::literal("unknown"), |call| {
            sent_name(call.name, ProviderFormat::Gemini).into_owned()
        })
    }

    fn begin_part(&mut self, author: ContentRole) {
        self.begin_part_in(author, false);
    }

    /// Begins a result. Gemini on Vertex AI refuses a content with results and anything else.
    fn begin_result(&mut self) {
        self.begin_part_in(ContentRole::User, true);
    }

    fn begin_part_in(&mut self, author: ContentRole, is_result: bool) {
        if self.author == Some(author) && self.holds_results == is_result {
            return;
        }
        self.end_content();
        (self.author, self.holds_results) = (Some(author), is_result);
        self.json.begin_object().key("role");
        self.json.literal(match author {
            ContentRole::Assistant => "model",
            ContentRole::User | ContentRole::System => "user",
        });
        self.json.key("parts").begin_array();
    }

    fn end_content(&mut self) {
        if self.author.is_some() {
            self.json.end_array().end_object();
        }
    }

    /// Models answer a message of the user.
    fn finish(mut self) {
        self.end_content();
        let continued = "is of the assistant, and the gemini protocol does not continue such a last message; end with a message of the user";
        let protocol = ProviderFormat::Gemini;
        check_last_author(self.request, self.author, protocol, continued, self.ledger);
    }
}
