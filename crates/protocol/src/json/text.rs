//! JSON strings: decoding, length in code points, and quoting.

use std::borrow::Cow;

use bytes::Bytes;

use super::byte_set::byte_set;
use super::error::{ExpectedToken, JsonErrorKind};
use super::tape::StringFlags;

/// The value of each hexadecimal digit; 16 for other bytes.
const HEX_VALUES: [u8; 256] = {
    let mut values = [16; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value];
        values[digit as usize] = value as u8;
        values[digit.to_ascii_uppercase() as usize] = value as u8;
        value += 1;
    }
    values
};

/// Writes a text as a JSON string with its quotes.
pub fn quoted(text: &str) -> Bytes {
    serde_json::to_vec(text)
        .expect("a str always serialises")
        .into()
}

/// For each byte: whether a backslash and this byte are an escape.
pub(super) const IS_SHORT_ESCAPE: [bool; 256] = byte_set(b"\"\\/bfnrt");

/// The decoded text of a scanned string's content.
pub(super) fn decode(content: &[u8], spelling: StringFlags) -> Cow<'_, str> {
    if spelling.escaped {
        Cow::Owned(unescape(content))
    } else {
        Cow::Borrowed(std::str::from_utf8(content).expect("the scan refused invalid UTF-8"))
    }
}

/// A scanned string's content as it is written.
#[expect(unsafe_code, reason = "texts are carried without a second check")]
pub(super) fn written(content: &[u8], spelling: StringFlags) -> &str {
    debug_assert!(std::str::from_utf8(content).is_ok());
    match spelling.ascii {
        // SAFETY: the scan sets this flag only for content in which no byte is above 0x7F.
        true => unsafe { std::str::from_utf8_unchecked(content) },
        false => std::str::from_utf8(content).expect("the scan refused invalid UTF-8"),
    }
}

/// The start of a scanned string's content: at most `max` bytes, without a part of a character or of an escape.
pub(super) fn content_prefix(content: &[u8], spelling: StringFlags, max: usize) -> &[u8] {
    if content.len() <= max {
        return content;
    }
    let mut at = 0;
    while spelling.escaped
        && let Some(plain) = memchr::memchr(b'\\', &content[at..max])
    {
        let escape = at + plain;
        at = escape + decode_escape(&content[escape..]).1;
        if at > max {
            return &content[..escape];
        }
    }
    let is_inside = |end: &usize| content[*end] & 0xC0 == 0x80;
    let end = (at..=max).rev().find(|end| !is_inside(end));
    &content[..end.unwrap_or(at)]
}

/// The number of Unicode code points in a scanned string's content.
pub(super) fn code_points(content: &[u8], spelling: StringFlags) -> usize {
    if !spelling.escaped {
        return match spelling.ascii {
            true => content.len(),
            false => leading_bytes(content),
        };
    }
    let mut points = 0;
    let mut rest = content;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        points += leading_bytes(&rest[..at]) + 1;
        rest = &rest[at + decode_escape(&rest[at..]).1..];
    }
    points + leading_bytes(rest)
}

/// The length of the escape at the start of `bytes`; a surrogate pair is one escape.
pub(super) fn escape(bytes: &[u8]) -> Result<usize, JsonErrorKind> {
    match bytes.get(1) {
        Some(byte) if IS_SHORT_ESCAPE[usize::from(*byte)] => Ok(2),
        Some(b'u') => match hex(bytes).ok_or(JsonErrorKind::BadEscape)? {
            0xD800..=0xDBFF => match low_surrogate(&bytes[6..]) {
                Some(_) => Ok(12),
                None => Err(JsonErrorKind::LoneSurrogate),
            },
            0xDC00..=0xDFFF => Err(JsonErrorKind::LoneSurrogate),
            _ => Ok(6),
        },
        Some(_) => Err(JsonErrorKind::BadEscape),
        None => Err(JsonErrorKind::UnexpectedEnd(ExpectedToken::ClosingQuote)),
    }
}

fn low_surrogate(bytes: &[u8]) -> Option<u32> {
    hex(bytes).filter(|unit| (0xDC00..=0xDFFF).contains(unit))
}

/// The code unit of the `\uXXXX` at the start of `bytes`.
#[inline]
pub(super) fn hex(bytes: &[u8]) -> Option<u32> {
    let [b'\\', b'u', a, b, c, d] = *bytes.first_chunk()? else {
        return None;
    };
    let value = |digit: u8| u32::from(HEX_VALUES[usize::from(digit)]);
    let (a, b, c, d) = (value(a), value(b), value(c), value(d));
    let is_hex = (a | b | c | d) < 16;
    is_hex.then_some(a << 12 | b << 8 | c << 4 | d)
}

/// Whether the four digits at the start of `digits` are those of a character, and not of a half of a surrogate pair.
#[inline(always)]
pub(super) fn is_basic_unicode_escape(digits: &[u8]) -> bool {
    let Some([a, b, c, d]) = digits.first_chunk() else {
        return false;
    };
    let value = |digit: &u8| HEX_VALUES[usize::from(*digit)];
    // Surrogates begin with D8 to DF; D0 to D7 are rare, and left to `escape`.
    (value(a) | value(b) | value(c) | value(d)) < 16 && value(a) != 0xD
}

fn unescape(content: &[u8]) -> String {
    let as_text = |bytes| std::str::from_utf8(bytes).expect("the scan refused invalid UTF-8");
    let mut text = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        text.push_str(as_text(&rest[..at]));
        let (character, length) = decode_escape(&rest[at..]);
        text.push(character);
        rest = &rest[at + length..];
    }
    text.push_str(as_text(rest));
    text
}

/// The character that a validated escape represents, and the escape's length.
pub(super) fn decode_escape(bytes: &[u8]) -> (char, usize) {
    let short = match bytes[1] {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return decode_unicode_escape(bytes),
        same => char::from(same),
    };
    (short, 2)
}

fn decode_unicode_escape(bytes: &[u8]) -> (char, usize) {
    let unit = hex(bytes).expect("the scan checked the digits");
    let (point, length) = match low_surrogate(&bytes[6..]) {
        Some(low) if (0xD800..=0xDBFF).contains(&unit) => {
            (0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00), 12)
        }
        _ => (unit, 6),
    };
    let character = char::from_u32(point).expect("the scan refused lone surrogates");
    (character, length)
}

/// The number of bytes that begin a character: all but UTF-8 continuation bytes.
fn leading_bytes(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}
