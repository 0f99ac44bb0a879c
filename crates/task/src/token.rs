//! Tokens in the gateway's own URLs: sealed with the keys of task ids, for one purpose each.

use super::id::TaskIdKeyRing;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Longer texts are refused at once; the gateway's tokens are far shorter.
const TOKEN_CHARS_MAX: usize = 2048;

/// What a token is for. A token of one purpose does not open for another, and none opens as a task id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlTokenPurpose {
    /// `/_headgate/callback/{token}`
    Callback,
    /// `/_headgate/media/{token}`
    Media,
}

/// The text is not a token of this gateway for this purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown token")]
pub struct InvalidUrlToken;

impl UrlTokenPurpose {
    /// Authenticated with each token.
    fn label(self) -> &'static [u8] {
        match self {
            Self::Callback => b"headgate callback token",
            Self::Media => b"headgate media token",
        }
    }
}

impl TaskIdKeyRing {
    /// A token that contains `payload`, encrypted and authenticated. Equal payloads have equal tokens.
    pub fn seal_token(&self, purpose: UrlTokenPurpose, payload: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.seal_bytes(purpose.label(), payload))
    }

    /// The payload of a token.
    ///
    /// # Errors
    /// The token is forged, truncated, altered, for another purpose, or was sealed with an unknown key.
    pub fn open_token(
        &self,
        purpose: UrlTokenPurpose,
        token: &str,
    ) -> Result<Vec<u8>, InvalidUrlToken> {
        if token.len() > TOKEN_CHARS_MAX {
            return Err(InvalidUrlToken);
        }
        let sealed = URL_SAFE_NO_PAD.decode(token).map_err(|_| InvalidUrlToken)?;
        self.open_bytes(purpose.label(), &sealed)
            .ok_or(InvalidUrlToken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{PREFIX, TaskIdKey};

    fn ring(secrets: &[&str]) -> TaskIdKeyRing {
        let mut keys = secrets
            .iter()
            .map(|secret| TaskIdKey::new(&secret.repeat(32)).unwrap());
        let first = keys.next().unwrap();
        TaskIdKeyRing::new(first, keys.collect())
    }

    #[test]
    fn a_token_opens_for_its_purpose_only() {
        let keys = ring(&["a"]);
        let token = keys.seal_token(UrlTokenPurpose::Media, b"object 1");
        assert_eq!(
            keys.open_token(UrlTokenPurpose::Media, &token).unwrap(),
            b"object 1"
        );
        let other = keys.open_token(UrlTokenPurpose::Callback, &token);
        assert_eq!(other, Err(InvalidUrlToken));
        assert!(keys.open(&format!("{PREFIX}{token}")).is_err());
    }

    #[test]
    fn an_altered_token_does_not_open() {
        let keys = ring(&["a"]);
        let token = keys.seal_token(UrlTokenPurpose::Media, b"object 1");
        for index in 0..token.len() {
            let mut altered = token.clone().into_bytes();
            altered[index] = if altered[index] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            let opened = keys.open_token(UrlTokenPurpose::Media, &altered);
            // The last character has bits that are not part of the content.
            assert!(opened.is_err() || index + 1 == token.len(), "{altered}");
        }
        for text in ["", "a", "task_", &token[1..], &"a".repeat(5000)] {
            assert!(keys.open_token(UrlTokenPurpose::Media, text).is_err());
        }
    }

    #[test]
    fn a_retired_key_still_opens_tokens() {
        let token = ring(&["a"]).seal_token(UrlTokenPurpose::Callback, b"x");
        let rotated = ring(&["b", "a"]);
        assert!(
            rotated
                .open_token(UrlTokenPurpose::Callback, &token)
                .is_ok()
        );
        assert_ne!(rotated.seal_token(UrlTokenPurpose::Callback, b"x"), token);
        assert!(
            ring(&["b"])
                .open_token(UrlTokenPurpose::Callback, &token)
                .is_err()
        );
    }
}
