//! Strict JSON over the original bytes: one scan to a flat tape, read in place, changed by splicing.

pub mod edit;
pub mod skim;
pub mod tape_values;

mod error;
mod keys;
mod node;
mod number;
mod scan;
mod tape;
mod text;

#[cfg(test)]
mod tests;

pub use error::{ExpectedToken, JsonError, JsonErrorKind};
pub use node::{ArrayElements, DocumentNode, ObjectMembers, ValueKind};
pub use text::quoted;

use std::fmt;

use bytes::Bytes;

use tape::TapeEntry;

/// How deep and how long a document may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonLimits {
    /// Objects and arrays that may stand inside each other; the outermost one counts.
    pub depth: usize,
    /// Values of any kind in the whole document; keys do not count.
    pub values: usize,
}

/// A JSON document that was read strictly: its bytes as they came, and where every value lies.
///
/// What it accepts is RFC 8259 without duplicate keys, byte order mark or lone surrogates.
/// Numbers stay bytes, so one that fits no machine type is still the number the caller wrote.
pub struct JsonDocument {
    body: Bytes,
    tape: Vec<TapeEntry>,
}

impl JsonDocument {
    /// Reads a whole body, or says what is wrong with it and where.
    pub fn parse(body: Bytes, limits: &JsonLimits) -> Result<Self, JsonError> {
        let tape = scan::scan(&body, limits)?;
        Ok(Self { body, tape })
    }

    /// The outermost value.
    pub fn root(&self) -> DocumentNode<'_> {
        DocumentNode::new(self, 0)
    }

    /// The bytes that were read, unchanged.
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
    /// Names sizes only: a body is the caller's and stays out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("bytes", &self.body.len())
            .field("entries", &self.tape.len())
            .finish()
    }
}
