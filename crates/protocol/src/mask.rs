//! Masks the secrets of a channel in a body that passes in pieces, wherever the pieces are cut.

mod matcher;
mod secrets;

#[cfg(test)]
mod tests;

pub use matcher::SECRET_BYTES_MIN;
pub use secrets::ChannelSecrets;

use bytes::{Bytes, BytesMut};
use std::sync::Arc;

/// Replaces secrets by as many asterisks, so that lengths told before stay true.
///
/// Pieces pass as they are unless a secret is in them. What is held back is only what may be a
/// secret's beginning at the end of a piece; an ordinary event ends with a blank line, and is not.
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

    /// What may go out of the next piece.
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

    /// What was held back, once no more will come.
    pub fn finish(&mut self) -> Bytes {
        std::mem::take(&mut self.held)
    }
}
