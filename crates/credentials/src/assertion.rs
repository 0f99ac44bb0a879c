//! Assertions: JWTs that a client signs with its private key to show who it is (RFC 7523).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;
use std::fmt;

/// A private RSA key, which signs by RS256.
pub struct AssertionKey(RsaKeyPair);

/// Why a key cannot sign.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidKey(pub(crate) String);

impl AssertionKey {
    /// The private key in a PEM text, in PKCS #8 or PKCS #1.
    ///
    /// # Errors
    /// There is none, or it is not an RSA key of 2,048 to 8,192 bits.
    pub fn from_pem(pem: &[u8]) -> Result<Self, InvalidKey> {
        let key = PrivateKeyDer::from_pem_slice(pem)
            .map_err(|_| InvalidKey("there is no private key in PEM".into()))?;
        let pair = match &key {
            PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
            _ => return Err(InvalidKey("the private key is not an RSA key".into())),
        };
        let rejected = |error| InvalidKey(format!("the private key cannot be used: {error}"));
        pair.map(Self).map_err(rejected)
    }

    /// A signed token. `header` lacks `alg`, which is added.
    pub(crate) fn sign(&self, mut header: Value, claims: &Value) -> Result<String, InvalidKey> {
        header["alg"] = "RS256".into();
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(claims));
        let mut signature = vec![0; self.0.public().modulus_len()];
        let random = SystemRandom::new();
        self.0
            .sign(
                &RSA_PKCS1_SHA256,
                &random,
                signed.as_bytes(),
                &mut signature,
            )
            .map_err(|_| InvalidKey("the private key cannot sign".into()))?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

impl fmt::Debug for AssertionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AssertionKey")
    }
}
