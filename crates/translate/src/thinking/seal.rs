//! Thoughts of a provider in the hands of a caller of another protocol.
//!
//! A caller gives thoughts back with the next turn, in the place where its protocol has a proof of them. There the
//! gateway puts a seal: it has the provider's own proof, and shows that the text was not changed. A seal opens only for
//! the caller, channel and model that it was made for.

use crate::escaped_text::EscapedText;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fmt;

/// Seals and opens bytes for one caller, on one channel and model.
pub trait ThinkingSealer: fmt::Debug + Send + Sync {
    fn seal(&self, content: &[u8]) -> Vec<u8>;

    /// What was sealed; `None` for anything else, or what was sealed for another caller, channel or model.
    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>>;

    /// Keeps seals for the caller, which are found again by the handle: 16 letters of `a-zA-Z0-9_-`. `None` if nothing
    /// is kept here. A handle of seals that are too large finds nothing.
    fn keep(&self, _seals: String) -> Option<Box<str>> {
        None
    }

    /// The seals that a handle was made for; `None` if they are kept no more, or for another caller.
    fn find_kept(&self, _handle: &str) -> Option<&str> {
        None
    }
}

/// How every seal begins.
pub(super) const PREFIX: &str = "hgt1.";
/// Largest content of a seal, in bytes: 1 MiB.
pub(super) const CONTENT_BYTES_MAX: usize = 1 << 20;
/// Bytes of a SHA-256.
const DIGEST_BYTES: usize = 32;

/// What a seal has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SealedThoughts {
    /// Which of the thoughts of its response they are, from 0.
    pub position: u16,
    /// The provider's own proof, or the thoughts themselves where only the provider can read them.
    pub proof: Option<String>,
    pub text: ThoughtText,
}

/// The text of thoughts in a seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ThoughtText {
    /// There is none: only the provider can read them.
    Unreadable,
    /// The caller has it; its SHA-256.
    Digest([u8; DIGEST_BYTES]),
    /// The whole text, for callers who may give back another one.
    Whole(String),
}

/// A text that begins as a seal and does not open: it is forged, changed, or of another caller, channel, model or place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForeignSeal;

impl SealedThoughts {
    /// The seal; `None` if the content is too large for one.
    pub fn seal(&self, sealer: &dyn ThinkingSealer) -> Option<EscapedText<'static>> {
        let content = self.encode();
        if content.len() > CONTENT_BYTES_MAX {
            return None;
        }
        let mut text = PREFIX.to_owned();
        URL_SAFE_NO_PAD.encode_string(sealer.seal(&content), &mut text);
        Some(EscapedText::plain(&text))
    }

    /// What a seal has; `None` for a text that is no seal of the gateway.
    ///
    /// # Errors
    /// The text begins as a seal and does not open.
    pub fn open(
        text: &EscapedText<'_>,
        sealer: &dyn ThinkingSealer,
    ) -> Result<Option<Self>, ForeignSeal> {
        let decoded = text.decoded();
        let Some(sealed) = decoded.strip_prefix(PREFIX) else {
            return Ok(None);
        };
        // Base64 is a third longer.
        if sealed.len() > 2 * CONTENT_BYTES_MAX {
            return Err(ForeignSeal);
        }
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok();
        let content = sealed.and_then(|sealed| sealer.open(&sealed));
        let thoughts = content.as_deref().and_then(Self::decode);
        thoughts.map(Some).ok_or(ForeignSeal)
    }

    fn encode(&self) -> Vec<u8> {
        let mut content = self.position.to_be_bytes().to_vec();
        let proof = self.proof.as_deref();
        content.push(u8::from(proof.is_some()));
        let proof = proof.unwrap_or_default().as_bytes();
        let length = u32::try_from(proof.len()).unwrap_or(u32::MAX);
        content.extend_from_slice(&length.to_be_bytes());
        content.extend_from_slice(proof);
        match &self.text {
            ThoughtText::Unreadable => content.push(0),
            ThoughtText::Digest(digest) => {
                content.push(1);
                content.extend_from_slice(digest);
            }
            ThoughtText::Whole(text) => {
                content.push(2);
                content.extend_from_slice(text.as_bytes());
            }
        }
        content
    }

    fn decode(content: &[u8]) -> Option<Self> {
        let (position, rest) = content.split_first_chunk::<2>()?;
        let ([has_proof], rest) = rest.split_first_chunk::<1>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (proof, rest) = rest.split_at_checked(length)?;
        let proof = String::from_utf8(proof.to_vec()).ok()?;
        let ([kind], rest) = rest.split_first_chunk::<1>()?;
        Some(Self {
            position: u16::from_be_bytes(*position),
            proof: (*has_proof == 1).then_some(proof),
            text: match kind {
                0 => ThoughtText::Unreadable,
                1 => ThoughtText::Digest(rest.try_into().ok()?),
                2 => ThoughtText::Whole(String::from_utf8(rest.to_vec()).ok()?),
                _ => return None,
            },
        })
    }
}
