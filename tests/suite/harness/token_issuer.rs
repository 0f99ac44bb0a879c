//! An issuer of tokens: its keys, the server that publishes them, and the gateway that trusts it.

use super::http_response::{http_response, json_response};
use super::{Gateway, ScriptedProvider, ScriptedResponse, Simulator, config};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// The claim `iss` of the issuer, unless it is found by discovery.
pub const ISSUER: &str = "https://login.corp.example";
pub const AUDIENCE: &str = "headgate";
/// A key of RSA in PKCS #8, in base64.
pub const RSA_KEY: &str = include_str!("../../fixtures/token_rsa_key.txt");

/// A key that signs tokens.
pub struct TokenSigner {
    pub id: &'static str,
    pub algorithm: &'static str,
    key: SigningKey,
}

enum SigningKey {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

/// The server of an issuer's keys.
pub struct FakeIssuer {
    pub server: ScriptedProvider,
    /// The response to every request; `None` while the issuer is down.
    published: Arc<Mutex<Option<String>>>,
}

/// A gateway that trusts an issuer, and its provider.
pub struct TokenSetup {
    pub gateway: Gateway,
    pub simulator: Simulator,
    pub issuer: FakeIssuer,
}

impl TokenSigner {
    pub fn ed25519(id: &'static str, seed: u8) -> Self {
        let key = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        Self::new(id, "EdDSA", SigningKey::Ed25519(key))
    }

    pub fn p256(id: &'static str) -> Self {
        let (scheme, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(scheme, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(scheme, document.as_ref(), &random).unwrap();
        Self::new(id, "ES256", SigningKey::P256(key))
    }

    pub fn rsa(id: &'static str) -> Self {
        let document = STANDARD.decode(RSA_KEY.replace('\n', "")).unwrap();
        let key = RsaKeyPair::from_pkcs8(&document).unwrap();
        Self::new(id, "RS256", SigningKey::Rsa(key))
    }

    fn new(id: &'static str, algorithm: &'static str, key: SigningKey) -> Self {
        Self { id, algorithm, key }
    }

    /// The public key, as it is published.
    pub fn published(&self) -> Value {
        let mut key = match &self.key {
            SigningKey::Ed25519(key) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(key.public_key().as_ref())})
            }
            SigningKey::P256(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)})
            }
            SigningKey::Rsa(_) => {
                json!({"kty": "RSA", "n": encode(&self.modulus().n), "e": encode(&self.modulus().e)})
            }
        };
        key["kid"] = self.id.into();
        key["use"] = "sig".into();
        key
    }

    /// Bytes that everybody knows of the key: what an attacker takes as a secret of HMAC.
    pub fn public_bytes(&self) -> Vec<u8> {
        match &self.key {
            SigningKey::Ed25519(key) => key.public_key().as_ref().to_vec(),
            SigningKey::P256(key) => key.public_key().as_ref().to_vec(),
            SigningKey::Rsa(_) => self.modulus().n,
        }
    }

    /// A token with these claims.
    pub fn token(&self, claims: &Value) -> String {
        self.token_with(&self.header(), claims)
    }

    pub fn header(&self) -> Value {
        json!({"alg": self.algorithm, "typ": "JWT", "kid": self.id})
    }

    /// A token with this header, whatever that has.
    pub fn token_with(&self, header: &Value, claims: &Value) -> String {
        self.sign_parts(&encode(header.to_string()), &encode(claims.to_string()))
    }

    /// A token of these two parts.
    pub fn sign_parts(&self, header: &str, claims: &str) -> String {
        let signed = format!("{header}.{claims}");
        let signature = encode(self.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    pub fn sign(&self, signed: &[u8]) -> Vec<u8> {
        match &self.key {
            SigningKey::Ed25519(key) => key.sign(signed).as_ref().to_vec(),
            SigningKey::P256(key) => {
                let signature = key.sign(&SystemRandom::new(), signed).unwrap();
                signature.as_ref().to_vec()
            }
            SigningKey::Rsa(key) => sign_rsa(key, &RSA_PKCS1_SHA256, signed),
        }
    }

    /// The signature of PS256.
    pub fn sign_pss(&self, signed: &[u8]) -> Vec<u8> {
        match &self.key {
            SigningKey::Rsa(key) => sign_rsa(key, &RSA_PSS_SHA256, signed),
            SigningKey::Ed25519(_) | SigningKey::P256(_) => panic!("PS256 takes a key of RSA"),
        }
    }

    fn modulus(&self) -> RsaPublicKeyComponents<Vec<u8>> {
        match &self.key {
            SigningKey::Rsa(key) => key.public_key().into(),
            SigningKey::Ed25519(_) | SigningKey::P256(_) => panic!("only RSA has a modulus"),
        }
    }
}

fn sign_rsa(
    key: &RsaKeyPair,
    padding: &'static dyn ring::signature::RsaEncoding,
    signed: &[u8],
) -> Vec<u8> {
    let mut signature = vec![0; key.public().modulus_len()];
    let signing = key.sign(padding, &SystemRandom::new(), signed, &mut signature);
    signing.unwrap();
    signature
}

impl FakeIssuer {
    pub async fn start() -> Self {
        let published = Arc::<Mutex<Option<String>>>::default();
        let body = published.clone();
        let respond = move |_: &str| match &*body.lock().unwrap() {
            Some(body) => json_response(200, body),
            None => http_response(503, "", ""),
        };
        Self {
            server: ScriptedProvider::start(vec![ScriptedResponse::Call(Arc::new(respond))]).await,
            published,
        }
    }

    pub fn publish(&self, signers: &[&TokenSigner]) {
        let keys: Vec<_> = signers.iter().map(|signer| signer.published()).collect();
        self.respond(Some(json!({"keys": keys})));
    }

    /// Responds with this from now on; `None` is an error.
    pub fn respond(&self, document: Option<Value>) {
        *self.published.lock().unwrap() = document.map(|document| document.to_string());
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    pub fn fetches(&self) -> usize {
        self.server.requests().len()
    }

    /// Its entry in `issuers`: every token is admitted like Ann.
    pub fn entry(&self) -> Value {
        json!({
            "issuer": ISSUER, "audience": AUDIENCE, "jwks": format!("{}/keys", self.url()),
            "algorithms": ["RS256", "ES256", "EdDSA"], "admit": [{"like": "ann"}],
        })
    }
}

impl TokenSetup {
    /// Starts a gateway that takes keys, and tokens that these signers have signed.
    pub async fn start(signers: &[&TokenSigner]) -> Self {
        Self::with(signers, |_, _| {}).await
    }

    pub async fn with(
        signers: &[&TokenSigner],
        change: impl FnOnce(&mut Value, &FakeIssuer),
    ) -> Self {
        let simulator = Simulator::start().await;
        let issuer = FakeIssuer::start().await;
        if !signers.is_empty() {
            issuer.publish(signers);
        }
        let mut config = config::standard(&simulator.url());
        config["issuers"] = json!({"corp": issuer.entry()});
        config["chains"]["body"][1] = json!({"authenticate": {"jwt": ["corp"]}});
        change(&mut config, &issuer);
        Self {
            gateway: Gateway::start(&config).await,
            simulator,
            issuer,
        }
    }
}

/// Claims of a token that is valid for ten minutes.
pub fn claims() -> Value {
    let now = now();
    json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": now, "nbf": now, "exp": now + 600})
}

/// The claims with some changed; null removes one.
pub fn claims_with(changes: Value) -> Value {
    let mut claims = claims();
    for (name, value) in changes.as_object().unwrap() {
        match value.is_null() {
            true => drop(claims.as_object_mut().unwrap().remove(name)),
            false => claims[name] = value.clone(),
        }
    }
    claims
}

/// The time in Unix seconds.
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
