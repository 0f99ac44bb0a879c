//! Writes content blocks.

use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{CacheMark, Media, MediaSource, Part, PartKind};
use crate::text_document::decoded_text;

/// Types of images that the protocol takes.
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Writes a mark as a member of the block that it belongs to. Its lifetimes are others than those of other protocols.
pub(super) fn write_cache_mark(
    mark: Option<&CacheMark<'_>>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let Some(mark) = mark else {
        return;
    };
    json.key("cache_control").begin_object();
    json.key("type").literal("ephemeral");
    match &mark.ttl {
        Some(ttl) if matches!(ttl.as_written(), "5m" | "1h") => {
            json.key("ttl").text(ttl);
        }
        Some(_) => {
            let reason = "becomes the default lifetime of the channel's protocol";
            ledger.add(mark.at, FieldOutcome::Approximated, reason);
        }
        None => {}
    }
    json.end_object();
}

/// Whether a block that users send, or that a tool returns, can be written. What cannot is in the ledger.
pub(super) fn can_write(part: &Part<'_>, ledger: &mut Ledger) -> bool {
    let refused = match &part.kind {
        PartKind::Text(text) | PartKind::Refusal(text) if text.is_blank() => {
            let reason = "is a text without letters, which the messages protocol does not take";
            Some((FieldOutcome::Dropped, reason))
        }
        PartKind::Text(_) | PartKind::Refusal(_) => None,
        PartKind::Image { image, .. } => image_refusal(image),
        PartKind::Document { document, .. } => document_refusal(document),
        PartKind::Audio { .. } => {
            let reason = "is audio, which has no counterpart in the messages protocol";
            Some((FieldOutcome::Refused, reason))
        }
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

/// Writes a block that users send, or that a tool returns, and that can be written.
pub(super) fn write_block(part: &Part<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    json.begin_object();
    match &part.kind {
        PartKind::Text(text) | PartKind::Refusal(text) => {
            json.key("type").literal("text").key("text").text(text);
        }
        PartKind::Image { image, detail } => {
            let detail = detail.as_ref().map(EscapedText::as_written);
            if detail.is_some_and(|detail| detail != "auto") {
                let reason = "has a resolution, which the messages protocol does not take";
                ledger.add(part.at, FieldOutcome::Approximated, reason);
            }
            json.key("type").literal("image");
            write_source(image, json);
        }
        PartKind::Document { document, name } => {
            json.key("type").literal("document");
            write_document(part, document, json, ledger);
            if let Some(name) = name {
                json.key("title").text(name);
            }
        }
        PartKind::Audio { .. }
        | PartKind::Thinking { .. }
        | PartKind::SealedThinking { .. }
        | PartKind::ToolCall { .. }
        | PartKind::ToolResult { .. } => {}
    }
    write_cache_mark(part.cache.as_ref(), json, ledger);
    json.end_object();
}

fn image_refusal(image: &MediaSource<'_>) -> Option<(FieldOutcome, &'static str)> {
    let reason = match image {
        MediaSource::Inline(media) if IMAGE_TYPES.contains(&&*media.media_type.decoded()) => {
            return None;
        }
        MediaSource::Url(url) if is_web_address(url) => return None,
        MediaSource::Inline(_) => {
            "is an image of a type that the messages protocol does not take; send JPEG, PNG, GIF or WebP"
        }
        MediaSource::Url(_) => {
            "is neither a URL of the web nor a data URI in base64, which the messages protocol takes"
        }
        MediaSource::Text(_) => "is an image made of text",
    };
    Some((FieldOutcome::Refused, reason))
}

fn document_refusal(document: &MediaSource<'_>) -> Option<(FieldOutcome, &'static str)> {
    let reason = match document {
        MediaSource::Text(_) => return None,
        MediaSource::Url(url) if is_web_address(url) => return None,
        MediaSource::Inline(media) if is_pdf(media) || decoded_text(media).is_some() => {
            return None;
        }
        MediaSource::Inline(_) => {
            "is a document of a type that the messages protocol does not take; send a PDF or text"
        }
        MediaSource::Url(_) => {
            "is neither a URL of the web nor a data URI in base64, which the messages protocol takes"
        }
    };
    Some((FieldOutcome::Refused, reason))
}

fn is_web_address(url: &EscapedText<'_>) -> bool {
    let start = url.as_written();
    let starts = |scheme: &str| {
        let start = start.as_bytes().get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    };
    starts("https:") || starts("http:")
}

fn is_pdf(media: &Media<'_>) -> bool {
    media.media_type.decoded() == "application/pdf"
}

fn write_document(
    part: &Part<'_>,
    document: &MediaSource<'_>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let text = match document {
        MediaSource::Inline(media) if !is_pdf(media) => decoded_text(media),
        MediaSource::Inline(_) | MediaSource::Url(_) | MediaSource::Text(_) => None,
    };
    match text {
        None => write_source(document, json),
        Some(text) => {
            let reason = "is a document of text, not a file";
            ledger.add(part.at, FieldOutcome::Approximated, reason);
            write_source(&MediaSource::Text(text), json);
        }
    }
}

fn write_source(source: &MediaSource<'_>, json: &mut JsonWriter) {
    json.key("source").begin_object().key("type");
    match source {
        MediaSource::Url(url) => {
            json.literal("url").key("url").text(url);
        }
        MediaSource::Inline(media) => {
            json.literal("base64");
            json.key("media_type").text(&media.media_type);
            json.key("data").text(&media.base64);
        }
        MediaSource::Text(text) => {
            json.literal("text");
            json.key("media_type").literal("text/plain");
            json.key("data").text(text);
        }
    }
    json.end_object();
}
