//! Writes the content of messages: parts of the user, and texts.

use crate::cache_marks::write_cache_mark;
use crate::dialect::{CacheMarkForm, ChatDialect};
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{CacheMark, Media, MediaSource, Part, PartKind};
use crate::tool_results::ERROR_LINE;

/// Between texts that were blocks of their own.
pub(super) const BLANK_LINE: EscapedText<'static> = EscapedText::literal(r"\n\n");
/// Between texts of an answer, of which models write one in several blocks.
pub(super) const NO_SPACE: EscapedText<'static> = EscapedText::literal("");
const JOINED_IN_RESULT: &str =
    "is joined to the text before it, since the result of a tool is one text in the chat protocol";

/// Writes values of `content`.
pub(super) struct ChatContentWriter<'w> {
    pub dialect: &'w ChatDialect,
    pub json: &'w mut JsonWriter,
    pub ledger: &'w mut Ledger,
}

impl ChatContentWriter<'_> {
    /// Writes texts as one string, which all engines take; as a list only if a prefix that is cached ends in it.
    /// `joined` is what the ledger says of each one after the first.
    pub fn write_texts(
        &mut self,
        parts: &[&Part<'_>],
        separator: &EscapedText<'_>,
        joined: &'static str,
    ) {
        if !self.carries_marks(parts) {
            self.note_lost_marks(parts);
            self.write_string(None, parts, separator, joined);
            return;
        }
        self.json.begin_array();
        self.write_parts(parts);
        self.json.end_array();
    }

    /// Writes texts as parts of a list.
    pub fn write_parts(&mut self, parts: &[&Part<'_>]) {
        for part in parts {
            self.write_text(part, None);
        }
    }

    /// Writes the texts of a result, with a line before that of an error.
    pub fn write_result(&mut self, result: &Part<'_>, texts: &[&Part<'_>], is_error: bool) {
        let carries = self.carries_marks(texts) || self.carries_marks(&[result]);
        if !carries || texts.is_empty() {
            self.note_lost_marks(texts);
            self.note_lost_mark(result.cache.as_ref());
            let error = ERROR_LINE;
            let first = is_error.then_some(&error);
            self.write_string(first, texts, &BLANK_LINE, JOINED_IN_RESULT);
            return;
        }
        self.json.begin_array();
        if is_error {
            write_text_part(&[&ERROR_LINE], self.json);
            self.json.end_object();
        }
        for (position, part) in texts.iter().enumerate() {
            let is_last = position + 1 == texts.len();
            self.write_text(part, result.cache.as_ref().filter(|_| is_last));
        }
        self.json.end_array();
    }

    /// Whether a part can be in a message of the user. What cannot is in the ledger.
    pub fn can_write(&mut self, part: &Part<'_>) -> bool {
        let takes = self.dialect.parts;
        let lacking =
            "is not among what the channel's model takes; send text, or use another model";
        let refused = match &part.kind {
            PartKind::Text(_) | PartKind::Refusal(_) => None,
            PartKind::Audio { .. } => (!takes.audio).then_some((FieldOutcome::Refused, lacking)),
            PartKind::Image { .. } if !takes.images => Some((FieldOutcome::Refused, lacking)),
            PartKind::Image { image, .. } => match image {
                MediaSource::Url(_) | MediaSource::Inline(_) => None,
                MediaSource::Text(_) => Some((FieldOutcome::Refused, "is an image made of text")),
            },
            PartKind::Document { document, .. } => match document {
                MediaSource::Inline(_) if !takes.documents => {
                    Some((FieldOutcome::Refused, lacking))
                }
                MediaSource::Inline(_) | MediaSource::Text(_) => None,
                MediaSource::Url(_) => {
                    let reason = "is a document by URL, which the chat protocol does not have; send its bytes";
                    Some((FieldOutcome::Refused, reason))
                }
            },
            PartKind::Thinking { .. }
            | PartKind::SealedThinking { .. }
            | PartKind::ToolCall { .. }
            | PartKind::ToolResult { .. } => {
                let reason = "cannot stand in a message of the user";
                Some((FieldOutcome::AlwaysRefused, reason))
            }
        };
        if let Some((outcome, reason)) = refused {
            self.ledger.add(part.at, outcome, reason);
        }
        refused.is_none()
    }

    /// Writes a part that users send, and that can be written.
    pub fn write_user_part(&mut self, part: &Part<'_>) {
        match &part.kind {
            PartKind::Text(_) => self.write_text(part, None),
            PartKind::Refusal(text) => {
                write_text_part(&[text], self.json);
                self.end_part(part);
            }
            PartKind::Image { image, detail } => self.write_image(part, image, detail.as_ref()),
            PartKind::Document { document, name } => {
                self.write_document(part, document, name.as_ref());
            }
            PartKind::Audio { data, format } => {
                self.json.begin_object().key("type").literal("input_audio");
                self.json.key("input_audio").begin_object();
                self.json.key("data").text(data).key("format").text(format);
                self.json.end_object();
                self.end_part(part);
            }
            PartKind::Thinking { .. }
            | PartKind::SealedThinking { .. }
            | PartKind::ToolCall { .. }
            | PartKind::ToolResult { .. } => {}
        }
    }

    /// Notes a mark in a place that has none in this protocol.
    pub fn note_lost_mark(&mut self, mark: Option<&CacheMark<'_>>) {
        if let Some(mark) = mark {
            let reason = match self.dialect.cache_marks != CacheMarkForm::None {
                true => "is left out, since the chat protocol has no mark in this place",
                false => "is left out, since the channel's model is not known to take it",
            };
            self.ledger.add(mark.at, FieldOutcome::Dropped, reason);
        }
    }

    fn note_lost_marks(&mut self, parts: &[&Part<'_>]) {
        for part in parts {
            self.note_lost_mark(part.cache.as_ref());
        }
    }

    fn carries_marks(&self, parts: &[&Part<'_>]) -> bool {
        self.dialect.cache_marks != CacheMarkForm::None
            && parts.iter().any(|part| part.cache.is_some())
    }

    /// Writes texts, each under its title, as one string after `first`.
    fn write_string(
        &mut self,
        first: Option<&EscapedText<'_>>,
        parts: &[&Part<'_>],
        separator: &EscapedText<'_>,
        joined: &'static str,
    ) {
        let line = EscapedText::literal(r"\n");
        let mut pieces: Vec<&EscapedText<'_>> = Vec::with_capacity(2 * parts.len() + 1);
        pieces.extend(first);
        for (position, part) in parts.iter().enumerate() {
            if position > 0 {
                pieces.push(separator);
                // An instruction of the gateway itself has no place in the body.
                if !part.at.is_root() {
                    self.ledger.add_alike(part.at, joined);
                }
            }
            let [title, text] = text_pieces(part).unwrap_or_default();
            if let Some(title) = title {
                pieces.extend([title, &line]);
            }
            pieces.extend(text);
        }
        self.json.text_pieces(&pieces);
    }

    /// Writes a text as a part; `mark` is one that the part gets if it has none.
    fn write_text(&mut self, part: &Part<'_>, mark: Option<&CacheMark<'_>>) {
        let line = EscapedText::literal(r"\n");
        match text_pieces(part).unwrap_or_default() {
            [Some(title), Some(text)] => write_text_part(&[title, &line, text], self.json),
            [_, text] => write_text_part(text.as_slice(), self.json),
        }
        let mark = part.cache.as_ref().or(mark);
        if let Some(mark) = mark {
            write_cache_mark(mark, self.dialect.cache_marks, self.json, self.ledger);
        }
        self.json.end_object();
    }

    fn end_part(&mut self, part: &Part<'_>) {
        if let Some(mark) = &part.cache {
            write_cache_mark(mark, self.dialect.cache_marks, self.json, self.ledger);
        }
        self.json.end_object();
    }

    fn write_image(
        &mut self,
        part: &Part<'_>,
        image: &MediaSource<'_>,
        detail: Option<&EscapedText<'_>>,
    ) {
        self.json.begin_object().key("type").literal("image_url");
        self.json.key("image_url").begin_object().key("url");
        match image {
            MediaSource::Url(url) => {
                self.json.text(url);
            }
            MediaSource::Inline(media) => media.write_uri(self.json),
            MediaSource::Text(_) => {}
        }
        let detail = detail.map(|detail| match detail.as_written() {
            "original" => {
                let reason = "has the resolution `original`, which becomes `high`";
                self.ledger.add(part.at, FieldOutcome::Approximated, reason);
                EscapedText::literal("high")
            }
            _ => detail.clone(),
        });
        if let Some(detail) = detail {
            self.json.key("detail").text(&detail);
        }
        self.json.end_object();
        self.end_part(part);
    }

    fn write_document(
        &mut self,
        part: &Part<'_>,
        document: &MediaSource<'_>,
        name: Option<&EscapedText<'_>>,
    ) {
        match document {
            MediaSource::Text(_) => {
                let reason = "is a text under its title";
                self.ledger.add(part.at, FieldOutcome::Approximated, reason);
                self.write_text(part, None);
            }
            MediaSource::Inline(media) => {
                self.json.begin_object().key("type").literal("file");
                self.json.key("file").begin_object();
                self.json.key("filename").text(&file_name(name, media));
                self.json.key("file_data");
                media.write_uri(self.json);
                self.json.end_object();
                self.end_part(part);
            }
            MediaSource::Url(_) => {}
        }
    }
}

/// The title and the text of a part that is text.
pub(super) fn text_pieces<'p, 'a>(part: &'p Part<'a>) -> Option<[Option<&'p EscapedText<'a>>; 2]> {
    if let PartKind::Text(text) = &part.kind {
        return Some([None, Some(text)]);
    }
    if let PartKind::Document { document, name } = &part.kind
        && let MediaSource::Text(text) = document
    {
        return Some([name.as_ref(), Some(text)]);
    }
    None
}

/// Writes texts as one string.
pub(super) fn write_joined(
    texts: &[&EscapedText<'_>],
    separator: &EscapedText<'_>,
    json: &mut JsonWriter,
) {
    let mut pieces = Vec::with_capacity(2 * texts.len());
    for text in texts {
        if !pieces.is_empty() && !separator.is_empty() {
            pieces.push(separator);
        }
        pieces.push(text);
    }
    json.text_pieces(&pieces);
}

/// Writes the content of a message of the user: one text as a string, everything else as a list.
pub(super) fn write_user_content(parts: &[&Part<'_>], writer: &mut ChatContentWriter<'_>) {
    if let [part] = parts
        && let PartKind::Text(text) = &part.kind
        && !writer.carries_marks(parts)
    {
        writer.note_lost_marks(parts);
        writer.json.text(text);
        return;
    }
    writer.json.begin_array();
    for part in parts {
        writer.write_user_part(part);
    }
    writer.json.end_array();
}

/// Begins a part with a text.
pub(super) fn write_text_part(pieces: &[&EscapedText<'_>], json: &mut JsonWriter) {
    json.begin_object().key("type").literal("text");
    json.key("text").text_pieces(pieces);
}

/// The name of a file. Providers tell the type of a PDF by its name.
fn file_name<'a>(name: Option<&EscapedText<'a>>, media: &Media<'_>) -> EscapedText<'a> {
    let extension = EscapedText::literal(".pdf");
    let is_pdf = media.media_type.decoded() == "application/pdf";
    let mut name = match name {
        Some(name) => name.clone(),
        None => EscapedText::literal("document"),
    };
    let has_extension = name.as_written().to_ascii_lowercase().ends_with(".pdf");
    if is_pdf && !has_extension {
        name.push(&extension);
    }
    name
}
