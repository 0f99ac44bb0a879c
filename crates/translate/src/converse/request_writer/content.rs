//! Writes content blocks.

use super::document_names::DocumentNames;
use super::documents::{document_refusal, write_bytes, write_document};
use crate::dialect::ModelFamily;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{CacheMark, Media, MediaSource, Part, PartKind};

/// Types of images that the protocol takes, and its names for them.
const IMAGE_FORMATS: [(&str, &str); 4] = [
    ("image/jpeg", "jpeg"),
    ("image/png", "png"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
];

/// Formats of audio in the protocol.
const AUDIO_FORMATS: [&str; 15] = [
    "mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a", "mpeg",
    "mpga", "pcm", "webm",
];

/// Writes a mark as a block after the block that it belongs to, if the model takes it.
pub(super) fn write_cache_point(
    mark: Option<&CacheMark<'_>>,
    family: ModelFamily,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let Some(mark) = mark else {
        return;
    };
    if !family.takes_cache_points() {
        let reason = "is left out, since the channel's model is not known to take it";
        ledger.add(mark.at, FieldOutcome::Dropped, reason);
        return;
    }
    json.begin_object().key("cachePoint").begin_object();
    json.key("type").literal("default");
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
    json.end_object().end_object();
}

/// Whether a block that users send, or that a tool returns, can be written. What cannot is in the ledger.
pub(super) fn can_write(part: &Part<'_>, ledger: &mut Ledger) -> bool {
    let refused = match &part.kind {
        PartKind::Text(text) | PartKind::Refusal(text) if text.is_blank() => {
            let reason = "is a text without letters, which the converse protocol does not take";
            Some((FieldOutcome::Dropped, reason))
        }
        PartKind::Text(_) | PartKind::Refusal(_) => None,
        PartKind::Image { image, .. } => image_refusal(image),
        PartKind::Document { document, .. } => document_refusal(document),
        PartKind::Audio { format, .. } if AUDIO_FORMATS.contains(&&*format.decoded()) => None,
        PartKind::Audio { .. } => {
            let reason = "is audio of a format that the converse protocol does not take; send MP3, WAV, FLAC or AAC";
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
pub(super) fn write_block(
    part: &Part<'_>,
    names: &mut DocumentNames,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    json.begin_object();
    match &part.kind {
        PartKind::Text(text) | PartKind::Refusal(text) => {
            json.key("text").text(text);
        }
        PartKind::Image { image, detail } => {
            let detail = detail.as_ref().map(EscapedText::as_written);
            if detail.is_some_and(|detail| detail != "auto") {
                let reason = "has a resolution, which the converse protocol does not take";
                ledger.add(part.at, FieldOutcome::Approximated, reason);
            }
            write_image(image, json);
        }
        PartKind::Document { document, name } => {
            write_document(part, document, name.as_ref(), names, json, ledger);
        }
        PartKind::Audio { data, format } => {
            json.key("audio").begin_object().key("format").text(format);
            json.key("source").begin_object();
            json.key("bytes").text(data).end_object().end_object();
        }
        PartKind::Thinking { .. }
        | PartKind::SealedThinking { .. }
        | PartKind::ToolCall { .. }
        | PartKind::ToolResult { .. } => {}
    }
    json.end_object();
}

fn image_refusal(image: &MediaSource<'_>) -> Option<(FieldOutcome, &'static str)> {
    let reason = match image {
        MediaSource::Inline(media) if image_format(media).is_some() => return None,
        MediaSource::Inline(_) => {
            "is an image of a type that the converse protocol does not take; send JPEG, PNG, GIF or WebP"
        }
        MediaSource::Url(_) => {
            "is the address of an image, and the converse protocol takes only its bytes; send a data URI in base64"
        }
        MediaSource::Text(_) => "is an image made of text",
    };
    Some((FieldOutcome::Refused, reason))
}

fn image_format(media: &Media<'_>) -> Option<&'static str> {
    let media_type = media.media_type.decoded();
    let mut formats = IMAGE_FORMATS.into_iter();
    formats.find_map(|(name, format)| media_type.eq_ignore_ascii_case(name).then_some(format))
}

fn write_image(image: &MediaSource<'_>, json: &mut JsonWriter) {
    if let MediaSource::Inline(media) = image {
        json.key("image").begin_object();
        json.key("format");
        json.literal(image_format(media).unwrap_or_default());
        write_bytes(media, json);
        json.end_object();
    }
}
