//! The key under which the channel of sealed content is stored: a hash, since the content may be long.

use headgate_protocol::hex::HexDisplay;
use sha2::{Digest, Sha256};

/// Bytes of the hash: 128 bits, so that no two contents of a caller share a key by chance.
const HASH_BYTES: usize = 16;

/// The key of sealed content, which no provider's id equals.
pub fn sealed_key(content: &str) -> String {
    let hash = Sha256::digest(content.as_bytes());
    format!("sealed:{}", HexDisplay(&hash[..HASH_BYTES]))
}
