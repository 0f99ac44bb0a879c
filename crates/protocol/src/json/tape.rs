//! The tape: one fixed-size entry per value and per key, in the order of the bytes.

use std::ops::Range;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TapeEntryKind {
    Null,
    True,
    False,
    Number,
    String(StringFlags),
    /// The key of a member; its value is the next entry.
    Key(StringFlags),
    Array,
    Object,
}

/// How the bytes of a string must be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StringFlags {
    pub escaped: bool,
    pub ascii: bool,
}

impl StringFlags {
    /// Of a string of ASCII without escapes.
    pub const PLAIN: Self = Self {
        escaped: false,
        ascii: true,
    };
}

/// The span of a value or key, and the index of the entry after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TapeEntry {
    /// The offset of the first byte; for strings, the opening quote.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
    /// The index of the entry after this one and all that it contains. While a container is open: the index of the
    /// container around it.
    pub next: u32,
    /// The number of direct members or elements.
    pub count: u32,
    pub shape: TapeEntryKind,
}

impl TapeEntry {
    pub fn span(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The number of bytes from the first one to the last one.
    #[inline]
    pub fn byte_len(&self) -> u32 {
        self.end - self.start
    }

    /// The bytes between the quotes of a string or key.
    #[inline]
    pub fn content<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        &body[self.start as usize + 1..self.end as usize - 1]
    }

    #[inline]
    pub fn is_container(&self) -> bool {
        matches!(self.shape, TapeEntryKind::Array | TapeEntryKind::Object)
    }

    #[inline]
    pub fn spelling(&self) -> Option<StringFlags> {
        match self.shape {
            TapeEntryKind::String(spelling) | TapeEntryKind::Key(spelling) => Some(spelling),
            _ => None,
        }
    }
}
