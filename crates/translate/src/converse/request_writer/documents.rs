//! Writes documents.

use super::document_names::DocumentNames;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{Media, MediaSource, Part};

/// Types of documents that the protocol takes, and its names for them.
const FORMATS: [(&str, &str); 10] = [
    ("application/pdf", "pdf"),
    ("text/plain", "txt"),
    ("text/markdown", "md"),
    ("text/html", "html"),
    ("text/csv", "csv"),
    ("application/csv", "csv"),
    ("application/msword", "doc"),
    (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "docx",
    ),
    ("application/vnd.ms-excel", "xls"),
    (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xlsx",
    ),
];

pub(super) fn document_refusal(document: &MediaSource<'_>) -> Option<(FieldOutcome, &'static str)> {
    let reason = match document {
        MediaSource::Text(text) if text.is_blank() => {
            "is a document without letters, which the converse protocol does not take"
        }
        MediaSource::Text(_) => return None,
        MediaSource::Inline(media) if document_format(media).is_some() => return None,
        MediaSource::Inline(_) => {
            "is a document of a type that the converse protocol does not take; send a PDF, text, HTML, CSV, Word or Excel file"
        }
        MediaSource::Url(_) => {
            "is the address of a document, and the converse protocol takes only its bytes; send a data URI in base64"
        }
    };
    Some((FieldOutcome::Refused, reason))
}

/// Writes a document. Models read its name, so that the protocol allows only some letters.
pub(super) fn write_document(
    part: &Part<'_>,
    document: &MediaSource<'_>,
    name: Option<&EscapedText<'_>>,
    names: &mut DocumentNames,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let written = name.map(EscapedText::decoded);
    let allowed = names.allowed(written.as_deref());
    if written.is_some_and(|written| written != allowed) {
        let reason = "has a name that the converse protocol does not take as it is";
        ledger.add(part.at, FieldOutcome::Approximated, reason);
    }
    json.key("document").begin_object();
    json.key("name").plain(&allowed);
    if let Some(context) = context(part) {
        json.key("context").text(&context);
    }
    match document {
        MediaSource::Inline(media) => {
            json.key("format");
            json.literal(document_format(media).unwrap_or_default());
            write_bytes(media, json);
        }
        MediaSource::Text(text) => {
            json.key("format").literal("txt");
            json.key("source").begin_object();
            json.key("text").text(text).end_object();
        }
        MediaSource::Url(_) => {}
    }
    json.end_object();
}

/// What a document of the messages protocol says about itself, which only that protocol has, too.
fn context<'a>(part: &Part<'a>) -> Option<EscapedText<'a>> {
    let [kind, context] = part.at.get_each(["type", "context"]);
    let is_own = kind.and_then(EscapedText::from_node)?.as_written() == "document";
    let context = context.filter(|_| is_own).and_then(EscapedText::from_node);
    context.filter(|context| !context.is_empty())
}

/// Writes the source of a file.
pub(super) fn write_bytes(media: &Media<'_>, json: &mut JsonWriter) {
    json.key("source").begin_object();
    json.key("bytes").text(&media.base64).end_object();
}

/// The name of a type, whose parameters do not count.
fn document_format(media: &Media<'_>) -> Option<&'static str> {
    let media_type = media.media_type.decoded();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let mut formats = FORMATS.into_iter();
    formats.find_map(|(name, format)| media_type.eq_ignore_ascii_case(name).then_some(format))
}
