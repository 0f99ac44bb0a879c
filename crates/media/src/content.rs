//! The identity of content, which is its SHA-256, and what else is known of it.

use bytes::Bytes;
use headgate_protocol::hex::HexDisplay;
use sha2::{Digest, Sha256};
use std::fmt;

/// Bytes that are read or written at a time.
const PIECE_BYTES: usize = 256 << 10;

/// SHA-256 of some content.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentDigest([u8; 32]);

/// What is known of content that is to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentDescriptor {
    pub digest: ContentDigest,
    /// In bytes.
    pub size: u64,
    /// The media type by which it is served.
    pub content_type: String,
}

/// Computes a [`ContentDigest`] piece by piece.
#[derive(Default)]
pub struct ContentHasher(Sha256);

impl ContentDigest {
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn from_content(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// Reads what [`fmt::Display`] prints; `None` for anything else.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() || !text.is_ascii() {
            return None;
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }

    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl ContentHasher {
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub fn digest(self) -> ContentDigest {
        ContentDigest(self.0.finalize().into())
    }
}

/// Content that is in memory or in a mapped file, in the pieces that are read and written at a time.
pub fn split_pieces(mut content: Bytes) -> impl Iterator<Item = Bytes> + Send {
    std::iter::from_fn(move || {
        let piece = content.split_to(PIECE_BYTES.min(content.len()));
        (!piece.is_empty()).then_some(piece)
    })
}

/// Prints 64 hexadecimal digits.
impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&HexDisplay(&self.0), f)
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
