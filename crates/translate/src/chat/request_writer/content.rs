//! Writes the content of messages: parts of the user, and texts.

use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{MediaSource, Part, PartKind};

/// The texts of parts, in order.
pub(super) fn texts<'p, 'a>(parts: &'p [Part<'a>]) -> impl Iterator<Item = &'p EscapedText<'a>> {
    parts.iter().filter_map(|part| match &part.kind {
        PartKind::Text(text) => Some(text),
        _ => None,
    })
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
pub(super) fn write_user_content(parts: &[&Part<'_>], json: &mut JsonWriter, ledger: &mut Ledger) {
    if let [
        Part {
            kind: PartKind::Text(text),
            ..
        },
    ] = parts
    {
        json.text(text);
        return;
    }
    json.begin_array();
    for part in parts {
        write_user_part(part, json, ledger);
    }
    json.end_array();
}

pub(super) fn write_text_part(pieces: &[&EscapedText<'_>], json: &mut JsonWriter) {
    json.begin_object().key("type").literal("text");
    json.key("text").text_pieces(pieces).end_object();
}

/// Writes a part that users send.
pub(super) fn write_user_part(part: &Part<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    match &part.kind {
        PartKind::Text(text) | PartKind::Refusal(text) => write_text_part(&[text], json),
        PartKind::Image { image, detail } => {
            write_image(part, image, detail.as_ref(), json, ledger)
        }
        PartKind::Document { document, name } => {
            write_document(part, document, name.as_ref(), json, ledger);
        }
        PartKind::Audio { data, format } => {
            json.begin_object().key("type").literal("input_audio");
            json.key("input_audio").begin_object();
            json.key("data").text(data).key("format").text(format);
            json.end_object().end_object();
        }
        PartKind::Thinking { .. }
        | PartKind::SealedThinking { .. }
        | PartKind::ToolCall { .. }
        | PartKind::ToolResult { .. } => {
            let reason = "cannot stand in a message of the user";
            ledger.add(part.at, FieldOutcome::AlwaysRefused, reason);
        }
    }
}

fn write_image(
    part: &Part<'_>,
    image: &MediaSource<'_>,
    detail: Option<&EscapedText<'_>>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    json.begin_object().key("type").literal("image_url");
    json.key("image_url").begin_object().key("url");
    match image {
        MediaSource::Url(url) => {
            json.text(url);
        }
        MediaSource::Inline(media) => media.write_uri(json),
        MediaSource::Text(_) => {
            json.literal("");
            ledger.add(part.at, FieldOutcome::Refused, "is an image made of text");
        }
    }
    if let Some(detail) = detail {
        json.key("detail").text(detail);
    }
    json.end_object().end_object();
}

fn write_document(
    part: &Part<'_>,
    document: &MediaSource<'_>,
    name: Option<&EscapedText<'_>>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    match document {
        MediaSource::Text(text) => {
            ledger.add(
                part.at,
                FieldOutcome::Approximated,
                "is a text under its title",
            );
            let line = EscapedText::literal(r"\n");
            match name {
                Some(name) => write_text_part(&[name, &line, text], json),
                None => write_text_part(&[text], json),
            }
        }
        MediaSource::Inline(media) => {
            let unnamed = EscapedText::literal("document.pdf");
            json.begin_object().key("type").literal("file");
            json.key("file").begin_object();
            json.key("filename").text(name.unwrap_or(&unnamed));
            json.key("file_data");
            media.write_uri(json);
            json.end_object().end_object();
        }
        MediaSource::Url(_) => {
            let reason =
                "is a document by URL, which the chat protocol does not have; send its bytes";
            ledger.add(part.at, FieldOutcome::Refused, reason);
        }
    }
}
