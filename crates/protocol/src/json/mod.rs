//! Strict JSON over the original bytes: one scan to a flat tape, read in place, changed by splicing.

pub mod edit;
pub mod skim;
pub mod tape_values;

mod keys;
mod malformed;
mod node;
mod number;
mod scan;
mod tape;
mod text;

#[cfg(test)]
mod tests;

pub use malformed::{Malformed, MalformedReason, Wanted};
pub use node::{Elements, Kind, Members, Node};
pub use text::quoted;

use std::fmt;

use bytes::Bytes;

use tape::Entry;

/// How deep and how long a document may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Objects and arrays that may stand inside each other; the outermost one counts.
    pub depth: usize,
    /// Values of any kind in the whole document; keys do not count.
    pub values: usize,
}

/// A JSON document that was read strictly: its bytes as they came, and where every value lies.
///
/// What it accepts is RFC 8259 without duplicate keys, byte order mark or lone surrogates.
/// Numbers stay bytes, so one that fits no machine type is still the number the caller wrote.
pub struct Document {
    body: Bytes,
    tape: Vec<Entry>,
}

impl Document {
    /// Reads a whole body, or says what is wrong with it and where.
    pub fn parse(body: Bytes, limits: &Limits) -> Result<Self, Malformed> {
        let tape = scan::scan(&body, limits)?;
        Ok(Self { body, tape })
    }

    /// The outermost value.
    pub fn root(&self) -> Node<'_> {
        Node::new(self, 0)
    }

    /// The bytes that were read, unchanged.
    pub fn body(&self) -> &Bytes {
        &self.body
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 64,
            values: 1_000_000,
        }
    }
}

impl fmt::Debug for Document {
    /// Names sizes only: a body is the caller's and stays out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("bytes", &self.body.len())
            .field("entries", &self.tape.len())
            .finish()
    }
}
