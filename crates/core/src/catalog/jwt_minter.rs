//! Tokens that the gateway mints for a provider: JWTs (RFC 7519), minted anew before they expire.

use super::jwt_key::{InvalidJwtKey, JwtKey};
use crate::state::lock::lock;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

/// Mints the tokens of one access key.
pub struct JwtMinter {
    claims: JwtClaims,
    key: JwtKey,
    lifetime: Duration,
    current: Mutex<Option<MintedToken>>,
}

/// What tokens have besides their times.
pub struct JwtClaims {
    /// `iss`.
    pub issuer: Box<str>,
    /// `sub`.
    pub subject: Option<Box<str>>,
    /// `aud`.
    pub audience: Option<Box<str>>,
    /// `kid` of the header.
    pub key_id: Option<Box<str>>,
}

/// A token as it is sent.
struct MintedToken {
    authorization: HeaderValue,
    /// From when on another one is minted, in Unix milliseconds.
    renewed_ms: u64,
}

/// How far the provider's clock may be behind, in seconds.
const CLOCK_SKEW: u64 = 5;

impl JwtMinter {
    /// Tokens with these claims, signed with `key`, that are valid for `lifetime`.
    pub fn new(claims: JwtClaims, key: JwtKey, lifetime: Duration) -> Self {
        Self {
            claims,
            key,
            lifetime,
            current: Mutex::new(None),
        }
    }

    /// `Bearer` and a token of which at least half the lifetime is left.
    ///
    /// # Errors
    /// The key cannot sign.
    pub fn authorization(&self, now_ms: u64) -> Result<HeaderValue, InvalidJwtKey> {
        let mut current = lock(&self.current);
        let is_fresh = |token: &&MintedToken| {
            let half = token.renewed_ms.saturating_sub(self.half_ms());
            (half..token.renewed_ms).contains(&now_ms)
        };
        if let Some(token) = current.as_ref().filter(is_fresh) {
            return Ok(token.authorization.clone());
        }
        let text = format!("Bearer {}", self.mint(now_ms / 1_000)?);
        let mut authorization = HeaderValue::try_from(text).expect("base64 and dots are ASCII");
        authorization.set_sensitive(true);
        *current = Some(MintedToken {
            authorization: authorization.clone(),
            renewed_ms: now_ms + self.half_ms(),
        });
        Ok(authorization)
    }

    /// What all tokens of the access key begin with, and no other text does: it has the access key in it.
    pub fn common_beginning(&self) -> String {
        let claims = format!("{{\"iss\":{}", json!(self.claims.issuer));
        // Only whole groups of three bytes are the same whatever follows.
        let whole = claims.len() / 3 * 3;
        let header = self.key.encoded_header(self.header());
        format!("{header}.{}", URL_SAFE_NO_PAD.encode(&claims[..whole]))
    }

    /// The access key.
    pub fn issuer(&self) -> &str {
        &self.claims.issuer
    }

    /// The key that signs the tokens, if it is a secret of both sides.
    pub fn secret(&self) -> Option<&str> {
        match &self.key {
            JwtKey::Secret(secret) => Some(secret),
            JwtKey::Rsa(_) | JwtKey::P256(_) => None,
        }
    }

    fn half_ms(&self) -> u64 {
        u64::try_from(self.lifetime.as_millis() / 2).unwrap_or(u64::MAX)
    }

    fn header(&self) -> Value {
        let mut header = json!({"typ": "JWT"});
        if let Some(id) = &self.claims.key_id {
            header["kid"] = json!(id);
        }
        header
    }

    /// A token, by the time in Unix seconds.
    fn mint(&self, now: u64) -> Result<String, InvalidJwtKey> {
        let expires = now + self.lifetime.as_secs().max(1);
        let valid_from = now.saturating_sub(CLOCK_SKEW);
        let mut claims = format!("{{\"iss\":{}", json!(self.claims.issuer));
        let named = [
            ("sub", &self.claims.subject),
            ("aud", &self.claims.audience),
        ];
        for (name, value) in named {
            if let Some(value) = value {
                claims += &format!(",\"{name}\":{}", json!(value));
            }
        }
        claims += &format!(",\"exp\":{expires},\"nbf\":{valid_from}");
        if self.secret().is_none() {
            // Servers that know no shared secret require when a token was issued.
            claims += &format!(",\"iat\":{valid_from}");
        }
        claims.push('}');
        self.key.token(self.header(), &claims)
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
    use hmac::{Hmac, Mac};
    use sha2::Sha256;

    fn minter_for(issuer: &str, lifetime: u64) -> JwtMinter {
        let claims = JwtClaims {
            issuer: issuer.into(),
            subject: None,
            audience: None,
            key_id: None,
        };
        let key = JwtKey::Secret("secret-1".into());
        JwtMinter::new(claims, key, Duration::from_secs(lifetime))
    }

    fn minter(lifetime: u64) -> JwtMinter {
        minter_for("access-1", lifetime)
    }

    #[test]
    fn a_token_is_signed_and_has_the_time_in_which_it_is_valid() {
        let token = minter(1_800).mint(1_700_000_000).unwrap();
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
        let first = minter.authorization(1_000_000).unwrap();
        for (now_ms, is_same) in [(1_000_000, true), (1_049_999, true), (1_050_000, false)] {
            let next = minter.authorization(now_ms).unwrap();
            assert_eq!(next == first, is_same, "{now_ms}");
        }
        // A clock that was set back.
        let [back, later] = [5_000, 1_050_000].map(|now| minter.authorization(now).unwrap());
        assert_ne!(back, later);
    }

    #[test]
    fn all_tokens_of_an_access_key_begin_alike() {
        for issuer in ["a", "ab", "abc", "access-1", "a\"b"] {
            let (minter, other) = (minter_for(issuer, 60), minter_for("other", 60));
            let beginning = minter.common_beginning();
            assert!(minter.mint(1).unwrap().starts_with(&beginning), "{issuer}");
            assert!(!other.mint(1).unwrap().starts_with(&beginning), "{issuer}");
        }
    }

    #[test]
    fn a_token_of_a_private_key_has_the_claims_that_are_named_and_when_it_was_issued() {
        let pem = include_str!("../../../../tests/fixtures/token_rsa_key.txt");
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{pem}\n-----END PRIVATE KEY-----\n");
        let claims = JwtClaims {
            issuer: "ACCOUNT.USER.SHA256:1".into(),
            subject: Some("ACCOUNT.USER".into()),
            audience: Some("https://models.example".into()),
            key_id: Some("key-1".into()),
        };
        let key = JwtKey::from_pem(pem.as_bytes()).unwrap();
        let minter = JwtMinter::new(claims, key, Duration::from_secs(60));
        let token = minter.mint(1_000).unwrap();
        assert!(token.starts_with(&minter.common_beginning()));
        let parts = token.split('.').take(2).map(|part| {
            let part = URL_SAFE_NO_PAD.decode(part).unwrap();
            String::from_utf8(part).unwrap()
        });
        let parts: Vec<String> = parts.collect();
        assert_eq!(parts[0], r#"{"alg":"RS256","kid":"key-1","typ":"JWT"}"#);
        assert_eq!(
            parts[1],
            r#"{"iss":"ACCOUNT.USER.SHA256:1","sub":"ACCOUNT.USER","aud":"https://models.example","exp":1060,"nbf":995,"iat":995}"#
        );
    }
}
