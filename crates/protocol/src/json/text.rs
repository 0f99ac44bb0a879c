//! JSON strings: strict scan, decoding, length in code points, and quoting.

use std::borrow::Cow;

use bytes::Bytes;

use super::error::{ExpectedToken, JsonErrorKind};
use super::tape::StringFlags;

/// Writes a text as a JSON string with its quotes.
pub fn quoted(text: &str) -> Bytes {
    serde_json::to_vec(text)
        .expect("a str always serialises")
        .into()
}

/// Scans the string whose opening quote is at `start`; returns the offset after its closing quote.
///
/// An error has the offset of the byte at fault.
pub(super) fn scan(
    bytes: &[u8],
    start: usize,
) -> Result<(usize, StringFlags), (usize, JsonErrorKind)> {
    let mut high_bits = 0;
    let mut escaped = false;
    let mut at = start + 1;
    loop {
        at += plain_run(&bytes[at..], &mut high_bits);
        match bytes.get(at) {
            Some(b'"') => break,
            Some(b'\\') => {
                escaped = true;
                at += escape(&bytes[at..]).map_err(|reason| (at, reason))?;
            }
            Some(&byte) => return Err((at, JsonErrorKind::ControlCharacter(byte))),
            None => {
                return Err((
                    at,
                    JsonErrorKind::UnexpectedEnd(ExpectedToken::ClosingQuote),
                ));
            }
        }
    }
    let ascii = high_bits == 0;
    if !ascii && let Err(error) = std::str::from_utf8(&bytes[start + 1..at]) {
        let at_fault = start + 1 + error.valid_up_to();
        return Err((at_fault, JsonErrorKind::InvalidUtf8));
    }
    Ok((at + 1, StringFlags { escaped, ascii }))
}

/// The decoded text of a scanned string's content.
pub(super) fn decode(content: &[u8], spelling: StringFlags) -> Cow<'_, str> {
    if spelling.escaped {
        Cow::Owned(unescape(content))
    } else {
        Cow::Borrowed(std::str::from_utf8(content).expect("the scan refused invalid UTF-8"))
    }
}

/// The start of a scanned string's content: at most `max` bytes, without a part of a character or of an escape.
pub(super) fn start_of(content: &[u8], spelling: StringFlags, max: usize) -> &[u8] {
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

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
/// The number of bytes that are checked eight at a time before a string counts as long.
const SHORT: usize = 32;
/// The block size for long strings, so that the compiler uses vector instructions.
const BLOCK: usize = 64;

/// The number of leading bytes that are plain: no quote, no backslash, no control character.
///
/// `high_bits` collects whether any of them is not ASCII.
fn plain_run(bytes: &[u8], high_bits: &mut u64) -> usize {
    let mut at = 0;
    while let Some(lane) = bytes[at..].first_chunk() {
        let lane = u64::from_le_bytes(*lane);
        let hits = special_bytes(lane);
        if hits != 0 {
            let plain = hits.trailing_zeros() / 8;
            *high_bits |= lane & HIGH & ((1 << (plain * 8)) - 1);
            return at + plain as usize;
        }
        *high_bits |= lane & HIGH;
        at += 8;
        if at == SHORT {
            at += plain_blocks(&bytes[at..], high_bits);
        }
    }
    for &byte in &bytes[at..] {
        if is_special(byte) {
            break;
        }
        *high_bits |= u64::from(byte) & 0x80;
        at += 1;
    }
    at
}

/// The length of the leading whole blocks that are plain.
fn plain_blocks(bytes: &[u8], high_bits: &mut u64) -> usize {
    let mut plain = 0;
    for block in bytes.chunks_exact(BLOCK) {
        let (mut special, mut all) = (false, 0);
        for &byte in block {
            special |= is_special(byte);
            all |= byte;
        }
        if special {
            break;
        }
        *high_bits |= u64::from(all & 0x80);
        plain += BLOCK;
    }
    plain
}

fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Marks the high bit of bytes that are not plain; the lowest mark is exact, those above it may be false.
fn special_bytes(lane: u64) -> u64 {
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let quotes = zero_bytes(lane ^ (ONES * u64::from(b'"')));
    let backslashes = zero_bytes(lane ^ (ONES * u64::from(b'\\')));
    let controls = lane.wrapping_sub(ONES * 0x20) & !lane & HIGH;
    quotes | backslashes | controls
}

/// The length of the escape at the start of `bytes`; a surrogate pair is one escape.
pub(super) fn escape(bytes: &[u8]) -> Result<usize, JsonErrorKind> {
    match bytes.get(1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
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
pub(super) fn hex(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |unit, &digit| {
        Some(unit << 4 | char::from(digit).to_digit(16)?)
    })
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
