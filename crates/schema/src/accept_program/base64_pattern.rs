//! Patterns that end in base64: a regular expression decides what is before it, and vectors of bytes the base64, which is
//! long.

use crate::build_validator;
use headgate_protocol::json::DocumentNode;
use jsonschema::Validator;
use jsonschema::json::Node;
use serde_json::{Value, json};

/// How such a pattern ends: base64 with spaces, tabs and line breaks anywhere before and after its padding.
const BASE64: &str = r"[A-Za-z0-9+/ \t\r\n]*=?=?[ \t\r\n]*$";

/// The number of bytes that are compared together.
const BLOCK_BYTES: usize = 32;

/// A pattern of base64, or of base64 after a text that ends in a comma, as a data URI has.
pub struct Base64Pattern {
    /// Decides about the text up to the comma. `None`: the whole text is base64.
    start: Option<Validator>,
}

impl Base64Pattern {
    /// `None` for any other pattern.
    pub fn parse(pattern: &Value) -> Option<Self> {
        let start = pattern.as_str()?.strip_suffix(BASE64)?;
        if start == "^" {
            return Some(Self { start: None });
        }
        // Base64 has no comma, so that the last one of the text ends the start, in whatever way that could match. With
        // alternatives, `^` and `$` would not stand for all of it.
        if !start.starts_with('^') || !start.ends_with(',') || start.contains('|') {
            return None;
        }
        let start = json!({"pattern": format!("{start}$")});
        Some(Self {
            start: Some(build_validator(&start).ok()?),
        })
    }

    /// Whether what patterns see of a value matches; one that is no text does.
    pub fn admits(&self, value: DocumentNode<'_>) -> bool {
        let Some(text) = value.as_string() else {
            return true;
        };
        let Some(start) = &self.start else {
            return is_base64(text.as_bytes());
        };
        let Some((before, base64)) = text.rsplit_once(',') else {
            return false;
        };
        is_base64(base64.as_bytes()) && start.is_valid(&json!(text[..=before.len()]))
    }
}

fn is_base64(text: &[u8]) -> bool {
    let end = text.iter().rposition(|byte| !is_space(*byte));
    let text = &text[..end.map_or(0, |last| last + 1)];
    let text = text.strip_suffix(b"=").unwrap_or(text);
    let text = text.strip_suffix(b"=").unwrap_or(text);
    let (blocks, rest) = text.as_chunks::<BLOCK_BYTES>();
    // The compiler makes vectors of a loop that keeps the verdicts on the bytes of a block apart until its end.
    let mut others = [false; BLOCK_BYTES];
    for block in blocks {
        for (other, byte) in others.iter_mut().zip(block) {
            *other |= !is_symbol_or_space(*byte);
        }
    }
    others == [false; BLOCK_BYTES] && rest.iter().all(|byte| is_symbol_or_space(*byte))
}

/// Without a jump, so that it can be computed for several bytes at once.
#[inline(always)]
fn is_symbol_or_space(byte: u8) -> bool {
    let is_letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    // The slash comes right before the digits.
    let is_slash_or_digit = byte.wrapping_sub(b'/') < 11;
    is_letter | is_slash_or_digit | (byte == b'+') | is_space(byte)
}

#[inline(always)]
fn is_space(byte: u8) -> bool {
    (byte == b' ') | (byte == b'\t') | (byte == b'\r') | (byte == b'\n')
}
