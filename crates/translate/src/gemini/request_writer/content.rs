//! Writes parts of users, and of what tools returned.

use super::marks::note_mark;
use crate::escaped_text::EscapedText;
use crate::gemini::models::GeminiModel;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Media, MediaSource, Part, PartKind};

/// Types of files by the ends of addresses.
const TYPES_BY_EXTENSION: [(&str, &str); 9] = [
    (".png", "image/png"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".webp", "image/webp"),
    (".heic", "image/heic"),
    (".heif", "image/heif"),
    (".gif", "image/gif"),
    (".pdf", "application/pdf"),
    (".txt", "text/plain"),
];

/// Whether a text can be written: an empty one is no part here, and says nothing. It is in the ledger.
pub(super) fn can_write(part: &Part<'_>, ledger: &mut Ledger) -> bool {
    let is_empty = match &part.kind {
        PartKind::Text(text) | PartKind::Refusal(text) => text.is_empty(),
        PartKind::Image { .. }
        | PartKind::Document { .. }
        | PartKind::Audio { .. }
        | PartKind::Thinking { .. }
        | PartKind::SealedThinking { .. }
        | PartKind::ToolCall { .. }
        | PartKind::ToolResult { .. } => false,
    };
    if is_empty {
        let reason = "is an empty text, which the gemini protocol does not take";
        ledger.add(part.at, FieldOutcome::Dropped, reason);
    }
    !is_empty
}

/// Whether a part that users send, or that a tool returns, can be written. What cannot is in the ledger.
pub(super) fn can_write_user_part(
    part: &Part<'_>,
    model: GeminiModel,
    ledger: &mut Ledger,
) -> bool {
    let refused = match &part.kind {
        PartKind::Text(_) | PartKind::Refusal(_) => return can_write(part, ledger),
        PartKind::Audio { .. } => None,
        PartKind::Image { image: source, .. }
        | PartKind::Document {
            document: source, ..
        } => source_refusal(source, model),
        PartKind::Thinking { .. }
        | PartKind::SealedThinking { .. }
        | PartKind::ToolCall { .. }
        | PartKind::ToolResult { .. } => {
            let reason = "cannot stand in a message of the user";
            Some((FieldOutcome::AlwaysRefused, reason))
        }
    };
    if let Some((outcome, reason)) = refused {
        ledger.add(part.at, outcome, reason);
    }
    refused.is_none()
}

/// Writes a part that can be written.
pub(super) fn write_user_part(
    part: &Part<'_>,
    model: GeminiModel,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    note_mark(part.cache.as_ref(), ledger);
    json.begin_object();
    match &part.kind {
        PartKind::Text(text) | PartKind::Refusal(text) => {
            json.key("text").text(text);
        }
        PartKind::Image { image, detail } => {
            write_source(image, json);
            if let Some(detail) = detail {
                write_detail(part, detail, model, json, ledger);
            }
        }
        PartKind::Document { document, name } => {
            write_document(part, document, name.as_ref(), json, ledger);
        }
        PartKind::Audio { data, format } => {
            json.key("inlineData").begin_object();
            let family = EscapedText::literal("audio/");
            json.key("mimeType").text_pieces(&[&family, format]);
            json.key("data").text(data).end_object();
        }
        PartKind::Thinking { .. }
        | PartKind::SealedThinking { .. }
        | PartKind::ToolCall { .. }
        | PartKind::ToolResult { .. } => {}
    }
    json.end_object();
}

/// Writes a file in base64 as the member of a part.
pub(super) fn write_inline(media: &Media<'_>, json: &mut JsonWriter) {
    json.key("inlineData").begin_object();
    json.key("mimeType").text(&media.media_type);
    json.key("data").text(&media.base64).end_object();
}

/// The title and the text of a part that is text.
pub(super) fn text_pieces<'p, 'a>(
    part: &'p Part<'a>,
) -> Option<(Option<&'p EscapedText<'a>>, &'p EscapedText<'a>)> {
    match &part.kind {
        PartKind::Text(text) | PartKind::Refusal(text) => Some((None, text)),
        PartKind::Document {
            document: MediaSource::Text(text),
            name,
        } => Some((name.as_ref(), text)),
        PartKind::Document { .. }
        | PartKind::Image { .. }
        | PartKind::Audio { .. }
        | PartKind::Thinking { .. }
        | PartKind::SealedThinking { .. }
        | PartKind::ToolCall { .. }
        | PartKind::ToolResult { .. } => None,
    }
}

fn source_refusal(
    source: &MediaSource<'_>,
    model: GeminiModel,
) -> Option<(FieldOutcome, &'static str)> {
    match source {
        MediaSource::Inline(_) | MediaSource::Text(_) => None,
        MediaSource::Url(url) if has_scheme(url, "gs:") => None,
        MediaSource::Url(url) if has_scheme(url, "https:") || has_scheme(url, "http:") => {
            let reason = "is an address, which models of this generation do not fetch; send the bytes as a data URI in base64";
            (!model.takes_addresses).then_some((FieldOutcome::Refused, reason))
        }
        MediaSource::Url(_) => {
            let reason = "is neither a URL of the web nor a data URI in base64, which the gemini protocol takes";
            Some((FieldOutcome::Refused, reason))
        }
    }
}

fn has_scheme(url: &EscapedText<'_>, scheme: &str) -> bool {
    let start = url.as_written().as_bytes().get(..scheme.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
}

fn write_source(source: &MediaSource<'_>, json: &mut JsonWriter) {
    match source {
        MediaSource::Inline(media) => write_inline(media, json),
        MediaSource::Url(url) => {
            json.key("fileData").begin_object();
            if let Some(media_type) = type_by_extension(url) {
                json.key("mimeType").literal(media_type);
            }
            json.key("fileUri").text(url).end_object();
        }
        MediaSource::Text(text) => {
            json.key("text").text(text);
        }
    }
}

fn write_document(
    part: &Part<'_>,
    document: &MediaSource<'_>,
    name: Option<&EscapedText<'_>>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    match (document, name) {
        (MediaSource::Text(text), name) => {
            let reason = "is a text under its title";
            ledger.add(part.at, FieldOutcome::Approximated, reason);
            let line = EscapedText::literal(r"\n");
            match name {
                Some(name) => json.key("text").text_pieces(&[name, &line, text]),
                None => json.key("text").text(text),
            };
        }
        (MediaSource::Inline(_) | MediaSource::Url(_), name) => {
            if name.is_some() {
                let reason = "is sent without its name, which the gemini protocol does not take";
                ledger.add(part.at, FieldOutcome::Approximated, reason);
            }
            write_source(document, json);
        }
    }
}

/// Writes the resolution at which the model looks at an image.
fn write_detail(
    part: &Part<'_>,
    detail: &EscapedText<'_>,
    model: GeminiModel,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let level = match detail.as_written() {
        "auto" => return,
        "low" => "MEDIA_RESOLUTION_LOW",
        _ => "MEDIA_RESOLUTION_HIGH",
    };
    let reason = match model.takes_addresses {
        true => "has a resolution in words of another protocol",
        false => "has a resolution, which models of this generation do not take for one image",
    };
    ledger.add(part.at, FieldOutcome::Approximated, reason);
    if model.takes_addresses {
        json.key("mediaResolution").begin_object();
        json.key("level").literal(level).end_object();
    }
}

fn type_by_extension(url: &EscapedText<'_>) -> Option<&'static str> {
    let address = url.decoded();
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let path = path.to_ascii_lowercase();
    let mut types = TYPES_BY_EXTENSION.into_iter();
    let found = types.find(|(extension, _)| path.ends_with(extension));
    found.map(|(_, media_type)| media_type)
}
