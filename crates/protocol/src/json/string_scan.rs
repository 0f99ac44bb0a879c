//! The strict scan of JSON strings: finds the closing quote, and what there is to decode on the way.

use std::ops::Range;

use super::error::{ExpectedToken, JsonErrorKind};
#[cfg(target_arch = "x86_64")]
use super::string_block::Avx2Classifier;
use super::string_block::{BlockClassifier, LargeBlocks, SmallBlocks, last_block};
use super::tape::StringFlags;
use super::text::{IS_SHORT_ESCAPE, escape, is_basic_unicode_escape};

/// Longer strings are scanned by large blocks.
const SHORT_BYTES: usize = SmallBlocks::BYTES;

/// The offset after the closing quote of a string that is short and plain: one block with nothing to decode, as most keys
/// are. `None` for all others, which [`scan`] reads.
#[inline]
pub(super) fn end_of_plain(bytes: &[u8], start: usize) -> Option<usize> {
    let content = start + 1;
    let block = bytes.get(content..content + SHORT_BYTES)?;
    let length = SmallBlocks::specials(block).trailing_zeros() as usize;
    let is_plain = length < SHORT_BYTES
        && bytes[content + length] == b'"'
        && SmallBlocks::high(block) & !(u64::MAX << length) == 0;
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
    let mut traits = StringTraits::default();
    let mut at = content;
    let mut stop = match bytes[at..].get(..SHORT_BYTES) {
        Some(block) => scan_block::<SmallBlocks>(block, &bytes[at..], &mut traits),
        None => last_special(&bytes[at..], &mut traits),
    };
    let quote = loop {
        let special = match stop {
            BlockEnd::Special(offset) => at + offset,
            BlockEnd::Text(length) => {
                at += length;
                at + next_special(&bytes[at..], &mut traits)
            }
        };
        match bytes.get(special) {
            Some(b'"') => break special,
            Some(b'\\') => {
                let length = escape(&bytes[special..]).map_err(|reason| (special, reason))?;
                traits.has_escapes = true;
                at = special;
                stop = BlockEnd::Text(length);
            }
            Some(&byte) => return Err((special, JsonErrorKind::ControlCharacter(byte))),
            None => {
                let end = JsonErrorKind::UnexpectedEnd(ExpectedToken::ClosingQuote);
                return Err((special, end));
            }
        }
    };
    let flags = StringFlags {
        escaped: traits.has_escapes,
        ascii: traits.high == 0,
    };
    check_utf8(bytes, content..quote, flags.ascii)?;
    Ok((quote + 1, flags))
}

/// What the scan of a string has seen so far.
#[derive(Clone, Copy, Debug, Default)]
struct StringTraits {
    has_escapes: bool,
    /// Not 0 if a byte is not ASCII.
    high: u64,
}

/// Where the scan of a block has ended.
#[derive(Clone, Copy, Debug)]
enum BlockEnd {
    /// After so many bytes of text and frequent escapes, the last of which can end after the block.
    Text(usize),
    /// At an offset whose byte is neither: a closing quote, a rare escape, an error, or the end of the text.
    Special(usize),
}

/// The offset of the first byte that is neither text nor a frequent escape; the length of `text` if there is none.
#[inline(never)]
fn next_special(text: &[u8], traits: &mut StringTraits) -> usize {
    #[cfg(target_arch = "x86_64")]
    if Avx2Classifier::is_supported() {
        // SAFETY: the processor has what the classifier needs.
        return unsafe { next_special_avx2(text, traits) };
    }
    next_special_by::<LargeBlocks>(text, traits)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn next_special_avx2(text: &[u8], traits: &mut StringTraits) -> usize {
    next_special_by::<Avx2Classifier>(text, traits)
}

/// The loop calls no function, so that the constants of the classifier stay in registers.
#[inline(always)]
fn next_special_by<C: BlockClassifier>(text: &[u8], traits: &mut StringTraits) -> usize {
    let mut rest = text;
    let mut seen = *traits;
    while let Some(block) = rest.get(..C::BYTES) {
        match scan_block::<C>(block, rest, &mut seen) {
            BlockEnd::Text(length) => rest = &rest[length..],
            BlockEnd::Special(offset) => {
                *traits = seen;
                return text.len() - rest.len() + offset;
            }
        }
    }
    *traits = seen;
    let end = match last_special(rest, traits) {
        BlockEnd::Text(offset) | BlockEnd::Special(offset) => offset,
    };
    text.len() - rest.len() + end
}

/// The end of the scan of a text that is shorter than a block.
#[cold]
#[inline(never)]
fn last_special(rest: &[u8], traits: &mut StringTraits) -> BlockEnd {
    scan_block::<LargeBlocks>(&last_block(rest), rest, traits)
}

/// Scans `block`, the first bytes of `rest`.
#[inline(always)]
fn scan_block<C: BlockClassifier>(
    block: &[u8],
    rest: &[u8],
    traits: &mut StringTraits,
) -> BlockEnd {
    let mut specials = C::specials(block);
    while specials != 0 {
        let offset = specials.trailing_zeros() as usize;
        // Most escapes: two bytes of one block.
        if let Some(escaped) = block.get(offset + 1)
            && block[offset] == b'\\'
            && IS_SHORT_ESCAPE[usize::from(*escaped)]
        {
            traits.has_escapes = true;
            specials &= !(0b11 << offset);
            continue;
        }
        let Some(length) = frequent_escape_length(&rest[offset..]) else {
            traits.high |= C::high(block) & !(u64::MAX << offset);
            return BlockEnd::Special(offset);
        };
        traits.has_escapes = true;
        let after = offset + length;
        if after >= C::BYTES {
            traits.high |= C::any_high(block);
            return BlockEnd::Text(after);
        }
        specials &= u64::MAX << after;
    }
    traits.high |= C::any_high(block);
    BlockEnd::Text(C::BYTES)
}

/// The length of the escape at the start of `bytes`, if it is one without a surrogate.
#[inline(always)]
fn frequent_escape_length(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\\', b'u', digits @ ..] => is_basic_unicode_escape(digits).then_some(6),
        [b'\\', escaped, ..] => IS_SHORT_ESCAPE[usize::from(*escaped)].then_some(2),
        _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a string is made of; `None` where it is no JSON.
    const PARTS: [(&str, Option<StringFlags>); 14] = [
        ("a", flags(false, true)),
        ("\\n", flags(true, true)),
        (r#"\\"#, flags(true, true)),
        (r#"\""#, flags(true, true)),
        (r"\u00e9", flags(true, true)),
        (r"\uD7ff", flags(true, true)),
        (r"\ud83d\ude00", flags(true, true)),
        ("é", flags(false, false)),
        ("\n", None),
        (r"\x", None),
        (r"\u00g0", None),
        (r"\ud83d", None),
        (r"\ude00", None),
        (r"\ud83d\n", None),
    ];

    const fn flags(escaped: bool, ascii: bool) -> Option<StringFlags> {
        Some(StringFlags { escaped, ascii })
    }

    #[test]
    fn each_part_is_found_at_each_place_of_a_block() {
        for (part, expected) in PARTS {
            for before in 0..150 {
                for after in [0, 1, 17, 70] {
                    let text = format!("\"{}{part}{}\"é", "a".repeat(before), "a".repeat(after));
                    let found = scan(text.as_bytes(), 0);
                    match expected {
                        Some(flags) => {
                            let (end, found) = found.expect(&text);
                            assert_eq!(end, text.len() - "é".len(), "{text}");
                            assert_eq!(
                                (found.escaped, found.ascii),
                                (flags.escaped, flags.ascii),
                                "{text}"
                            );
                        }
                        None => assert_eq!(found.expect_err(&text).0, 1 + before, "{text}"),
                    }
                }
            }
        }
    }

    #[test]
    fn a_string_without_an_end_is_an_error_at_the_end_of_the_text() {
        for length in 0..150 {
            for text in [
                format!("\"{}", "a".repeat(length)),
                format!("\"{}\\\"", "a".repeat(length)),
            ] {
                let (at, error) = scan(text.as_bytes(), 0).expect_err(&text);
                assert_eq!(at, text.len(), "{text}");
                assert_eq!(
                    error,
                    JsonErrorKind::UnexpectedEnd(ExpectedToken::ClosingQuote)
                );
            }
        }
    }

    #[test]
    fn what_is_not_utf8_is_an_error_at_its_place() {
        for before in 0..150 {
            let mut text = vec![b'a'; before + 1];
            text[0] = b'"';
            text.extend_from_slice(b"\xff\"");
            let error = scan(&text, 0).expect_err("no UTF-8");
            assert_eq!(error, (before + 1, JsonErrorKind::InvalidUtf8));
        }
    }
}
