//! The keys that callbacks are signed with, which each process makes for itself, and HMAC-SHA256.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use ring::signature::Ed25519KeyPair;
use sha2::Sha256;
use std::fmt::Write;
use std::sync::LazyLock;

static ED25519: LazyLock<Ed25519KeyPair> = LazyLock::new(|| {
    Ed25519KeyPair::from_seed_unchecked(&random_key()).expect("a seed has 32 bytes")
});
static SHARED: LazyLock<[u8; 32]> = LazyLock::new(random_key);

/// The pair of keys of Ed25519 signatures.
pub fn ed25519() -> &'static Ed25519KeyPair {
    &ED25519
}

/// The key of signatures by Standard Webhooks, as receivers get it: `whsec_…`.
pub fn webhook_secret() -> String {
    format!("whsec_{}", STANDARD.encode(*SHARED))
}

/// The signature of a text by Standard Webhooks.
pub fn webhook_signature(text: &[u8]) -> String {
    format!("v1,{}", STANDARD.encode(hmac_sha256(&*SHARED, text)))
}

pub fn hmac_sha256(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
        hex
    })
}

fn random_key() -> [u8; 32] {
    let mut key = [0; 32];
    getrandom::fill(&mut key).expect("the system has random numbers");
    key
}
