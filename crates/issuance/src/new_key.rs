//! Keys that the gateway makes for callers. Only their digests are stored.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headgate_core::catalog::caller::KeyDigest;
use headgate_protocol::hex::HexDisplay;

/// The number of random bytes in a key.
const KEY_BYTES: usize = 24;
const ID_BYTES: usize = 16;

/// A key that was made now. It is shown once.
pub struct NewCallerKey {
    pub label: String,
    pub key: String,
}

impl NewCallerKey {
    /// # Errors
    /// The system's random number generator failed.
    pub fn draw(label: &str) -> Result<Self, getrandom::Error> {
        Ok(Self {
            label: label.to_owned(),
            key: draw_key()?,
        })
    }

    /// The digest as `key_sha256` has it.
    pub fn digest(&self) -> String {
        KeyDigest::from_key(self.key.as_bytes()).to_hex()
    }
}

/// A key that nobody can guess.
///
/// # Errors
/// The system's random number generator failed.
pub fn draw_key() -> Result<String, getrandom::Error> {
    let mut random = [0; KEY_BYTES];
    getrandom::fill(&mut random)?;
    Ok(format!("sk-hg-{}", URL_SAFE_NO_PAD.encode(random)))
}

/// A number that no other caller has.
///
/// # Errors
/// The system's random number generator failed.
pub fn draw_id() -> Result<String, getrandom::Error> {
    let mut random = [0; ID_BYTES];
    getrandom::fill(&mut random)?;
    Ok(HexDisplay(&random).to_string())
}
