//! The text of a string or key as it is written, for comparisons that need no decoding.

use std::borrow::Cow;

use super::tape::{StringFlags, TapeEntry};
use super::text;

/// The text of a string or key as it is written, between its quotes.
#[derive(Clone, Copy)]
pub struct UndecodedString<'a> {
    pub bytes: &'a [u8],
    spelling: StringFlags,
}

impl<'a> UndecodedString<'a> {
    #[inline]
    pub(super) fn from_entry(entry: &TapeEntry, body: &'a [u8]) -> Option<Self> {
        let spelling = entry.spelling()?;
        let bytes = entry.content(body);
        Some(Self { bytes, spelling })
    }

    /// Whether the bytes must be decoded before they are compared.
    #[inline]
    pub fn is_escaped(self) -> bool {
        self.spelling.escaped
    }

    /// The text with its escapes.
    pub fn written(self) -> &'a str {
        text::written(self.bytes, self.spelling)
    }

    pub fn decode(self) -> Cow<'a, str> {
        text::decode(self.bytes, self.spelling)
    }
}
