//! Hashes fields with their lengths, so that no two lists of fields look alike.

use headgate_protocol::json::edit::JsonEdits;
use http::{HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

/// Hashes fields with their lengths.
#[derive(Default)]
pub struct LengthPrefixedHasher {
    hasher: Sha256,
}

impl LengthPrefixedHasher {
    pub fn field(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.hasher.update(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.field(text.as_bytes());
    }

    pub fn number(&mut self, number: usize) {
        self.hasher.update((number as u64).to_be_bytes());
    }

    pub fn optional(&mut self, bytes: Option<&[u8]>) {
        self.hasher.update([u8::from(bytes.is_some())]);
        self.field(bytes.unwrap_or_default());
    }

    pub fn header(&mut self, name: &HeaderName, value: &HeaderValue) {
        self.text(name.as_str());
        self.field(value.as_bytes());
    }

    /// The edits of a body, which are not applied for this: an attempt applies them.
    pub fn edits(&mut self, edits: &JsonEdits) {
        if edits.is_empty() {
            return self.number(0);
        }
        let changes: Vec<_> = edits.changes().collect();
        self.number(changes.len());
        for (range, with) in changes {
            self.number(range.start);
            self.number(range.end);
            self.field(&with);
        }
    }

    pub fn finish(self) -> [u8; 32] {
        self.hasher.finalize().into()
    }
}
