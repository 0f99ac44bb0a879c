//! Keys that sign JSON Web Tokens: HS256, RS256 and ES256 (RFC 7518, section 3.1).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;
use sha2::Sha256;
use std::fmt;

/// A key, whose kind is the algorithm.
pub enum JwtKey {
    /// HS256.
    Secret(Box<str>),
    /// RS256.
    Rsa(Box<RsaKeyPair>),
    /// ES256.
    P256(Box<EcdsaKeyPair>),
}

/// Why a key cannot sign. It contains nothing of the key.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidJwtKey(String);

impl JwtKey {
    /// The private key in a PEM text: one of RSA in PKCS #8 or PKCS #1, or one of P-256 in PKCS #8.
    ///
    /// # Errors
    /// There is none, it is of another kind, or an RSA key has not 2,048 to 8,192 bits.
    pub fn from_pem(pem: &[u8]) -> Result<Self, InvalidJwtKey> {
        let key = PrivateKeyDer::from_pem_slice(pem)
            .map_err(|_| InvalidJwtKey("there is no private key in PEM".into()))?;
        let der = match &key {
            PrivateKeyDer::Pkcs8(key) => key.secret_pkcs8_der(),
            PrivateKeyDer::Pkcs1(key) => {
                let pair = RsaKeyPair::from_der(key.secret_pkcs1_der());
                return pair.map(|pair| Self::Rsa(pair.into())).map_err(unusable);
            }
            _ => {
                let reason = "the private key is not in PKCS #8; convert it with `openssl pkcs8 -topk8 -nocrypt`";
                return Err(InvalidJwtKey(reason.into()));
            }
        };
        let random = SystemRandom::new();
        let p256 = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random);
        if let Ok(pair) = p256 {
            return Ok(Self::P256(pair.into()));
        }
        let pair = RsaKeyPair::from_pkcs8(der);
        pair.map(|pair| Self::Rsa(pair.into())).map_err(unusable)
    }

    /// The name of the algorithm.
    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::Secret(_) => "HS256",
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
        }
    }

    /// The first part of tokens with these members in their header, besides the algorithm.
    pub fn encoded_header(&self, mut header: Value) -> String {
        header["alg"] = self.algorithm().into();
        URL_SAFE_NO_PAD.encode(header.to_string())
    }

    /// A token with these members in its header and these claims, a JSON object.
    ///
    /// # Errors
    /// The key cannot sign.
    pub fn token(&self, header: Value, claims: &str) -> Result<String, InvalidJwtKey> {
        let header = self.encoded_header(header);
        let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims));
        let signature = self.signature(signed.as_bytes())?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn signature(&self, signed: &[u8]) -> Result<Vec<u8>, InvalidJwtKey> {
        let random = SystemRandom::new();
        let failed = |_| InvalidJwtKey("the private key cannot sign".into());
        match self {
            Self::Secret(secret) => {
                let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())
                    .expect("HMAC takes keys of any length");
                mac.update(signed);
                Ok(mac.finalize().into_bytes().to_vec())
            }
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, signed, &mut signature)
                    .map_err(failed)?;
                Ok(signature)
            }
            Self::P256(pair) => {
                let signature = pair.sign(&random, signed).map_err(failed)?;
                Ok(signature.as_ref().to_vec())
            }
        }
    }
}

fn unusable(error: ring::error::KeyRejected) -> InvalidJwtKey {
    InvalidJwtKey(format!("the private key cannot be used: {error}"))
}

impl fmt::Debug for JwtKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JwtKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED, KeyPair, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
        VerificationAlgorithm,
    };
    use serde_json::json;

    const RSA_KEY: &str = include_str!("../../../../tests/fixtures/token_rsa_key.txt");

    fn pem(base64: &str) -> String {
        format!("-----BEGIN PRIVATE KEY-----\n{base64}\n-----END PRIVATE KEY-----\n")
    }

    fn p256_pem() -> String {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        pem(&STANDARD.encode(key.unwrap()))
    }

    #[test]
    fn each_kind_of_key_signs_by_its_algorithm() {
        for (text, algorithm) in [(pem(RSA_KEY.trim()), "RS256"), (p256_pem(), "ES256")] {
            let key = JwtKey::from_pem(text.as_bytes()).unwrap();
            let token = key.token(json!({"typ": "JWT"}), r#"{"iss":"a"}"#).unwrap();
            let (signed, signature) = token.rsplit_once('.').unwrap();
            let (public, verification): (&[u8], &dyn VerificationAlgorithm) = match &key {
                JwtKey::Rsa(pair) => (pair.public_key().as_ref(), &RSA_PKCS1_2048_8192_SHA256),
                JwtKey::P256(pair) => (pair.public_key().as_ref(), &ECDSA_P256_SHA256_FIXED),
                JwtKey::Secret(_) => unreachable!("a PEM has a private key"),
            };
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            let public = UnparsedPublicKey::new(verification, public);
            public.verify(signed.as_bytes(), &signature).unwrap();
            let header = URL_SAFE_NO_PAD.decode(signed.split('.').next().unwrap());
            let header: Value = serde_json::from_slice(&header.unwrap()).unwrap();
            assert_eq!(header, json!({"alg": algorithm, "typ": "JWT"}));
            assert_eq!(format!("{key:?}"), "JwtKey");
        }
    }

    #[test]
    fn what_is_no_key_is_refused_with_a_reason() {
        let sec1 = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n";
        for (text, reason) in [
            ("none", "no private key"),
            (sec1, "PKCS #8"),
            (&pem("AAAA"), "cannot be used"),
        ] {
            let refused = JwtKey::from_pem(text.as_bytes()).unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
