//! The tape: one fixed-size entry per value and per key, in the order of the bytes.

use std::ops::Range;

/// What an entry stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TapeEntryKind {
    Null,
    True,
    False,
    Number,
    String(StringFlags),
    /// The key of a member; its value is the entry that follows.
    Key(StringFlags),
    Array,
    Object,
}

/// What a string's bytes need before they can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StringFlags {
    pub escaped: bool,
    pub ascii: bool,
}

/// Where a value or key lies and how to step over it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TapeEntry {
    /// The first byte, for strings the opening quote.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// The entry after this one and all it contains. While a container is open: the container around it.
    pub next: u32,
    /// Members or elements directly inside.
    pub count: u32,
    pub shape: TapeEntryKind,
}

impl TapeEntry {
    pub fn span(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The bytes between the quotes of a string or key.
    pub fn content<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        &body[self.start as usize + 1..self.end as usize - 1]
    }

    pub fn is_container(&self) -> bool {
        matches!(self.shape, TapeEntryKind::Array | TapeEntryKind::Object)
    }

    pub fn spelling(&self) -> Option<StringFlags> {
        match self.shape {
            TapeEntryKind::String(spelling) | TapeEntryKind::Key(spelling) => Some(spelling),
            _ => None,
        }
    }
}
