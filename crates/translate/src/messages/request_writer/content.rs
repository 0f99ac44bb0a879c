//! Writes content blocks.

use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{CacheMark, MediaSource, Part, PartKind};

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

/// Writes a block that users send, or that a tool returns.
pub(super) fn write_block(part: &Part<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    match &part.kind {
        PartKind::Text(text) | PartKind::Refusal(text) => {
            json.begin_object().key("type").literal("text");
            json.key("text").text(text);
        }
        PartKind::Image { image, detail } => {
            if detail
                .as_ref()
                .is_some_and(|detail| detail.as_written() != "auto")
            {
                let reason = "has a resolution, which the messages protocol does not take";
                ledger.add(part.at, FieldOutcome::Approximated, reason);
            }
            if !write_source(part, "image", image, json, ledger) {
                return;
            }
        }
        PartKind::Document { document, name } => {
            if !write_source(part, "document", document, json, ledger) {
                return;
            }
            if let Some(name) = name {
                json.key("title").text(name);
            }
        }
        PartKind::Audio { .. } => {
            let reason = "is audio, which has no counterpart in the messages protocol";
            ledger.add(part.at, FieldOutcome::Refused, reason);
            return;
        }
        PartKind::Thinking { .. }
        | PartKind::SealedThinking { .. }
        | PartKind::ToolCall { .. }
        | PartKind::ToolResult { .. } => {
            let reason = "cannot stand in a message of the user";
            ledger.add(part.at, FieldOutcome::AlwaysRefused, reason);
            return;
        }
    }
    write_cache_mark(part.cache.as_ref(), json, ledger);
    json.end_object();
}

/// Begins a block with a source; `false` if the source cannot be said, which is in the ledger.
fn write_source(
    part: &Part<'_>,
    kind: &'static str,
    source: &MediaSource<'_>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) -> bool {
    if let MediaSource::Text(_) = source
        && kind == "image"
    {
        ledger.add(part.at, FieldOutcome::Refused, "is an image made of text");
        return false;
    }
    json.begin_object().key("type").literal(kind);
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
            json.key("media_type")
                .text(&EscapedText::literal("text/plain"));
            json.key("data").text(text);
        }
    }
    json.end_object();
    true
}
