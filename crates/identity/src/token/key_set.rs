//! JSON Web Key Sets (RFC 7517): the public keys of an issuer, and the verification of signatures.

use super::algorithm::{KeyType, SignatureAlgorithm};
use super::refusal::TokenRefusal;
use super::signed_token::{KEY_ID_BYTES_MAX, SignedToken};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits};
use ring::signature::{RsaPublicKeyComponents, UnparsedPublicKey};

/// Number of keys that are taken from a set.
const KEYS_MAX: usize = 64;
/// The smallest modulus of RSA, in bits.
const RSA_BITS_MIN: usize = 2048;
/// The largest one that is verified.
const RSA_BITS_MAX: usize = 8192;
const LIMITS: JsonLimits = JsonLimits {
    depth: 8,
    values: 4_096,
};

/// The public keys of an issuer that verify signatures.
#[derive(Debug)]
pub(crate) struct TokenKeySet {
    keys: Vec<TokenKey>,
    /// The document, by which an unchanged set is known.
    document: Bytes,
    /// The number of keys beyond those that are taken.
    pub ignored: usize,
}

/// Why a document has no keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnusableKeySet {
    #[error("the response is not a JSON Web Key Set")]
    Form,
    #[error("the JSON Web Key Set has no public key of a type that is used here")]
    NoKeys,
}

#[derive(Debug)]
struct TokenKey {
    id: Option<Box<str>>,
    /// The only algorithm that the key may be used with, if the issuer names one.
    algorithm: Option<SignatureAlgorithm>,
    material: KeyMaterial,
}

#[derive(Debug)]
enum KeyMaterial {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point, or the 32 bytes of Ed25519.
    Point(KeyType, Vec<u8>),
}

impl TokenKeySet {
    /// Reads a set. Keys of other types or for another use are ignored, as RFC 7517 has it.
    ///
    /// # Errors
    /// It is none, or no key remains.
    pub fn parse(document: Bytes) -> Result<Self, UnusableKeySet> {
        let parsed = JsonDocument::parse(document.clone(), &LIMITS);
        let parsed = parsed.map_err(|_| UnusableKeySet::Form)?;
        let listed = parsed.root().get("keys").ok_or(UnusableKeySet::Form)?;
        let mut listed = listed.elements().filter_map(TokenKey::read);
        let keys: Vec<_> = listed.by_ref().take(KEYS_MAX).collect();
        match keys.is_empty() {
            true => Err(UnusableKeySet::NoKeys),
            false => Ok(Self {
                keys,
                document,
                ignored: listed.count(),
            }),
        }
    }

    /// Whether the set was read from the same document.
    pub fn is_same(&self, other: &Self) -> bool {
        self.document == other.document
    }

    /// Verifies the signature of a token.
    ///
    /// # Errors
    /// No key has the id and fits the algorithm, or the signature is not that of one that does.
    pub fn verify(&self, token: &SignedToken<'_>) -> Result<(), TokenRefusal> {
        let mut fitting = self.fitting(token).peekable();
        if fitting.peek().is_none() {
            return Err(TokenRefusal::UnknownKey);
        }
        match fitting.any(|key| key.is_signer(token)) {
            true => Ok(()),
            false => Err(TokenRefusal::Signature),
        }
    }

    /// The keys of the token's id that fit its algorithm; of a token without an id, the only one that fits.
    fn fitting(&self, token: &SignedToken<'_>) -> impl Iterator<Item = &TokenKey> {
        let fits = |key: &&TokenKey| key.fits(token.algorithm);
        let is_only = self.keys.iter().filter(fits).count() == 1;
        self.keys.iter().filter(move |key| {
            let is_named = match &token.key_id {
                Some(id) => key.id.as_ref() == Some(id),
                None => is_only,
            };
            is_named && key.fits(token.algorithm)
        })
    }
}

impl TokenKey {
    fn read(node: DocumentNode<'_>) -> Option<Self> {
        let text = |name| node.get(name).map(|value| value.as_str());
        // A private key that is published is everybody's.
        if node.get("d").is_some() || text("use").is_some_and(|it| it.as_deref() != Some("sig")) {
            return None;
        }
        if let Some(operations) = node.get("key_ops") {
            let mut operations = operations.elements();
            operations.find(|it| it.as_str().as_deref() == Some("verify"))?;
        }
        let algorithm = match text("alg") {
            None => None,
            Some(name) => Some(SignatureAlgorithm::from_name(&name?)?),
        };
        let material = KeyMaterial::read(node)?;
        if algorithm.is_some_and(|algorithm| algorithm.key_type() != material.key_type()) {
            return None;
        }
        let id = match text("kid") {
            None => None,
            Some(id) => Some(Box::from(&*id?)),
        };
        let is_readable = |id: &str| !id.is_empty() && id.len() <= KEY_ID_BYTES_MAX;
        id.as_deref().is_none_or(is_readable).then_some(Self {
            id,
            algorithm,
            material,
        })
    }

    fn fits(&self, algorithm: SignatureAlgorithm) -> bool {
        algorithm.key_type() == self.material.key_type()
            && self.algorithm.is_none_or(|only| only == algorithm)
    }

    fn is_signer(&self, token: &SignedToken<'_>) -> bool {
        let SignedToken {
            algorithm,
            signed,
            signature,
            ..
        } = token;
        match &self.material {
            KeyMaterial::Rsa { modulus, exponent } => {
                let key = RsaPublicKeyComponents {
                    n: modulus,
                    e: exponent,
                };
                let parameters = algorithm.rsa_parameters();
                parameters
                    .is_some_and(|parameters| key.verify(parameters, signed, signature).is_ok())
            }
            KeyMaterial::Point(_, point) => algorithm.curve_verification().is_some_and(|curve| {
                let key = UnparsedPublicKey::new(curve, point);
                key.verify(signed, signature).is_ok()
            }),
        }
    }
}

impl KeyMaterial {
    fn read(node: DocumentNode<'_>) -> Option<Self> {
        let text = |name| node.get(name)?.as_str();
        let bytes = |name| URL_SAFE_NO_PAD.decode(&*text(name)?).ok();
        let curve = text("crv");
        match (&*text("kty")?, curve.as_deref()) {
            ("RSA", _) => {
                let mut modulus = bytes("n")?;
                // Some issuers write a zero byte first, as in DER.
                if modulus.first() == Some(&0) {
                    modulus.remove(0);
                }
                let leading = modulus.first()?.leading_zeros() as usize;
                let bits = modulus.len() * 8 - leading;
                let exponent = bytes("e")?;
                (RSA_BITS_MIN..=RSA_BITS_MAX)
                    .contains(&bits)
                    .then_some(Self::Rsa { modulus, exponent })
            }
            ("EC", Some("P-256")) => point(KeyType::P256, 32, bytes("x")?, bytes("y")?),
            ("EC", Some("P-384")) => point(KeyType::P384, 48, bytes("x")?, bytes("y")?),
            ("OKP", Some("Ed25519")) => {
                let key = bytes("x")?;
                (key.len() == 32).then_some(Self::Point(KeyType::Ed25519, key))
            }
            _ => None,
        }
    }

    fn key_type(&self) -> KeyType {
        match self {
            Self::Rsa { .. } => KeyType::Rsa,
            Self::Point(key_type, _) => *key_type,
        }
    }
}

/// A point in the form that is verified with: 4, and both coordinates in full length.
fn point(key_type: KeyType, length: usize, x: Vec<u8>, y: Vec<u8>) -> Option<KeyMaterial> {
    (x.len() == length && y.len() == length)
        .then(|| KeyMaterial::Point(key_type, [vec![4], x, y].concat()))
}
