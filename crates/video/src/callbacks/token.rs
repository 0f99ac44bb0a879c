//! The token in a callback URL: binds a subscription to its caller and channel until it expires.

use headgate_core::task::id::TaskIdKeyRing;
use headgate_core::task::token::UrlTokenPurpose;

/// What a callback token contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackToken {
    /// The key of the subscription, random.
    pub nonce: String,
    pub caller: String,
    pub channel: String,
    /// Unix milliseconds.
    pub expires_ms: u64,
}

impl CallbackToken {
    /// A token with a new nonce.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(caller: &str, channel: &str, expires_ms: u64) -> Result<Self, getrandom::Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)?;
        Ok(Self {
            nonce: format!("{:032x}", u128::from_be_bytes(random)),
            caller: caller.to_owned(),
            channel: channel.to_owned(),
            expires_ms,
        })
    }

    /// The token as it stands in a URL.
    pub fn seal(&self, keys: &TaskIdKeyRing) -> String {
        let fields = (&self.nonce, &self.caller, &self.channel, self.expires_ms);
        let payload = serde_json::to_vec(&fields).expect("texts and numbers always serialise");
        keys.seal_token(UrlTokenPurpose::Callback, &payload)
    }

    /// Opens a token; `None` if it is not one of this gateway, or has expired.
    pub fn open(keys: &TaskIdKeyRing, token: &str, now_ms: u64) -> Option<Self> {
        let payload = keys.open_token(UrlTokenPurpose::Callback, token).ok()?;
        let (nonce, caller, channel, expires_ms) = serde_json::from_slice(&payload).ok()?;
        (now_ms < expires_ms).then_some(Self {
            nonce,
            caller,
            channel,
            expires_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::task::id::TaskIdKey;

    fn ring(secret: &str) -> TaskIdKeyRing {
        TaskIdKeyRing::new(TaskIdKey::new(&secret.repeat(32)).unwrap(), Vec::new())
    }

    #[test]
    fn a_token_opens_until_it_expires_and_for_its_gateway_only() {
        let keys = ring("a");
        let token = CallbackToken::new("ann", "a", 1_000).unwrap();
        let sealed = token.seal(&keys);
        assert_eq!(CallbackToken::open(&keys, &sealed, 999), Some(token));
        assert_eq!(CallbackToken::open(&keys, &sealed, 1_000), None);
        assert_eq!(CallbackToken::open(&ring("b"), &sealed, 0), None);
        let media = keys.seal_token(UrlTokenPurpose::Media, b"[\"n\",\"ann\",\"a\",9]");
        assert_eq!(CallbackToken::open(&keys, &media, 0), None);
        let other = CallbackToken::new("ann", "a", 1_000).unwrap();
        assert_ne!(other.seal(&keys), sealed);
    }
}
