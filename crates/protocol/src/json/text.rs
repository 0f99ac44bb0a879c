//! JSON strings: strict scan, decoding, length in code points, and quoting.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use super::byte_set::byte_set;
use super::error::{ExpectedToken, JsonErrorKind};
#[cfg(target_arch = "x86_64")]
use super::string_block::{
    Avx2Classifier, BlockClassifier, LargeBlocks, SmallBlocks, StringBlockMasks,
};
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

/// The scan of a string, up to an offset.
#[derive(Clone, Copy, Debug, Default)]
struct StringScanState {
    /// The offset of the next byte.
    at: usize,
    has_escapes: bool,
    /// A byte so far is not ASCII.
    has_high: bool,
}

/// For each byte: whether a backslash and this byte are an escape.
const IS_SHORT_ESCAPE: [bool; 256] = byte_set(b"\"\\/bfnrt");

/// Longer strings are scanned by large blocks.
const SHORT_BYTES: usize = SmallBlocks::BYTES;

/// The offset after the closing quote of a string that is short and plain: one block with nothing to decode, as most keys
/// are. `None` for all others, which [`scan`] reads.
#[inline]
pub(super) fn end_of_plain(bytes: &[u8], start: usize) -> Option<usize> {
    let content = start + 1;
    let block = SmallBlocks::classify(bytes.get(content..content + SHORT_BYTES)?);
    let length = block.specials.trailing_zeros() as usize;
    let is_plain = length < SHORT_BYTES
        && bytes[content + length] == b'"'
        && block.high & !(u64::MAX << length) == 0;
    is_plain.then_some(content + length + 1)
}

/// Scans the string whose opening quote is at `start`; returns the offset after its closing quote.
///
/// An error has the offset of the byte at fault.
pub(super) fn scan(
    bytes: &[u8],
    start: usize,
) -> Result<(usize, StringFlags), (usize, JsonErrorKind)> {
    let content = start + 1;
    let mut scan = StringScanState {
        at: content,
        ..StringScanState::default()
    };
    let quote = match scan_blocks::<SmallBlocks>(bytes, &mut scan, content + SHORT_BYTES)? {
        Some(quote) => quote,
        None => scan_long(bytes, &mut scan)?,
    };
    check_utf8(bytes, content..quote, !scan.has_high)?;
    let flags = StringFlags {
        escaped: scan.has_escapes,
        ascii: !scan.has_high,
    };
    Ok((quote + 1, flags))
}

/// Scans the rest of a long string; returns the offset of its closing quote.
#[inline(never)]
fn scan_long(bytes: &[u8], scan: &mut StringScanState) -> Result<usize, (usize, JsonErrorKind)> {
    #[cfg(target_arch = "x86_64")]
    let quote = match is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        true => unsafe { scan_avx2_blocks(bytes, scan) },
        false => scan_blocks::<LargeBlocks>(bytes, scan, usize::MAX),
    };
    #[cfg(not(target_arch = "x86_64"))]
    let quote = scan_blocks::<LargeBlocks>(bytes, scan, usize::MAX);
    Ok(quote?.expect("a scan without a limit ends at a quote or with an error"))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn scan_avx2_blocks(
    bytes: &[u8],
    scan: &mut StringScanState,
) -> Result<Option<usize>, (usize, JsonErrorKind)> {
    scan_blocks::<Avx2Classifier>(bytes, scan, usize::MAX)
}

/// Scans block by block; returns the offset of the closing quote, or `None` when the scan has reached `until`.
#[inline(always)]
fn scan_blocks<C: BlockClassifier>(
    bytes: &[u8],
    scan: &mut StringScanState,
    until: usize,
) -> Result<Option<usize>, (usize, JsonErrorKind)> {
    let StringScanState {
        mut at,
        mut has_escapes,
        ..
    } = *scan;
    let mut high = 0;
    'blocks: while at < until {
        let block = StringBlockMasks::at::<C>(bytes, at);
        let mut specials = block.specials;
        while specials != 0 {
            let offset = specials.trailing_zeros() as usize;
            let special = at + offset;
            match bytes.get(special) {
                Some(b'"') => {
                    scan.has_escapes = has_escapes;
                    high |= block.high & !(u64::MAX << offset);
                    scan.has_high |= high != 0;
                    return Ok(Some(special));
                }
                Some(b'\\') => {
                    has_escapes = true;
                    let escape = &bytes[special..];
                    let length = match frequent_escape_length(escape) {
                        Some(length) => length,
                        None => self::escape(escape).map_err(|reason| (special, reason))?,
                    };
                    let after = offset + length;
                    if after >= C::BYTES {
                        // All bytes of an escape are ASCII.
                        high |= block.high;
                        at += after;
                        continue 'blocks;
                    }
                    specials &= u64::MAX << after;
                }
                Some(&byte) => return Err((special, JsonErrorKind::ControlCharacter(byte))),
                None => {
                    let end = JsonErrorKind::UnexpectedEnd(ExpectedToken::ClosingQuote);
                    return Err((special, end));
                }
            }
        }
        high |= block.high;
        at += C::BYTES;
    }
    *scan = StringScanState {
        at,
        has_escapes,
        has_high: scan.has_high | (high != 0),
    };
    Ok(None)
}

/// The length of the escape at the start of `bytes`, if it is a frequent one: without a call, unlike [`escape`].
#[inline(always)]
fn frequent_escape_length(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1) {
        Some(byte) if IS_SHORT_ESCAPE[usize::from(*byte)] => Some(2),
        _ => matches!(hex(bytes), Some(0..0xD800)).then_some(6),
    }
}

/// # Errors
/// The offset of the first byte that is not UTF-8.
fn check_utf8(
    bytes: &[u8],
    content: Range<usize>,
    is_ascii: bool,
) -> Result<(), (usize, JsonErrorKind)> {
    if is_ascii || simdutf8::basic::from_utf8(&bytes[content.clone()]).is_ok() {
        return Ok(());
    }
    let first = std::str::from_utf8(&bytes[content.clone()]).err();
    let at_fault = content.start + first.map_or(0, |error| error.valid_up_to());
    Err((at_fault, JsonErrorKind::InvalidUtf8))
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
