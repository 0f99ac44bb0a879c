//! The bytes of an image or document.

use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use std::borrow::Cow;

/// Where the bytes of an image or document are.
#[derive(Clone, Debug)]
pub enum MediaSource<'a> {
    Url(EscapedText<'a>),
    Inline(Media<'a>),
    /// The text of a document.
    Text(EscapedText<'a>),
}

/// A file in base64.
#[derive(Clone, Debug)]
pub struct Media<'a> {
    /// Such as `image/png`.
    pub media_type: EscapedText<'a>,
    pub base64: EscapedText<'a>,
}

impl<'a> MediaSource<'a> {
    /// A data URI in base64 is inline data; every other URI stays as it is.
    pub fn from_uri(uri: EscapedText<'a>) -> Self {
        match Media::from_data_uri(&uri) {
            Some(media) => Self::Inline(media),
            None => Self::Url(uri),
        }
    }
}

impl<'a> Media<'a> {
    fn from_data_uri(uri: &EscapedText<'a>) -> Option<Self> {
        let written = uri.as_written();
        let start = &written.as_bytes()[..written.len().min(HEAD_BYTES_MAX)];
        if !start.get(..5)?.eq_ignore_ascii_case(b"data:") {
            return None;
        }
        let comma = memchr::memchr(b',', start)?;
        let head = uri.slice(5..comma);
        let decoded = head.decoded();
        let (media_type, parameters) = decoded.split_once(';')?;
        let encoding = parameters.rsplit(';').next()?;
        if media_type.is_empty() || !encoding.eq_ignore_ascii_case("base64") {
            return None;
        }
        let known = registered_type(media_type);
        let is_as_written = known == media_type && head.as_written().starts_with(media_type);
        Some(Self {
            media_type: match is_as_written {
                true => head.slice(0..media_type.len()),
                false => EscapedText::plain(&known),
            },
            base64: uri.slice(comma + 1..written.len()),
        })
    }

    /// Writes a data URI, as a string.
    pub fn write_uri(&self, json: &mut JsonWriter) {
        let (scheme, encoding) = (
            EscapedText::literal("data:"),
            EscapedText::literal(";base64,"),
        );
        json.text_pieces(&[&scheme, &self.media_type, &encoding, &self.base64]);
    }
}

/// A media type in lower case, under its registered name: `image/jpg` is what many clients call JPEG, and OpenAI takes it.
fn registered_type(media_type: &str) -> Cow<'_, str> {
    if media_type.eq_ignore_ascii_case("image/jpg") {
        Cow::Borrowed("image/jpeg")
    } else if media_type.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(media_type.to_ascii_lowercase())
    } else {
        Cow::Borrowed(media_type)
    }
}

/// Bytes in which the comma of a data URI must be.
const HEAD_BYTES_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_uri_in_base64_is_inline_data() {
        let cases = [
            ("data:image/png;base64,aGk=", "image/png", "aGk="),
            (r"data:image\/png;base64,aG\/k", "image/png", r"aG\/k"),
            ("DATA:text/plain;charset=utf-8;Base64,", "text/plain", ""),
            ("data:image/jpg;base64,aGk=", "image/jpeg", "aGk="),
            ("data:Image/PNG;base64,aGk=", "image/png", "aGk="),
        ];
        for (uri, media_type, base64) in cases {
            let source = MediaSource::from_uri(EscapedText::literal(uri));
            let MediaSource::Inline(media) = source else {
                panic!("{uri} is {source:?}")
            };
            assert_eq!(media.media_type.as_written(), media_type);
            assert_eq!(media.base64.as_written(), base64);
        }
    }

    #[test]
    fn other_uris_stay_as_they_are() {
        let uris = [
            "https://a.example/b,c;base64,d",
            "data:,text",
            "data:text/plain,text",
            "data:;base64,aGk=",
            "data:image/png;base64",
            "dat",
            "",
        ];
        for uri in uris {
            let source = MediaSource::from_uri(EscapedText::literal(uri));
            assert!(matches!(source, MediaSource::Url(kept) if kept.as_written() == uri));
        }
    }

    #[test]
    fn a_data_uri_is_written_as_it_was_read() {
        let uri = "data:image/png;base64,aGk=";
        let MediaSource::Inline(media) = MediaSource::from_uri(EscapedText::literal(uri)) else {
            panic!("not inline")
        };
        let mut json = JsonWriter::default();
        media.write_uri(&mut json);
        assert_eq!(json.into_bytes(), format!("\"{uri}\"").into_bytes());
    }
}
