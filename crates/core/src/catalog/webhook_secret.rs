//! Secrets of callers that sign deliveries, by the Standard Webhooks specification (HMAC-SHA256, version `v1`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt;

/// Begins every secret in its written form.
const PREFIX: &str = "whsec_";
/// Length of a key, in bytes.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A key that signs deliveries. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct CallerDeliverySigningKey(Box<[u8]>);

/// Why a text is no webhook secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWebhookSecret {
    #[error("expected `whsec_` and base64")]
    Malformed,
    #[error("the secret has {0} bytes; expected 24 to 64")]
    Length(usize),
}

impl CallerDeliverySigningKey {
    /// Parses `whsec_` and the base64 of 24 to 64 bytes.
    ///
    /// # Errors
    /// The text has another form, or the key another length.
    pub fn parse(text: &str) -> Result<Self, InvalidWebhookSecret> {
        let key = text
            .strip_prefix(PREFIX)
            .and_then(|encoded| STANDARD.decode(encoded).ok())
            .ok_or(InvalidWebhookSecret::Malformed)?;
        match KEY_BYTES.contains(&key.len()) {
            true => Ok(Self(key.into())),
            false => Err(InvalidWebhookSecret::Length(key.len())),
        }
    }

    /// The written form of a key of 32 bytes.
    pub fn encode(key: [u8; 32]) -> String {
        format!("{PREFIX}{}", STANDARD.encode(key))
    }

    /// The signature of a message, with its version: an element of the header `webhook-signature`.
    pub fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for CallerDeliverySigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_specifications_examples() {
        for (secret, id, timestamp, body, signature) in [
            (
                "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
                "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
                1_649_367_553,
                r#"{"email":"test@example.com","username":"test_user"}"#,
                "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
            ),
            (
                "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c=",
                "wh_685c059ae39c8190af8c71ed1022a24d",
                1_750_861_210,
                r#"{"id": "evt_685c059ae3a481909bdc86819b066fb6", "object": "event", "created_at": 1750861210, "type": "response.completed", "data": {"id": "resp_123"}}"#,
                "v1,gUAg4R2hWouRZqRQG4uJypNS8YK885G838+EHb4nKBY=",
            ),
        ] {
            let secret = CallerDeliverySigningKey::parse(secret).unwrap();
            assert_eq!(secret.sign(id, timestamp, body.as_bytes()), signature);
        }
    }

    #[test]
    fn a_secret_has_a_prefix_and_24_to_64_bytes() {
        let of = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![7; bytes]));
        for (text, expected) in [
            (of(24), Ok(())),
            (of(64), Ok(())),
            (of(23), Err(InvalidWebhookSecret::Length(23))),
            (of(65), Err(InvalidWebhookSecret::Length(65))),
            (String::new(), Err(InvalidWebhookSecret::Malformed)),
            (of(32)[6..].to_owned(), Err(InvalidWebhookSecret::Malformed)),
            ("whsec_ä".into(), Err(InvalidWebhookSecret::Malformed)),
        ] {
            assert_eq!(
                CallerDeliverySigningKey::parse(&text).map(drop),
                expected,
                "{text}"
            );
        }
        let secret = CallerDeliverySigningKey::parse(&of(32)).unwrap();
        assert_eq!(format!("{secret:?}"), "[secret]");
    }
}
