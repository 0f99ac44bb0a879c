//! Writes parts of messages and of outputs of tools.

use crate::cache_marks::write_cache_mark;
use crate::context::ChannelSettings;
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{MediaSource, Part, PartKind};

/// Who wrote the content: the two have parts of other types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentSide {
    Input,
    Output,
}

#[derive(Debug)]
pub(super) struct ContentWriter<'w> {
    pub channel: &'w ChannelSettings,
    pub ledger: &'w mut Ledger,
}

impl<'w> ContentWriter<'w> {
    pub(super) fn new(channel: &'w ChannelSettings, ledger: &'w mut Ledger) -> Self {
        Self { channel, ledger }
    }

    /// Writes a part, unless it is not one of content, or is refused.
    pub(super) fn write(&mut self, part: &Part<'_>, side: ContentSide, json: &mut JsonWriter) {
        match &part.kind {
            PartKind::Text(text) => self.write_text(part, side, text, json),
            PartKind::Refusal(text) => match side {
                ContentSide::Output => {
                    json.begin_object().key("type").literal("refusal");
                    json.key("refusal").text(text).end_object();
                }
                ContentSide::Input => self.write_text(part, side, text, json),
            },
            PartKind::Image { image, detail } => {
                if self.admits_media(part, side, "an image") {
                    self.write_image(part, image, detail.as_ref(), json);
                }
            }
            PartKind::Document { document, name } => {
                if self.admits_media(part, side, "a file") {
                    self.write_document(part, document, name.as_ref(), json);
                }
            }
            PartKind::Audio { .. } => {
                let reason = "is audio, which has no counterpart in the responses protocol";
                self.ledger.add(part.at, FieldOutcome::Refused, reason);
            }
            PartKind::Thinking { .. }
            | PartKind::SealedThinking { .. }
            | PartKind::ToolCall { .. }
            | PartKind::ToolResult { .. } => {
                let reason = "is not possible at this place in the responses protocol";
                self.ledger.add(part.at, FieldOutcome::Refused, reason);
            }
        }
    }

    fn write_text(
        &mut self,
        part: &Part<'_>,
        side: ContentSide,
        text: &EscapedText<'_>,
        json: &mut JsonWriter,
    ) {
        let kind = match side {
            ContentSide::Input => "input_text",
            ContentSide::Output => "output_text",
        };
        json.begin_object().key("type").literal(kind);
        json.key("text").text(text);
        self.end_part(part, side, json);
    }

    fn write_image(
        &mut self,
        part: &Part<'_>,
        image: &MediaSource<'_>,
        detail: Option<&EscapedText<'_>>,
        json: &mut JsonWriter,
    ) {
        json.begin_object().key("type").literal("input_image");
        match image {
            MediaSource::Url(url) | MediaSource::Text(url) => {
                json.key("image_url").text(url);
            }
            MediaSource::Inline(media) => media.write_uri(json.key("image_url")),
        }
        if let Some(detail) = detail {
            json.key("detail").text(detail);
        }
        self.end_part(part, ContentSide::Input, json);
    }

    fn write_document(
        &mut self,
        part: &Part<'_>,
        document: &MediaSource<'_>,
        name: Option<&EscapedText<'_>>,
        json: &mut JsonWriter,
    ) {
        let file = |json: &mut JsonWriter| {
            json.begin_object().key("type").literal("input_file");
        };
        match document {
            MediaSource::Url(url) => {
                file(json);
                json.key("file_url").text(url);
                if let Some(name) = name {
                    json.key("filename").text(name);
                }
            }
            MediaSource::Inline(media) => {
                file(json);
                let name = name
                    .cloned()
                    .unwrap_or_else(|| default_name(&media.media_type));
                json.key("filename").text(&name);
                media.write_uri(json.key("file_data"));
            }
            MediaSource::Text(text) => {
                json.begin_object().key("type").literal("input_text");
                let separator = EscapedText::literal(r"\n\n");
                match name {
                    Some(name) => json.key("text").text_pieces(&[name, &separator, text]),
                    None => json.key("text").text(text),
                };
            }
        }
        self.end_part(part, ContentSide::Input, json);
    }

    fn end_part(&mut self, part: &Part<'_>, side: ContentSide, json: &mut JsonWriter) {
        if let Some(mark) = &part.cache {
            match side {
                ContentSide::Input => {
                    let form = self.channel.features.responses.cache_marks;
                    write_cache_mark(mark, form, json, self.ledger);
                }
                ContentSide::Output => {
                    let reason =
                        "is in a message of the assistant, where the responses protocol has none";
                    self.ledger.add(mark.at, FieldOutcome::Dropped, reason);
                }
            }
        }
        json.end_object();
    }

    fn admits_media(&mut self, part: &Part<'_>, side: ContentSide, kind: &str) -> bool {
        if side == ContentSide::Output {
            let reason =
                format!("is {kind} of the assistant, which the responses protocol does not have");
            self.ledger.add(part.at, FieldOutcome::Refused, reason);
        }
        side == ContentSide::Input
    }
}

/// Providers demand the name of a file that comes with its data.
fn default_name(media_type: &EscapedText<'_>) -> EscapedText<'static> {
    EscapedText::literal(match media_type.as_written() {
        "application/pdf" => "document.pdf",
        "text/plain" => "document.txt",
        _ => "document",
    })
}
