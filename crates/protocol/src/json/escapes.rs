//! Decodes the escapes of JSON text that need not be a whole document.

use super::text::{decode_escape, escape, hex};

/// Decodes the escapes of a JSON text that arrives in pieces, such as the arguments of a tool in a stream.
///
/// Quotes, structure and what is no escape stay as they are written, so that the result is text for readers, not JSON.
#[derive(Default)]
pub struct JsonEscapeDecoder {
    /// The start of an escape whose end has not arrived.
    pending: String,
}

impl JsonEscapeDecoder {
    /// The decoded text of the next piece, without an escape that the piece does not complete.
    pub fn push(&mut self, piece: &str) -> String {
        let mut text = std::mem::take(&mut self.pending);
        text.push_str(piece);
        let mut decoded = String::with_capacity(text.len());
        let mut rest = &*text;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            decoded.push_str(&rest[..at]);
            rest = &rest[at..];
            let bytes = rest.as_bytes();
            let length = match escape(bytes) {
                Ok(_) => {
                    let (character, length) = decode_escape(bytes);
                    decoded.push(character);
                    length
                }
                Err(_) if is_start_of_escape(bytes) => {
                    self.pending = rest.to_owned();
                    return decoded;
                }
                Err(_) => {
                    decoded.push('\\');
                    1
                }
            };
            rest = &rest[length..];
        }
        decoded.push_str(rest);
        decoded
    }

    /// The start of an escape whose end has not arrived, as it is written.
    pub fn pending(&self) -> &str {
        &self.pending
    }
}

/// The text with its escapes decoded.
pub fn decoded_escapes(text: &str) -> String {
    let mut decoder = JsonEscapeDecoder::default();
    let decoded = decoder.push(text);
    decoded + decoder.pending()
}

/// Whether more bytes can make this an escape.
fn is_start_of_escape(bytes: &[u8]) -> bool {
    let is_unit_start = |bytes: &[u8]| match bytes {
        [] | b"\\" => true,
        [b'\\', b'u', digits @ ..] => digits.len() < 4 && digits.iter().all(u8::is_ascii_hexdigit),
        _ => false,
    };
    match hex(bytes) {
        Some(0xD800..=0xDBFF) => is_unit_start(&bytes[6..]),
        Some(_) => false,
        None => is_unit_start(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_wherever_the_text_is_cut() {
        for (text, decoded) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"\u0042AD":"B\u0041\u0044"}"#, r#"{"BAD":"BAD"}"#),
            (r#""a\n\"b\"\\n""#, "\"a\n\"b\"\\n\""),
            (r#""é\ud83d\ude00é""#, "\"é😀é\""),
            // What is no escape stays.
            (
                r"\x \u00g0 \ud800x \udc00 \ud800A",
                r"\x \u00g0 \ud800x \udc00 \ud800A",
            ),
        ] {
            assert_eq!(decoded_escapes(text), decoded);
            for (cut, _) in text.char_indices() {
                let mut decoder = JsonEscapeDecoder::default();
                let (first, second) = text.split_at(cut);
                let joined = decoder.push(first) + &decoder.push(second);
                assert_eq!(joined + decoder.pending(), decoded, "cut at {cut}");
            }
        }
    }

    #[test]
    fn an_escape_without_its_end_is_pending() {
        for (text, decoded, pending) in [
            (r"a\", "a", r"\"),
            (r"a\u00", "a", r"\u00"),
            (r"a\ud83d", "a", r"\ud83d"),
            (r"a\ud83d\ude", "a", r"\ud83d\ude"),
            (r"a\\", r"a\", ""),
        ] {
            let mut decoder = JsonEscapeDecoder::default();
            assert_eq!(decoder.push(text), decoded);
            assert_eq!(decoder.pending(), pending);
        }
    }
}
