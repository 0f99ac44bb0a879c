//! A strict JSON parser: one scan writes a flat tape of spans over the original bytes, which are read in place.

pub mod edit;
pub mod escapes;
pub mod inline_file;
pub mod pointer;
pub mod pointer_edit;
pub mod skim;
pub mod tape_values;

mod byte_set;
mod error;
mod keys;
mod node;
mod number;
mod pointer_token;
mod scan;
mod string_block;
mod string_scan;
mod tape;
mod text;
mod undecoded_string;

#[cfg(test)]
mod tests;

pub use error::{ExpectedToken, JsonError, JsonErrorKind};
pub use node::{ArrayElements, DocumentNode, ObjectMembers, ValueKind};
pub use text::quoted;

pub use undecoded_string::UndecodedString;

use std::fmt;

use bytes::Bytes;

use tape::TapeEntry;

/// The maximum depth and size of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonLimits {
    /// The maximum nesting of objects and arrays; the outermost one counts.
    pub depth: usize,
    /// The maximum number of values of any kind in the whole document; keys do not count.
    pub values: usize,
}

/// A JSON document: its original bytes, and the span of every value.
///
/// It accepts RFC 8259 without duplicate keys, byte order mark or lone surrogates. Numbers stay as bytes, so a number
/// that fits no machine type is preserved.
pub struct JsonDocument {
    body: Bytes,
    tape: Vec<TapeEntry>,
}

impl JsonDocument {
    /// Parses a whole body; the error says what is wrong with it and where.
    pub fn parse(body: Bytes, limits: &JsonLimits) -> Result<Self, JsonError> {
        let tape = scan::scan(&body, limits)?;
        Ok(Self { body, tape })
    }

    /// The outermost value.
    pub fn root(&self) -> DocumentNode<'_> {
        DocumentNode::new(self, 0)
    }

    /// The strings that take at least `bytes` as written, in the order of the body; keys are left out.
    pub fn long_strings(&self, bytes: usize) -> impl Iterator<Item = DocumentNode<'_>> {
        let entries = self.tape.iter().enumerate();
        let long = entries.filter(move |(_, entry)| {
            matches!(entry.shape, tape::TapeEntryKind::String(_)) && entry.span().len() >= bytes
        });
        long.map(|(index, _)| DocumentNode::new(self, index))
    }

    /// The original bytes, unchanged.
    pub fn body(&self) -> &Bytes {
        &self.body
    }
}

impl Default for JsonLimits {
    fn default() -> Self {
        Self {
            depth: 64,
            values: 1_000_000,
        }
    }
}

impl fmt::Debug for JsonDocument {
    /// Prints only sizes: a body is the caller's content and must not be logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("bytes", &self.body.len())
            .field("entries", &self.tape.len())
            .finish()
    }
}
