//! The text of a JSON string, and the JSON string of a text.

use std::borrow::Cow;
use std::ops::Range;

/// The text of a JSON string.
pub struct StringText<'a> {
    pub text: Cow<'a, str>,
    /// For each byte of the text, and for its end, the place in the JSON string; nothing if they are the same.
    places: Option<Vec<u32>>,
}

impl StringText<'_> {
    /// The place in the JSON string, from its first byte after the quotation mark, of a range of the text.
    pub fn place(&self, range: Range<usize>) -> Range<usize> {
        match &self.places {
            None => range,
            Some(places) => places[range.start] as usize..places[range.end] as usize,
        }
    }
}

/// Decodes a valid JSON string, which is written without its quotation marks. Half of a surrogate pair becomes U+FFFD.
pub fn decode(string: &str) -> StringText<'_> {
    if !string.contains('\\') {
        return StringText {
            text: Cow::Borrowed(string),
            places: None,
        };
    }
    let mut text = String::with_capacity(string.len());
    let mut places = Vec::with_capacity(string.len() + 1);
    let mut at = 0;
    while let Some(first) = string[at..].chars().next() {
        let (decoded, length) = match first {
            '\\' => escape(&string[at..]),
            plain => (plain, plain.len_utf8()),
        };
        text.push(decoded);
        places.resize(text.len(), at as u32);
        at += length;
    }
    places.push(at as u32);
    StringText {
        text: Cow::Owned(text),
        places: Some(places),
    }
}

/// Appends a text as part of a JSON string.
pub fn encode(text: &str, into: &mut String) {
    for character in text.chars() {
        match character {
            '"' => into.push_str("\\\""),
            '\\' => into.push_str("\\\\"),
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            '\t' => into.push_str("\\t"),
            control if (control as u32) < 0x20 => {
                into.push_str("\\u00");
                for digit in [control as u32 >> 4, control as u32 & 15] {
                    into.extend(char::from_digit(digit, 16));
                }
            }
            other => into.push(other),
        }
    }
}

/// The character of the escape at the start of a text, and the escape's length.
fn escape(text: &str) -> (char, usize) {
    let simple = match text.as_bytes().get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode_escape(text),
        Some(other) => char::from(*other),
        None => return (char::REPLACEMENT_CHARACTER, text.len()),
    };
    (simple, 2)
}

fn unicode_escape(text: &str) -> (char, usize) {
    let Some(first) = code_unit(text) else {
        return (char::REPLACEMENT_CHARACTER, text.len());
    };
    if let Some(character) = char::from_u32(first) {
        return (character, 6);
    }
    let second = code_unit(&text[6..]).filter(|second| (0xdc00..0xe000).contains(second));
    match second {
        Some(second) if first < 0xdc00 => {
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            (
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
                12,
            )
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn code_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn escapes_are_decoded_and_places_are_those_of_the_string() {
        let string = r#"a\n\u00e9\ud83d\ude00b\"\/"#;
        let decoded = decode(string);
        assert_eq!(decoded.text, "a\né😀b\"/");
        let at = decoded.text.find('😀').unwrap();
        assert_eq!(&string[decoded.place(at..at + 4)], r"\ud83d\ude00");
        let at = decoded.text.find('b').unwrap();
        assert_eq!(&string[decoded.place(at..decoded.text.len())], r#"b\"\/"#);
    }

    #[test]
    fn half_of_a_surrogate_pair_is_replaced() {
        for (string, text) in [
            (r"\ud83d", "\u{fffd}"),
            (r"\ude00x", "\u{fffd}x"),
            (r"\ud83dx", "\u{fffd}x"),
            (r"\ud83d\n", "\u{fffd}\n"),
            (r"\ud83d\u0041", "\u{fffd}A"),
        ] {
            assert_eq!(decode(string).text, text, "{string}");
        }
    }

    #[test]
    fn a_text_survives_encoding() {
        for text in ["plain", "\"quoted\" \\ \n\r\t\u{1}\u{1f}\u{7f}", "é😀"] {
            let mut encoded = String::new();
            encode(text, &mut encoded);
            assert_eq!(decode(&encoded).text, text);
        }
        let mut encoded = String::new();
        encode("\u{1f}", &mut encoded);
        assert_eq!(encoded, r"\u001f");
    }
}
