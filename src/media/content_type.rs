//! The type of content by its first bytes, compared with the kind that a role requires.

use crate::task::media_kind::MediaKind;
use infer::MatcherType;

/// Documents that providers read: the media type that a data URI declares.
const DOCUMENTS: [&str; 10] = [
    "application/pdf",
    "application/msword",
    "application/vnd.ms-excel",
    "application/vnd.ms-powerpoint",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "text/plain",
    "text/markdown",
    "text/x-markdown",
];
/// The start of files of Office before 2007, and of ZIP archives, which those since 2007 are.
const OFFICE_STARTS: [&[u8]; 2] = [b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", b"PK\x03\x04"];
/// Containers of audio as well as video; only their content tells which.
const CONTAINERS: [(&str, &str); 4] = [
    ("video/mp4", "audio/mp4"),
    ("video/webm", "audio/webm"),
    ("video/x-matroska", "audio/x-matroska"),
    ("audio/ogg", "video/ogg"),
];

/// The media type by which content is served, given its first bytes: what they show for an image, a video or audio, and
/// what was declared for a document. `None` if they are not of `kind`.
///
/// Text has no first bytes of its own: a text document must be checked to be UTF-8 as a whole.
pub fn content_type_of(kind: MediaKind, start: &[u8], declared: &str) -> Option<&'static str> {
    if kind == MediaKind::Document {
        let declared = DOCUMENTS.into_iter().find(|known| *known == declared)?;
        let is_binary = start.starts_with(b"%PDF-")
            || OFFICE_STARTS.iter().any(|known| start.starts_with(known));
        return (is_binary || declared.starts_with("text/")).then_some(declared);
    }
    let found = infer::get(start)?;
    let shown = found.mime_type();
    let fits = |kind: MediaKind| match kind {
        MediaKind::Image => found.matcher_type() == MatcherType::Image,
        MediaKind::Video => found.matcher_type() == MatcherType::Video,
        MediaKind::Audio => found.matcher_type() == MatcherType::Audio,
        MediaKind::Document => false,
    };
    if fits(kind) {
        return Some(shown);
    }
    let others = CONTAINERS.into_iter().find_map(|(one, other)| {
        let pairs = [(one, other), (other, one)];
        pairs.into_iter().find(|(known, _)| *known == shown)
    });
    match (others, kind) {
        (Some((_, other)), MediaKind::Video | MediaKind::Audio) => Some(other),
        _ => None,
    }
}

/// Whether a browser would run or render content of this type with the rights of the page's origin.
pub fn runs_in_browsers(content_type: &str) -> bool {
    !["image/", "video/", "audio/"]
        .iter()
        .any(|prefix| content_type.starts_with(prefix))
        || content_type.contains("svg")
        || content_type.contains("xml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_must_be_of_the_kind_that_its_role_requires() {
        use MediaKind::{Audio, Document, Image, Video};
        let png = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR";
        let jpeg = b"\xff\xd8\xff\xe0\x00\x10JFIF";
        let webp = b"RIFF\x00\x00\x00\x00WEBPVP8 ";
        let mp4 = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42";
        let mov = b"\x00\x00\x00\x14ftypqt  \x00\x00\x00\x00qt  ";
        let wav = b"RIFF\x00\x00\x00\x00WAVEfmt ";
        let mp3 = b"ID3\x03\x00\x00\x00\x00\x00\x00";
        for (kind, start, declared, expected) in [
            (Image, &png[..], "image/jpg", Some("image/png")),
            (Image, jpeg, "image/jpeg", Some("image/jpeg")),
            (Image, webp, "", Some("image/webp")),
            (Image, mp4, "image/png", None),
            (
                Image,
                b"<svg xmlns='http://www.w3.org/2000/svg'>",
                "image/svg+xml",
                None,
            ),
            (Image, b"", "image/png", None),
            (Video, mp4, "video/mp4", Some("video/mp4")),
            (Video, mov, "video/quicktime", Some("video/quicktime")),
            (Video, png, "video/mp4", None),
            (Audio, wav, "audio/wav", Some("audio/x-wav")),
            (Audio, mp3, "audio/mp3", Some("audio/mpeg")),
            (Audio, mp4, "audio/mp4", Some("audio/mp4")),
            (Audio, png, "audio/mpeg", None),
            (
                Document,
                b"%PDF-1.7",
                "application/pdf",
                Some("application/pdf"),
            ),
            (Document, b"# Title", "text/markdown", Some("text/markdown")),
            (Document, b"# Title", "application/pdf", None),
            (Document, b"# Title", "text/html", None),
            (Document, b"PK\x03\x04", DOCUMENTS[4], Some(DOCUMENTS[4])),
        ] {
            let found = content_type_of(kind, start, declared);
            assert_eq!(found, expected, "{kind:?} {declared} {start:?}");
        }
    }

    #[test]
    fn only_pictures_and_sound_are_shown_by_browsers() {
        for (content_type, runs) in [
            ("image/png", false),
            ("video/mp4", false),
            ("audio/mpeg", false),
            ("image/svg+xml", true),
            ("text/plain", true),
            ("application/pdf", true),
        ] {
            assert_eq!(runs_in_browsers(content_type), runs, "{content_type}");
        }
    }
}
