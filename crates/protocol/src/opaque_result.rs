//! Results that only their caller can read: files, sound, plain text and subtitles.

use super::protocols::GenerationMedium;
use super::response_verdict::{begins_like_object, begins_like_text};
use http::{HeaderMap, header};

/// What the content type of a response declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeclaredContent {
    Json,
    EventStream,
    /// A file, of which no protocol defines a success.
    Media,
    /// No content type: servers that stream sound by default name none.
    Nothing,
    Other,
}

/// Whether a body that begins with `start`, under a success status, may be a result of this medium that is not JSON. The start
/// is empty if the whole body is. A declared type proves little: providers send errors with the type of the result.
pub fn may_be_opaque_result(medium: GenerationMedium, headers: &HeaderMap, start: &[u8]) -> bool {
    use DeclaredContent::{EventStream, Json, Media, Nothing};
    let declared = || DeclaredContent::in_headers(headers);
    match medium {
        GenerationMedium::Text | GenerationMedium::Data => false,
        // A drawing in SVG begins like a page.
        GenerationMedium::Image | GenerationMedium::Video => {
            declared() == Media && !start.is_empty() && !begins_like_object(start)
        }
        // Callers may ask for events (`stream_format` of OpenAI's API).
        GenerationMedium::Audio => {
            matches!(declared(), Media | Nothing | EventStream) && !begins_like_text(start)
        }
        // The text of silence is empty.
        GenerationMedium::Transcript => declared() != Json && !begins_like_object(start),
    }
}

impl DeclaredContent {
    fn in_headers(headers: &HeaderMap) -> Self {
        const MEDIA: [&str; 7] = [
            "audio/",
            "image/",
            "video/",
            "application/octet-stream",
            "application/ogg",
            "binary/octet-stream",
            "multipart/",
        ];
        let Some(content_type) = headers.get(header::CONTENT_TYPE) else {
            return Self::Nothing;
        };
        let content_type = content_type.to_str().unwrap_or_default();
        let content_type = content_type.trim_start().to_ascii_lowercase();
        let essence = content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim_end();
        match essence {
            "application/json" => Self::Json,
            "text/event-stream" => Self::EventStream,
            _ if MEDIA.iter().any(|media| essence.starts_with(media)) => Self::Media,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::may_be_opaque_result;
    use crate::protocols::GenerationMedium::{self, Audio, Data, Image, Text, Transcript};
    use http::{HeaderMap, header};

    #[test]
    fn a_result_is_opaque_where_its_medium_type_and_start_allow_it() {
        const ERROR: &[u8] = b"{ \"error\": {";
        let table: &[(GenerationMedium, Option<&str>, &[u8], bool)] = &[
            (Audio, Some("audio/mpeg"), b"ID3\x04", true),
            (Audio, Some("Audio/PCM; rate=24000"), b"{\x01\x7b\x01", true),
            (Audio, Some("application/ogg"), b"OggS", true),
            (Audio, Some("binary/octet-stream"), b"RIFF", true),
            (Audio, None, b"\xff\xfb\x90", true),
            (Audio, None, b"<\x00[\x00", true),
            (Audio, Some("text/event-stream"), b"data: {", true),
            (Audio, Some("audio/mpeg"), ERROR, false),
            (Audio, Some("audio/mpeg"), b"", false),
            (Audio, Some("audio/mpeg"), b"<html>", false),
            (Audio, Some("text/plain"), b"overloaded", false),
            (Audio, Some("application/json"), b"ID3", false),
            (Image, Some("image/png"), b"\x89PNG", true),
            (Image, Some("image/svg+xml"), b"<svg", true),
            (Image, Some("image/png"), ERROR, false),
            (Image, Some("image/png"), b"", false),
            (Image, None, b"\x89PNG", false),
            (Transcript, Some("text/plain"), b"{laughs} Hello", true),
            (Transcript, Some("text/vtt"), b"WEBVTT", true),
            (Transcript, Some("text/plain"), b"", true),
            (Transcript, Some("text/plain"), ERROR, false),
            (
                Transcript,
                Some("application/json; charset=utf-8"),
                b"Hello",
                false,
            ),
            (Text, Some("audio/mpeg"), b"ID3\x04", false),
            (Data, Some("application/octet-stream"), b"\x00", false),
        ];
        for (medium, content_type, start, expected) in table {
            let mut headers = HeaderMap::new();
            if let Some(content_type) = content_type {
                headers.insert(header::CONTENT_TYPE, content_type.parse().unwrap());
            }
            let is_opaque = may_be_opaque_result(*medium, &headers, start);
            let shown = start.escape_ascii();
            assert_eq!(is_opaque, *expected, "{medium:?} {content_type:?} {shown}");
        }
    }
}
