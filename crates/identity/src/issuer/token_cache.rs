//! Tokens that were verified before, so that a signature is checked once and not with every request.

use crate::token::key_set::TokenKeySet;
use headgate_core::catalog::caller::Caller;
use headgate_core::state::lock::lock;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

/// Tokens of a generation. When it is full, the one before it is forgotten.
const GENERATION: usize = 4_096;

/// Holders by the fingerprints of their tokens: keyed hashes of 128 bits, whose keys are random in each process. Strangers
/// cannot fill it: only valid tokens are added.
#[derive(Default)]
pub(crate) struct TokenCache {
    hashers: [RandomState; 2],
    generations: Mutex<[HashMap<TokenFingerprint, VerifiedToken>; 2]>,
}

type TokenFingerprint = [u64; 2];

/// A token that is valid as long as its issuer's keys are those that have verified it.
#[derive(Clone)]
pub(crate) struct VerifiedToken {
    pub caller: Arc<Caller>,
    /// The name of its issuer.
    pub issuer: Arc<str>,
    pub keys: Arc<TokenKeySet>,
    /// From when on it is refused, in Unix seconds.
    pub expiry: f64,
}

impl TokenCache {
    /// The token with this text, if it was added before.
    pub fn find(&self, token: &[u8]) -> Option<VerifiedToken> {
        let fingerprint = self.fingerprint(token);
        let mut generations = lock(&self.generations);
        if let Some(found) = generations[0].get(&fingerprint) {
            return Some(found.clone());
        }
        let found = generations[1].remove(&fingerprint)?;
        insert(&mut generations, fingerprint, found.clone());
        Some(found)
    }

    /// Adds a token that was verified.
    pub fn add(&self, token: &[u8], verified: VerifiedToken) {
        let fingerprint = self.fingerprint(token);
        insert(&mut lock(&self.generations), fingerprint, verified);
    }

    fn fingerprint(&self, token: &[u8]) -> TokenFingerprint {
        [0, 1].map(|half: usize| self.hashers[half].hash_one(token))
    }
}

fn insert(
    generations: &mut [HashMap<TokenFingerprint, VerifiedToken>; 2],
    fingerprint: TokenFingerprint,
    token: VerifiedToken,
) {
    if generations[0].len() >= GENERATION {
        generations.swap(0, 1);
        generations[0].clear();
    }
    generations[0].insert(fingerprint, token);
}
