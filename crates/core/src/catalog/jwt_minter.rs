//! Tokens that the gateway mints for a provider: JWTs signed with HS256 (RFC 7519), minted anew before they expire.

use crate::state::lock::lock;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use http::HeaderValue;
use serde_json::json;
use sha2::Sha256;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

/// Mints the tokens of one access key.
pub struct JwtMinter {
    issuer: Box<str>,
    secret: Box<str>,
    lifetime: Duration,
    current: Mutex<Option<MintedToken>>,
}

/// A token as it is sent.
struct MintedToken {
    authorization: HeaderValue,
    /// From when on another one is minted, in Unix milliseconds.
    renewed_ms: u64,
}

/// `{"alg":"HS256","typ":"JWT"}`
const HEAD: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";
/// How far the provider's clock may be behind, in seconds.
const CLOCK_SKEW: u64 = 5;

impl JwtMinter {
    /// Tokens of `issuer`, signed with `secret`, that are valid for `lifetime`.
    pub fn new(issuer: &str, secret: &str, lifetime: Duration) -> Self {
        Self {
            issuer: issuer.into(),
            secret: secret.into(),
            lifetime,
            current: Mutex::new(None),
        }
    }

    /// `Bearer` and a token of which at least half the lifetime is left.
    pub fn authorization(&self, now_ms: u64) -> HeaderValue {
        let mut current = lock(&self.current);
        let is_fresh = |token: &&MintedToken| {
            let half = token.renewed_ms.saturating_sub(self.half_ms());
            (half..token.renewed_ms).contains(&now_ms)
        };
        if let Some(token) = current.as_ref().filter(is_fresh) {
            return token.authorization.clone();
        }
        let text = format!("Bearer {}", self.mint(now_ms / 1_000));
        let mut authorization = HeaderValue::try_from(text).expect("base64 and dots are ASCII");
        authorization.set_sensitive(true);
        *current = Some(MintedToken {
            authorization: authorization.clone(),
            renewed_ms: now_ms + self.half_ms(),
        });
        authorization
    }

    /// What all tokens of the access key begin with, and no other text does: it has the access key in it.
    pub fn common_beginning(&self) -> String {
        let claims = format!("{{\"iss\":{}", json!(self.issuer));
        // Only whole groups of three bytes are the same whatever follows.
        let whole = claims.len() / 3 * 3;
        format!("{HEAD}.{}", URL_SAFE_NO_PAD.encode(&claims[..whole]))
    }

    /// The access key.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The key that signs the tokens.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    fn half_ms(&self) -> u64 {
        u64::try_from(self.lifetime.as_millis() / 2).unwrap_or(u64::MAX)
    }

    /// A token, by the time in Unix seconds.
    fn mint(&self, now: u64) -> String {
        let expires = now + self.lifetime.as_secs().max(1);
        let valid_from = now.saturating_sub(CLOCK_SKEW);
        let issuer = json!(self.issuer);
        let claims = format!("{{\"iss\":{issuer},\"exp\":{expires},\"nbf\":{valid_from}}}");
        let signed = format!("{HEAD}.{}", URL_SAFE_NO_PAD.encode(claims));
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes())
            .expect("HMAC takes keys of any length");
        mac.update(signed.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes());
        format!("{signed}.{signature}")
    }
}

impl fmt::Debug for JwtMinter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JwtMinter")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minter(lifetime: u64) -> JwtMinter {
        JwtMinter::new("access-1", "secret-1", Duration::from_secs(lifetime))
    }

    #[test]
    fn a_token_is_signed_and_has_the_time_in_which_it_is_valid() {
        let token = minter(1_800).mint(1_700_000_000);
        let parts: Vec<&str> = token.split('.').collect();
        let text = |part: &str| String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        assert_eq!(text(parts[0]), r#"{"alg":"HS256","typ":"JWT"}"#);
        assert_eq!(
            text(parts[1]),
            r#"{"iss":"access-1","exp":1700001800,"nbf":1699999995}"#
        );
        let mut mac = Hmac::<Sha256>::new_from_slice(b"secret-1").unwrap();
        mac.update(format!("{}.{}", parts[0], parts[1]).as_bytes());
        let signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
        mac.verify_slice(&signature).unwrap();
    }

    #[test]
    fn a_token_is_renewed_when_half_of_its_lifetime_is_over() {
        let minter = minter(100);
        let first = minter.authorization(1_000_000);
        for (now_ms, is_same) in [(1_000_000, true), (1_049_999, true), (1_050_000, false)] {
            assert_eq!(minter.authorization(now_ms) == first, is_same, "{now_ms}");
        }
        // A clock that was set back.
        assert_ne!(minter.authorization(5_000), minter.authorization(1_050_000));
    }

    #[test]
    fn all_tokens_of_an_access_key_begin_alike() {
        for issuer in ["a", "ab", "abc", "access-1", "a\"b"] {
            let minter = JwtMinter::new(issuer, "s", Duration::from_secs(60));
            let other = JwtMinter::new("other", "s", Duration::from_secs(60));
            let beginning = minter.common_beginning();
            assert!(minter.mint(1).starts_with(&beginning), "{issuer}");
            assert!(!other.mint(1).starts_with(&beginning), "{issuer}");
        }
    }
}
