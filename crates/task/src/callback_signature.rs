//! Signatures of providers' callbacks: HMAC-SHA256 with shared secrets, also in the form of Standard Webhooks, and Ed25519
//! with published keys. No I/O.

#[cfg(test)]
mod tests;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use headgate_protocol::hex::{self, HexDisplay};
use hmac::{Hmac, Mac};
use http::{HeaderMap, HeaderName};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fmt;

/// How a provider signs its callbacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackSignatureScheme {
    pub keys: CallbackKeySource,
    /// The header with the signatures.
    pub header: HeaderName,
    /// What stands before each signature; texts with another beginning are no signatures of this scheme.
    pub prefix: Box<str>,
    pub encoding: SignatureEncoding,
    /// The header with the time, in Unix seconds.
    pub timestamp: Option<HeaderName>,
    pub signed: Vec<SignedPart>,
}

/// Where the keys of a scheme are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallbackKeySource {
    /// The provider publishes its Ed25519 keys at this URL, as a JSON Web Key Set.
    Published(Box<str>),
    /// The channel has secrets of HMAC-SHA256.
    Secrets(CallbackSecretForm),
}

/// How a secret is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackSecretForm {
    /// `whsec_` and base64.
    StandardWebhooks,
    /// The text is the key.
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureEncoding {
    Hex,
    Base64,
}

/// A part of the text that is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignedPart {
    Text(Box<str>),
    Header(HeaderName),
    Body,
    /// The SHA-256 of the body, in hex.
    BodySha256,
}

/// A key that verifies signatures: a secret, or a public key. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct CallbackVerificationKey(Box<[u8]>);

/// Why a callback is not verified, for the operator and the provider. The texts have no value of the callback.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCallbackSignature {
    #[error("the header `{0}` is missing")]
    Missing(HeaderName),
    #[error("the header `{0}` is there more than once")]
    Repeated(HeaderName),
    #[error("the header `{0}` has no signature of the expected form")]
    Malformed(HeaderName),
    #[error("the header `{0}` has more than {SIGNATURES_MAX} signatures")]
    TooMany(HeaderName),
    #[error("the header `{0}` is not a time in Unix seconds within 5 minutes of now")]
    NotNow(HeaderName),
    #[error("no signature is that of a known key")]
    Mismatch,
}

/// Why a text is no secret of its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `whsec_` and base64")]
pub struct InvalidCallbackSecret;

/// Why a document has no keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the response is not a JSON Web Key Set with a key of Ed25519")]
pub struct NoPublishedKeys;

/// How far a callback's time may be from now, in seconds.
const CLOCK_TOLERANCE: u64 = 300;
/// Number of signatures of one callback. While a provider changes its keys there are two or three.
const SIGNATURES_MAX: usize = 10;
/// Number of keys that are taken from a set.
const PUBLISHED_KEYS_MAX: usize = 16;
/// Length of a key of Ed25519, in bytes.
const ED25519_BYTES: usize = 32;

impl CallbackSignatureScheme {
    /// Checks what the head alone shows: that the headers are there, and that the time is now, in Unix seconds.
    ///
    /// # Errors
    /// Why the callback cannot be verified.
    pub fn check_head(
        &self,
        headers: &HeaderMap,
        now: u64,
    ) -> Result<(), InvalidCallbackSignature> {
        self.signatures(headers, now).map(drop)
    }

    /// Verifies that one of the signatures is that of one of the keys. Comparisons take the same time wherever they differ.
    ///
    /// # Errors
    /// Why the callback is not verified.
    pub fn verify(
        &self,
        (headers, body): (&HeaderMap, &[u8]),
        keys: &[CallbackVerificationKey],
        now: u64,
    ) -> Result<(), InvalidCallbackSignature> {
        let signatures = self.signatures(headers, now)?;
        let signed = self.signed_text(headers, body)?;
        let is_verified = keys.iter().any(|key| match self.keys {
            CallbackKeySource::Published(_) => key.is_ed25519_signer(&signed, &signatures),
            CallbackKeySource::Secrets(_) => key.is_hmac_signer(&signed, &signatures),
        });
        match is_verified {
            true => Ok(()),
            false => Err(InvalidCallbackSignature::Mismatch),
        }
    }

    /// The signatures, decoded.
    fn signatures(
        &self,
        headers: &HeaderMap,
        now: u64,
    ) -> Result<Vec<Vec<u8>>, InvalidCallbackSignature> {
        for part in &self.signed {
            if let SignedPart::Header(name) = part {
                only(headers, name)?;
            }
        }
        if let Some(name) = &self.timestamp {
            let time = std::str::from_utf8(only(headers, name)?).ok();
            let time = time.and_then(|time| time.parse::<u64>().ok());
            if time.is_none_or(|time| time.abs_diff(now) > CLOCK_TOLERANCE) {
                return Err(InvalidCallbackSignature::NotNow(name.clone()));
            }
        }
        let name = &self.header;
        let texts = only(headers, name)?.split(|byte| *byte == b' ');
        let texts = texts.filter_map(|text| text.strip_prefix(self.prefix.as_bytes()));
        let signatures: Vec<_> = texts.take(SIGNATURES_MAX + 1).collect();
        if signatures.len() > SIGNATURES_MAX {
            return Err(InvalidCallbackSignature::TooMany(name.clone()));
        }
        let signatures = signatures.into_iter();
        let signatures: Vec<_> = signatures
            .filter_map(|one| self.encoding.decode(one))
            .collect();
        match signatures.is_empty() {
            true => Err(InvalidCallbackSignature::Malformed(name.clone())),
            false => Ok(signatures),
        }
    }

    fn signed_text(
        &self,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Vec<u8>, InvalidCallbackSignature> {
        let mut text = Vec::new();
        for part in &self.signed {
            match part {
                SignedPart::Text(literal) => text.extend_from_slice(literal.as_bytes()),
                SignedPart::Header(name) => text.extend_from_slice(only(headers, name)?),
                SignedPart::Body => text.extend_from_slice(body),
                SignedPart::BodySha256 => {
                    let digest = HexDisplay(&Sha256::digest(body)).to_string();
                    text.extend_from_slice(digest.as_bytes());
                }
            }
        }
        Ok(text)
    }
}

impl CallbackVerificationKey {
    /// The key of a secret as it is written.
    ///
    /// # Errors
    /// The secret has not this form.
    pub fn from_secret(
        text: &str,
        form: CallbackSecretForm,
    ) -> Result<Self, InvalidCallbackSecret> {
        if form == CallbackSecretForm::Text {
            return Ok(Self(text.as_bytes().into()));
        }
        let key = text.strip_prefix("whsec_").ok_or(InvalidCallbackSecret)?;
        let key = STANDARD.decode(key).map_err(|_| InvalidCallbackSecret)?;
        match key.is_empty() {
            true => Err(InvalidCallbackSecret),
            false => Ok(Self(key.into())),
        }
    }

    /// The Ed25519 keys of a JSON Web Key Set (RFC 7517 and 8037). Keys of other kinds are ignored.
    ///
    /// # Errors
    /// There are none.
    pub fn from_key_set(json: &[u8]) -> Result<Vec<Self>, NoPublishedKeys> {
        #[derive(Deserialize)]
        struct JsonWebKeySet {
            keys: Vec<JsonWebKey>,
        }
        #[derive(Deserialize)]
        struct JsonWebKey {
            #[serde(default)]
            crv: String,
            #[serde(default)]
            x: String,
        }
        let set: JsonWebKeySet = serde_json::from_slice(json).map_err(|_| NoPublishedKeys)?;
        let keys = set.keys.iter().filter(|key| key.crv == "Ed25519");
        let keys = keys.filter_map(|key| URL_SAFE_NO_PAD.decode(&key.x).ok());
        let keys = keys.filter(|key| key.len() == ED25519_BYTES);
        let keys = keys.take(PUBLISHED_KEYS_MAX).map(|key| Self(key.into()));
        let keys: Vec<Self> = keys.collect();
        match keys.is_empty() {
            true => Err(NoPublishedKeys),
            false => Ok(keys),
        }
    }

    fn is_ed25519_signer(&self, signed: &[u8], signatures: &[Vec<u8>]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        let mut signatures = signatures.iter();
        signatures.any(|signature| key.verify(signed, signature).is_ok())
    }

    fn is_hmac_signer(&self, signed: &[u8], signatures: &[Vec<u8>]) -> bool {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(signed);
        let mut signatures = signatures.iter();
        signatures.any(|signature| mac.clone().verify_slice(signature).is_ok())
    }
}

impl SignatureEncoding {
    fn decode(self, text: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Base64 => STANDARD.decode(text).ok(),
            Self::Hex => hex::parse(text),
        }
    }
}

/// The value of a header that must be there once.
fn only<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<&'h [u8], InvalidCallbackSignature> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    let value = value.ok_or_else(|| InvalidCallbackSignature::Missing(name.clone()))?;
    match values.next() {
        None => Ok(value.as_bytes()),
        Some(_) => Err(InvalidCallbackSignature::Repeated(name.clone())),
    }
}

impl fmt::Debug for CallbackVerificationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}
