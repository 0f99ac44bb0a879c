//! Data URIs in JSON strings: their media type, and their base64 decoded in pieces, without a copy of the whole.

mod head;
mod reader;

pub use head::{has_data_scheme, split_data_uri};
pub use reader::{DataUriPieceIndex, DataUriReader};

use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, Engine};
use bytes::Bytes;
use head::{HEAD_BYTES_MAX, HeadEnd, media_type_in};
use memchr::memchr2;

/// As browsers decode: with or without padding.
pub(crate) const FORGIVING: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

const SCHEME: &[u8] = b"data:";
/// Characters of base64 that are decoded at a time.
const PIECE_CHARS: usize = 128 << 10;

/// A data URI in base64, in the text of a JSON string.
#[derive(Clone, Debug)]
pub struct DataUri {
    /// The media type in lower case, without parameters; empty if there is none.
    pub media_type: String,
    /// The text up to the comma and with it, as JSON spells it.
    head: Bytes,
    /// The text after the comma, as JSON spells it.
    payload: Bytes,
}

/// Why a data URI cannot be decoded, for its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDataUri {
    #[error("it must have a comma and base64 data, as in `data:image/png;base64,…`")]
    NotBase64,
    #[error("its base64 is invalid")]
    BadBase64,
}

/// Decodes the base64 of a data URI, piece by piece.
pub struct DataUriPayloadDecoder {
    text: JsonStringByteReader,
    /// Characters that are read and not decoded yet.
    pending: Vec<u8>,
    /// The last piece ended with padding, so that nothing may follow.
    is_padded: bool,
}

/// The pieces of base64 that is known to be valid.
pub struct DataUriPieceIterator(DataUriPayloadDecoder);

impl DataUri {
    /// Reads the text of a JSON string, without its quotes; `None` if it is no data URI. As URL parsers do, it skips
    /// control characters and spaces before the URL, and tabs and line breaks within it.
    ///
    /// # Errors
    /// It is a data URI, but not in base64.
    pub fn read(text: &Bytes) -> Option<Result<Self, InvalidDataUri>> {
        let mut rest = JsonStringByteReader::new(text.clone());
        let mut first = rest.next_byte()?;
        while first <= b' ' {
            first = rest.next_byte()?;
        }
        for (index, expected) in SCHEME.iter().enumerate() {
            let byte = match index {
                0 => first,
                _ => rest.next_url_byte()?,
            };
            if byte.to_ascii_lowercase() != *expected {
                return None;
            }
        }
        let (mut head, mut end) = (Vec::new(), HeadEnd::default());
        loop {
            match rest.next_url_byte() {
                Some(byte) if end.is_at(byte) => break,
                Some(byte) if head.len() < HEAD_BYTES_MAX && byte.is_ascii() => head.push(byte),
                Some(_) | None => return Some(Err(InvalidDataUri::NotBase64)),
            }
        }
        let media_type = media_type_in(&String::from_utf8_lossy(&head));
        Some(match media_type {
            Some(media_type) => Ok(Self {
                media_type,
                head: text.slice(..rest.at),
                payload: rest.remaining(),
            }),
            None => Err(InvalidDataUri::NotBase64),
        })
    }

    /// Takes the text of a JSON string that is base64 alone.
    pub fn from_base64(text: Bytes) -> Self {
        Self {
            media_type: String::new(),
            head: Bytes::new(),
            payload: text,
        }
    }

    /// The text before the base64 as providers expect it, in lower case and without parameters, with the number of bytes
    /// in the JSON that it replaces; `None` if it is so already.
    pub fn canonical_head(&self) -> Option<(usize, String)> {
        let canonical = format!("data:{};base64,", self.media_type);
        let is_other = !self.head.is_empty() && self.head != canonical.as_bytes();
        is_other.then_some((self.head.len(), canonical))
    }

    /// Bytes of the text after the comma, as JSON spells it.
    pub fn text_bytes(&self) -> usize {
        self.payload.len()
    }

    /// Decodes from the start.
    pub fn decoder(&self) -> DataUriPayloadDecoder {
        DataUriPayloadDecoder::at(self.payload.clone(), 0)
    }

    /// The decoded pieces of base64 that is known to be valid.
    pub fn decoded_pieces(&self) -> DataUriPieceIterator {
        DataUriPieceIterator(self.decoder())
    }
}

impl Iterator for DataUriPieceIterator {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut piece = Vec::new();
        self.0.next_piece(&mut piece).ok()?;
        (!piece.is_empty()).then(|| piece.into())
    }
}

impl DataUriPayloadDecoder {
    /// Decodes from a place where a piece starts.
    fn at(text: Bytes, at: usize) -> Self {
        Self {
            text: JsonStringByteReader { text, at },
            pending: Vec::new(),
            is_padded: false,
        }
    }

    /// Replaces `piece` by the next decoded bytes; empty at the end.
    ///
    /// # Errors
    /// The base64 is invalid.
    pub fn next_piece(&mut self, piece: &mut Vec<u8>) -> Result<(), InvalidDataUri> {
        piece.clear();
        let is_last = !self.text.read_characters(&mut self.pending, PIECE_CHARS);
        let whole = match is_last {
            true => self.pending.len(),
            false => self.pending.len() / 4 * 4,
        };
        if whole == 0 {
            return Ok(());
        }
        if self.is_padded {
            return Err(InvalidDataUri::BadBase64);
        }
        FORGIVING
            .decode_vec(&self.pending[..whole], piece)
            .map_err(|_| InvalidDataUri::BadBase64)?;
        self.is_padded = piece.len() < whole / 4 * 3;
        self.pending.drain(..whole);
        Ok(())
    }
}

/// The characters of a JSON string, without its quotes. A character that is not ASCII is read as a byte that base64 does
/// not have.
#[derive(Clone, Debug)]
struct JsonStringByteReader {
    text: Bytes,
    at: usize,
}

const NOT_ASCII: u8 = 0xFF;

impl JsonStringByteReader {
    fn new(text: Bytes) -> Self {
        Self { text, at: 0 }
    }

    fn remaining(&self) -> Bytes {
        self.text.slice(self.at..)
    }

    /// Appends characters other than white space, until there are `wanted` of them; returns whether there may be more.
    fn read_characters(&mut self, into: &mut Vec<u8>, wanted: usize) -> bool {
        while into.len() < wanted {
            let rest = &self.text[self.at..];
            let rest = &rest[..rest.len().min(wanted - into.len())];
            let plain = memchr2(b'\\', b' ', rest).unwrap_or(rest.len());
            into.extend_from_slice(&rest[..plain]);
            self.at += plain;
            if plain == rest.len() && !rest.is_empty() {
                continue;
            }
            match self.next_byte() {
                Some(byte) if byte.is_ascii_whitespace() => {}
                Some(byte) => into.push(byte),
                None => return false,
            }
        }
        true
    }

    /// The next character that is no tab and no line break.
    fn next_url_byte(&mut self) -> Option<u8> {
        loop {
            match self.next_byte()? {
                b'\t' | b'\n' | b'\r' => {}
                byte => return Some(byte),
            }
        }
    }

    /// The next character, with its escape resolved.
    fn next_byte(&mut self) -> Option<u8> {
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        if byte != b'\\' {
            return Some(byte);
        }
        let escaped = *self.text.get(self.at)?;
        self.at += 1;
        Some(match escaped {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'f' => 0x0C,
            b'b' => 0x08,
            b'u' => self.code_point(),
            other => other,
        })
    }

    fn code_point(&mut self) -> u8 {
        let digits = self.text.get(self.at..self.at + 4);
        self.at = (self.at + 4).min(self.text.len());
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code {
            Some(code @ 0..0x80) => code as u8,
            _ => NOT_ASCII,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    fn decode(text: &str) -> Result<Vec<u8>, InvalidDataUri> {
        let uri = DataUri::read(&Bytes::from(text.to_owned())).expect("a data URI")?;
        let (mut whole, mut piece) = (Vec::new(), Vec::new());
        let mut decoder = uri.decoder();
        loop {
            decoder.next_piece(&mut piece)?;
            match piece.is_empty() {
                true => return Ok(whole),
                false => whole.extend_from_slice(&piece),
            }
        }
    }

    #[test]
    fn the_media_type_is_what_precedes_the_first_semicolon() {
        for (text, media_type) in [
            ("data:image/png;base64,AA==", "image/png"),
            ("DATA:Image/PNG;Base64,AA==", "image/png"),
            ("data:text/plain;charset=utf-8;base64,AA==", "text/plain"),
            ("data:;base64,AA==", ""),
            (r"\u0064ata:image\/png;base64\u002cAA==", "image/png"),
            (" data:image/png;base64,AA==", "image/png"),
            (r"\u0000\t data:image/png;base64,AA==", "image/png"),
            (r"da\nta:ima\tge/png;base64,AA==", "image/png"),
            (r#"data:video/mp4;codecs=\"a, b\";base64,AA=="#, "video/mp4"),
        ] {
            let uri = DataUri::read(&Bytes::from(text)).unwrap().unwrap();
            assert_eq!(uri.media_type, media_type, "{text}");
            let canonical = format!("data:{media_type};base64,");
            let head = uri.canonical_head();
            assert_eq!(head.is_none(), text.starts_with(&canonical), "{text}");
            if let Some((bytes, head)) = head {
                assert_eq!((head, &text[bytes..]), (canonical, "AA=="), "{text}");
            }
        }
    }

    #[test]
    fn what_is_not_a_data_uri_in_base64_is_recognised() {
        for text in [
            "",
            " ",
            "data",
            "https://x.example/a.png",
            "oss://a/b",
            "d ata:a/b;base64,AA==",
        ] {
            assert!(DataUri::read(&Bytes::from(text)).is_none(), "{text}");
        }
        let long = format!("data:{};base64,AA==", "a".repeat(300));
        let open = r#"data:a/b;c=\";base64,AA=="#;
        for text in [
            "data:",
            "data:image/png,abc",
            "data:base64,AA==",
            &long,
            open,
        ] {
            let read = DataUri::read(&Bytes::from(text.to_owned())).unwrap();
            assert_eq!(read.unwrap_err(), InvalidDataUri::NotBase64, "{text}");
        }
    }

    #[test]
    fn escapes_white_space_and_missing_padding_are_resolved() {
        for (payload, content) in [
            ("", &b""[..]),
            ("/+8=", b"\xff\xef"),
            ("/+8", b"\xff\xef"),
            (r"\/+8=", b"\xff\xef"),
            (r"\u002f\u002B8\u003d", b"\xff\xef"),
            (r"\/+\n8 = ", b"\xff\xef"),
            ("aGVsbG8gd29ybGQ=", b"hello world"),
        ] {
            let decoded = decode(&format!("data:a/b;base64,{payload}"));
            assert_eq!(decoded.as_deref(), Ok(content), "{payload}");
        }
    }

    #[test]
    fn invalid_base64_is_refused() {
        let padded_amid = format!("{}=={}", "A".repeat(PIECE_CHARS - 2), "A".repeat(8));
        for payload in [
            "A",
            "AA=A",
            "AAAA====",
            "A-_A",
            "AA%3D%3D",
            "\u{e9}AAA",
            r"\u00e9AAA",
            r"\ud83d\ude00",
            &padded_amid,
        ] {
            let decoded = decode(&format!("data:a/b;base64,{payload}"));
            assert_eq!(decoded, Err(InvalidDataUri::BadBase64), "{payload:.20}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn content_of_any_length_and_spelling_is_the_same(
            content in proptest::collection::vec(any::<u8>(), 0..400_000),
            escape_every in 1_usize..5000,
        ) {
            let plain = STANDARD.encode(&content);
            let spelled: String = plain.chars().enumerate().map(|(index, character)| {
                match (index % escape_every, character) {
                    (0, '/') => r"\/".to_owned(),
                    (0, character) => format!("\\u{:04x}", character as u32),
                    (_, character) => character.to_string(),
                }
            }).collect();
            for text in [plain, spelled] {
                let decoded = decode(&format!("data:a/b;base64,{text}"));
                prop_assert!(decoded.as_deref() == Ok(&content[..]));
            }
        }
    }
}
