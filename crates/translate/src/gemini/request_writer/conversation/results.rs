//! Writes the results of tools.

use super::TurnWriter;
use crate::escaped_text::EscapedText;
use crate::gemini::request_writer::content::{
    can_write_user_part, text_pieces, write_inline, write_user_part,
};
use crate::gemini::request_writer::marks::note_mark;
use crate::ledger::FieldOutcome;
use crate::superset::{ContentRole, Media, MediaSource, Part, PartKind};
use crate::tool_results::media_frame;

impl TurnWriter<'_, '_> {
    /// Writes a result: its texts as the output, or as an error.
    pub(super) fn write_result(&mut self, turn: usize, result: &Part<'_>) {
        let PartKind::ToolResult {
            id,
            parts,
            is_error,
        } = &result.kind
        else {
            return;
        };
        note_mark(result.cache.as_ref(), self.ledger);
        let name = self.name_of_call(turn, id);
        self.begin_result();
        self.json
            .begin_object()
            .key("functionResponse")
            .begin_object();
        self.write_call_id(id);
        self.json.key("name").text(&name);
        self.json.key("response").begin_object();
        self.json.key(if *is_error { "error" } else { "output" });
        self.write_texts(parts);
        self.json.end_object();
        if self.model.takes_addresses {
            self.write_inline_parts(parts);
        }
        self.json.end_object().end_object();
    }

    /// Writes the texts of a result as one, with a blank line between them.
    fn write_texts(&mut self, parts: &[Part<'_>]) {
        let (line, blank_line) = (EscapedText::literal(r"\n"), EscapedText::literal(r"\n\n"));
        let mut pieces = Vec::with_capacity(2 * parts.len());
        for part in parts {
            let Some((title, text)) = text_pieces(part) else {
                continue;
            };
            note_mark(part.cache.as_ref(), self.ledger);
            if !pieces.is_empty() {
                pieces.push(&blank_line);
            }
            if let Some(title) = title {
                pieces.extend([title, &line]);
            }
            if matches!(part.kind, PartKind::Document { .. }) {
                let reason = "is a text under its title";
                self.ledger.add(part.at, FieldOutcome::Approximated, reason);
            }
            pieces.push(text);
        }
        self.json.text_pieces(&pieces);
    }

    /// Writes images and documents of a result as such, for models that take them there.
    fn write_inline_parts(&mut self, parts: &[Part<'_>]) {
        let inline = parts.iter().filter_map(inline_media);
        if inline.clone().next().is_none() {
            return;
        }
        self.json.key("parts").begin_array();
        for (part, media) in inline {
            note_mark(part.cache.as_ref(), self.ledger);
            self.json.begin_object();
            write_inline(media, self.json);
            self.json.end_object();
        }
        self.json.end_array();
    }

    /// Writes what a tool returned and results cannot have, after all results: each named as what it is, so that it does not
    /// pass for what the user shows.
    pub(super) fn write_media_of_result(&mut self, turn: usize, result: &Part<'_>) {
        let PartKind::ToolResult { id, parts, .. } = &result.kind else {
            return;
        };
        for part in parts {
            let is_inline = self.model.takes_addresses && inline_media(part).is_some();
            if is_inline || text_pieces(part).is_some() {
                continue;
            }
            if !can_write_user_part(part, self.model, self.ledger) {
                continue;
            }
            let reason = "is in a message after the results, which have only text here";
            self.ledger.add(part.at, FieldOutcome::Approximated, reason);
            let name = self.name_of_call(turn, id);
            self.begin_part(ContentRole::User);
            self.json.begin_object().key("text");
            self.json
                .text_pieces(&media_frame(&name).each_ref())
                .end_object();
            write_user_part(part, self.model, self.json, self.ledger);
        }
    }
}

/// The bytes of an image or document.
fn inline_media<'p, 'a>(part: &'p Part<'a>) -> Option<(&'p Part<'a>, &'p Media<'a>)> {
    match &part.kind {
        PartKind::Image {
            image: MediaSource::Inline(media),
            ..
        }
        | PartKind::Document {
            document: MediaSource::Inline(media),
            ..
        } => Some((part, media)),
        PartKind::Text(_)
        | PartKind::Refusal(_)
        | PartKind::Image { .. }
        | PartKind::Document { .. }
        | PartKind::Audio { .. }
        | PartKind::Thinking { .. }
        | PartKind::SealedThinking { .. }
        | PartKind::ToolCall { .. }
        | PartKind::ToolResult { .. } => None,
    }
}
