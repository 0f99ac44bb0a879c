//! Masks the secrets of a channel in a body that arrives in pieces, however it is cut.

mod matcher;
mod secrets;

#[cfg(test)]
mod tests;

pub use matcher::SECRET_BYTES_MIN;
pub use secrets::ChannelSecrets;

use bytes::{Bytes, BytesMut};
use std::sync::Arc;

/// Replaces each secret by asterisks of the same length, so that Content-Length stays right.
///
/// A piece without a secret passes unchanged. Only bytes at the end of a piece that may be the start of a secret are
/// held back; an SSE event ends with a blank line, so none of its bytes are held back.
#[derive(Debug)]
pub struct SecretMasker {
    secrets: Arc<ChannelSecrets>,
    held: Bytes,
}

impl SecretMasker {
    pub fn new(secrets: Arc<ChannelSecrets>) -> Self {
        Self {
            secrets,
            held: Bytes::new(),
        }
    }

    /// Takes the next piece; returns the bytes that can be forwarded.
    pub fn push(&mut self, piece: Bytes) -> Bytes {
        if self.secrets.is_empty() {
            return piece;
        }
        let mut piece = match self.held.is_empty() {
            true => piece,
            false => [&std::mem::take(&mut self.held)[..], &piece]
                .concat()
                .into(),
        };
        let found = self.secrets.find(&piece);
        if !found.is_empty() {
            let mut masked = BytesMut::from(&piece[..]);
            for range in found {
                masked[range].fill(b'*');
            }
            piece = masked.freeze();
        }
        self.held = piece.split_off(self.secrets.partial_match_start(&piece));
        piece
    }

    /// Whether [`Self::finish`] would return bytes.
    pub fn holds_back(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns the bytes that were held back. Call it at the end of the body.
    pub fn finish(&mut self) -> Bytes {
        std::mem::take(&mut self.held)
    }
}
