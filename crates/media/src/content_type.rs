//! The type of content by its first bytes, compared with the kind that a role requires.

use headgate_core::task::media_kind::MediaKind;
use infer::MatcherType;

/// Documents that providers read, in nine formats: the media type that a data URI declares, and the start of such files.
const DOCUMENTS: [(&str, &[u8]); 10] = [
    ("application/pdf", b"%PDF-"),
    ("application/msword", OFFICE_97),
    ("application/vnd.ms-excel", OFFICE_97),
    ("application/vnd.ms-powerpoint", OFFICE_97),
    (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ZIP,
    ),
    (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ZIP,
    ),
    (
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        ZIP,
    ),
    ("text/plain", b""),
    ("text/markdown", b""),
    ("text/x-markdown", b""),
];
/// The start of files of Office before 2007.
const OFFICE_97: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
/// The start of files of Office since 2007, which are ZIP archives.
const ZIP: &[u8] = b"PK\x03\x04";
/// Images that providers of videos read; others, such as files of cameras and editors, are none here.
const IMAGES: [&str; 8] = [
    "image/avif",
    "image/bmp",
    "image/gif",
    "image/heif",
    "image/jpeg",
    "image/png",
    "image/tiff",
    "image/webp",
];
/// Audio that providers of videos read, if its first bytes have no rule of their own below.
const AUDIO: [&str; 3] = ["audio/x-flac", "audio/x-aiff", "audio/amr"];

/// What the first bytes of a file show: its media type as a video and as audio or as an image, where it may be such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SniffedMediaTypes {
    image: Option<&'static str>,
    video: Option<&'static str>,
    audio: Option<&'static str>,
}

/// The media type by which content is served, given its first bytes: what they show for an image, a video or audio, and
/// what was declared for a document.
///
/// Text has no first bytes of its own: a text document must be checked to be UTF-8 as a whole.
///
/// # Errors
/// The content is not of `kind`: the kind that it is of, if that is known.
pub fn detect_content_type(
    kind: MediaKind,
    start: &[u8],
    declared: &str,
) -> Result<&'static str, Option<MediaKind>> {
    let sniffed = SniffedMediaTypes::detect(start);
    let known = match kind {
        MediaKind::Image => sniffed.image,
        MediaKind::Video => sniffed.video,
        MediaKind::Audio => sniffed.audio,
        MediaKind::Document => {
            let mut documents = DOCUMENTS.into_iter();
            let document =
                documents.find(|(known, begin)| *known == declared && (start.starts_with(begin)));
            document.map(|(known, _)| known)
        }
    };
    known.ok_or_else(|| sniffed.kind().or_else(|| document_kind(start)))
}

/// The kind of media that a media type declares; `None` if it declares none that providers of videos take.
pub fn declared_kind(media_type: &str) -> Option<MediaKind> {
    let (kind, _) = media_type.split_once('/')?;
    match kind {
        "image" => Some(MediaKind::Image),
        "video" => Some(MediaKind::Video),
        "audio" => Some(MediaKind::Audio),
        _ => {
            let mut documents = DOCUMENTS.into_iter();
            let document = documents.find(|(known, _)| *known == media_type);
            document.map(|_| MediaKind::Document)
        }
    }
}

fn document_kind(start: &[u8]) -> Option<MediaKind> {
    let mut begins = DOCUMENTS.into_iter().map(|(_, begin)| begin);
    let is_document = begins.any(|begin| !begin.is_empty() && start.starts_with(begin));
    is_document.then_some(MediaKind::Document)
}

impl SniffedMediaTypes {
    fn detect(start: &[u8]) -> Self {
        if start.get(4..8) == Some(b"ftyp") {
            return Self::from_brand(start.get(8..12).unwrap_or_default());
        }
        match start {
            // A movie of QuickTime without a brand.
            [_, _, _, _, b'm', b'o', b'o', b'v', ..] | [_, _, _, _, b'm', b'd', b'a', b't', ..] => {
                Self::video("video/quicktime")
            }
            // Matroska, and WebM if its document type says so.
            [0x1A, 0x45, 0xDF, 0xA3, head @ ..] => {
                let head = &head[..head.len().min(64)];
                match memchr::memmem::find(head, b"webm") {
                    Some(_) => Self::container("video/webm", "audio/webm"),
                    None => Self::container("video/x-matroska", "audio/x-matroska"),
                }
            }
            [b'O', b'g', b'g', b'S', ..] => Self::container("video/ogg", "audio/ogg"),
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'A',
                b'V',
                b'E',
                ..,
            ] => Self::audio("audio/x-wav"),
            [b'I', b'D', b'3', ..] => Self::audio("audio/mpeg"),
            [0xFF, second, third, ..] if second & 0xE0 == 0xE0 => Self::from_sync(*second, *third),
            _ => Self::from_table(start),
        }
    }

    /// Files of the ISO base media format, by their major brand.
    fn from_brand(brand: &[u8]) -> Self {
        match brand {
            b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" | b"mif1" | b"msf1" => {
                Self::image("image/heif")
            }
            b"avif" | b"avis" => Self::image("image/avif"),
            b"M4A " | b"M4B " | b"M4P " => Self::audio("audio/mp4"),
            b"qt  " => Self::container("video/quicktime", "audio/mp4"),
            [b'3', b'g', ..] => Self::container("video/3gpp", "audio/3gpp"),
            _ => Self::container("video/mp4", "audio/mp4"),
        }
    }

    /// A frame of MPEG audio: of AAC if its layer is 0.
    fn from_sync(second: u8, third: u8) -> Self {
        let (version, layer) = (second >> 3 & 3, second >> 1 & 3);
        let (bitrate, rate) = (third >> 4, third >> 2 & 3);
        match (layer, version) {
            (0, 2 | 3) if second & 0xF0 == 0xF0 => Self::audio("audio/aac"),
            (0, _) | (_, 1) => Self::default(),
            _ if bitrate == 15 || rate == 3 => Self::default(),
            _ => Self::audio("audio/mpeg"),
        }
    }

    fn from_table(start: &[u8]) -> Self {
        let Some(found) = infer::get(start) else {
            return Self::default();
        };
        let shown = found.mime_type();
        match found.matcher_type() {
            MatcherType::Image if IMAGES.contains(&shown) => Self::image(shown),
            MatcherType::Audio if AUDIO.contains(&shown) => Self::audio(shown),
            MatcherType::Video => Self::video(shown),
            _ => Self::default(),
        }
    }

    /// The kind, if it can be one only.
    fn kind(self) -> Option<MediaKind> {
        match (self.image, self.video, self.audio) {
            (Some(_), None, None) => Some(MediaKind::Image),
            (None, Some(_), _) => Some(MediaKind::Video),
            (None, None, Some(_)) => Some(MediaKind::Audio),
            _ => None,
        }
    }

    fn image(shown: &'static str) -> Self {
        Self::shown(Some(shown), None, None)
    }

    fn video(shown: &'static str) -> Self {
        Self::shown(None, Some(shown), None)
    }

    fn audio(shown: &'static str) -> Self {
        Self::shown(None, None, Some(shown))
    }

    /// A container whose tracks decide whether it is a video or audio.
    fn container(video: &'static str, audio: &'static str) -> Self {
        Self::shown(None, Some(video), Some(audio))
    }

    fn shown(
        image: Option<&'static str>,
        video: Option<&'static str>,
        audio: Option<&'static str>,
    ) -> Self {
        Self {
            image,
            video,
            audio,
        }
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
    use MediaKind::{Audio, Document, Image, Video};

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR";
    const MP4: &[u8] = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42";
    const WAV: &[u8] = b"RIFF\x00\x00\x00\x00WAVEfmt ";

    #[test]
    fn content_of_the_required_kind_has_the_type_that_its_first_bytes_show() {
        for (kind, start, shown) in [
            (Image, PNG, "image/png"),
            (Image, b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
            (Image, b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
            (Image, b"\x00\x00\x00\x18ftypheic", "image/heif"),
            (Image, b"\x00\x00\x00\x18ftypavif", "image/avif"),
            (Video, MP4, "video/mp4"),
            (Video, b"\x00\x00\x00\x18ftypiso8", "video/mp4"),
            (Video, b"\x00\x00\x00\x18ftypXAVC", "video/mp4"),
            (Video, b"\x00\x00\x00\x18ftyp3gp5", "video/3gpp"),
            (Video, b"\x00\x00\x00\x14ftypqt  ", "video/quicktime"),
            (Video, b"\x00\x00\x10\x00moov", "video/quicktime"),
            (
                Video,
                b"\x1a\x45\xdf\xa3\x01\0\0\0\0\0\0\x1f\x42\x82\x84webm",
                "video/webm",
            ),
            (
                Audio,
                b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\x82\x88matroska",
                "audio/x-matroska",
            ),
            (Audio, WAV, "audio/x-wav"),
            (Audio, b"ID3\x03\x00\x00\x00\x00\x00\x00", "audio/mpeg"),
            (Audio, b"\xff\xfb\x90\x00", "audio/mpeg"),
            (Audio, b"\xff\xfa\x90\x00", "audio/mpeg"),
            (Audio, b"\xff\xf3\x90\x00", "audio/mpeg"),
            (Audio, b"\xff\xf1\x50\x80", "audio/aac"),
            (Audio, b"\x00\x00\x00\x18ftypM4A ", "audio/mp4"),
            (Audio, MP4, "audio/mp4"),
            (Audio, b"OggS\x00", "audio/ogg"),
        ] {
            assert_eq!(detect_content_type(kind, start, ""), Ok(shown), "{start:?}");
        }
    }

    #[test]
    fn content_of_another_kind_is_refused_by_the_kind_that_it_is_of() {
        for (kind, start, declared, found) in [
            (Image, MP4, "image/png", Some(Video)),
            (Image, WAV, "image/png", Some(Audio)),
            (Image, b"%PDF-1.7", "image/png", Some(Document)),
            (
                Image,
                b"<svg xmlns='http://www.w3.org/2000/svg'>",
                "image/svg+xml",
                None,
            ),
            (Image, b"8BPS\x00\x01", "image/vnd.adobe.photoshop", None),
            (Image, b"", "image/png", None),
            (Image, b"\xff\xff\xff", "image/jpeg", None),
            (Video, PNG, "video/mp4", Some(Image)),
            (Video, WAV, "video/mp4", Some(Audio)),
            (Video, b"\x00\x00\x00\x18ftypheic", "video/mp4", Some(Image)),
            (Audio, PNG, "audio/mpeg", Some(Image)),
            (Audio, b"MThd\x00\x00\x00\x06", "audio/midi", None),
            (Document, PNG, "application/pdf", Some(Image)),
            (Document, b"# Title", "application/pdf", None),
            (Document, b"# Title", "text/html", None),
            (Document, b"PK\x03\x04", "application/pdf", Some(Document)),
            (
                Document,
                b"PK\x03\x04",
                "application/msword",
                Some(Document),
            ),
            (Document, OFFICE_97, DOCUMENTS[4].0, Some(Document)),
        ] {
            let refused = detect_content_type(kind, start, declared);
            assert_eq!(refused, Err(found), "{kind:?} {declared} {start:?}");
        }
    }

    #[test]
    fn a_document_is_of_one_of_nine_formats_and_served_as_what_it_declares() {
        for (declared, begin) in DOCUMENTS {
            let start = [begin, b"more"].concat();
            assert_eq!(
                detect_content_type(Document, &start, declared),
                Ok(declared)
            );
            assert_eq!(declared_kind(declared), Some(Document));
        }
    }

    #[test]
    fn the_kind_that_is_declared_is_what_precedes_the_slash() {
        for (media_type, kind) in [
            ("image/anything", Some(Image)),
            ("video/mp4", Some(Video)),
            ("audio/mp3", Some(Audio)),
            ("text/html", None),
            ("application/zip", None),
            ("application/octet-stream", None),
            ("image", None),
            ("", None),
        ] {
            assert_eq!(declared_kind(media_type), kind, "{media_type}");
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
