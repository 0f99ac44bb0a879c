//! The tokens in URLs of media: which content, as which type, until when.

use super::content::ContentDigest;
use headgate_core::task::id::TaskIdKeyRing;
use headgate_core::task::token::{InvalidUrlToken, UrlTokenPurpose};

/// What a URL of a medium gives access to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaToken {
    pub digest: ContentDigest,
    /// Unix seconds; the URL is invalid from then on.
    pub expires_s: u64,
    pub content_type: String,
}

impl MediaToken {
    pub fn seal(&self, keys: &TaskIdKeyRing) -> String {
        let mut payload = Vec::with_capacity(40 + self.content_type.len());
        payload.extend_from_slice(self.digest.bytes());
        payload.extend_from_slice(&self.expires_s.to_be_bytes());
        payload.extend_from_slice(self.content_type.as_bytes());
        keys.seal_token(UrlTokenPurpose::Media, &payload)
    }

    /// Opens a token at the time `now_s`.
    ///
    /// # Errors
    /// The token is not one of this gateway, or it has expired.
    pub fn open(keys: &TaskIdKeyRing, token: &str, now_s: u64) -> Result<Self, InvalidUrlToken> {
        let payload = keys.open_token(UrlTokenPurpose::Media, token)?;
        let (digest, rest) = payload.split_first_chunk::<32>().ok_or(InvalidUrlToken)?;
        let (expires_s, content_type) = rest.split_first_chunk::<8>().ok_or(InvalidUrlToken)?;
        let token = Self {
            digest: ContentDigest::new(*digest),
            expires_s: u64::from_be_bytes(*expires_s),
            content_type: String::from_utf8(content_type.to_vec()).map_err(|_| InvalidUrlToken)?,
        };
        match now_s < token.expires_s {
            true => Ok(token),
            false => Err(InvalidUrlToken),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::task::id::TaskIdKey;

    #[test]
    fn a_token_holds_until_it_expires() {
        let keys = TaskIdKeyRing::new(TaskIdKey::new(&"k".repeat(32)).unwrap(), Vec::new());
        let token = MediaToken {
            digest: ContentDigest::from_content(b"content"),
            expires_s: 1000,
            content_type: "image/png".into(),
        };
        let text = token.seal(&keys);
        assert_eq!(MediaToken::open(&keys, &text, 999).unwrap(), token);
        assert_eq!(MediaToken::open(&keys, &text, 1000), Err(InvalidUrlToken));
        let short = keys.seal_token(UrlTokenPurpose::Media, b"short");
        assert_eq!(MediaToken::open(&keys, &short, 0), Err(InvalidUrlToken));
    }
}
