//! Changes that were made with an `Idempotency-Key`: the record of their caller remembers them.

use headgate_protocol::hex::HexDisplay;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The number of changes that a record remembers.
const APPLIED_MAX: usize = 8;

/// A change that a record remembers, by digests of its key and of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedRequest {
    key: String,
    request: String,
}

/// How a request relates to those that were applied before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestRepetition {
    New,
    /// The same request was applied.
    Repeated,
    /// Another request with the same key was applied.
    KeyReused,
}

impl AppliedRequest {
    /// A request with this key: what it does, and its body.
    pub fn new(key: &str, action: &str, body: &[u8]) -> Self {
        let mut request = Sha256::new();
        request.update((action.len() as u64).to_be_bytes());
        request.update(action);
        request.update(body);
        Self {
            key: HexDisplay(&Sha256::digest(key)).to_string(),
            request: HexDisplay(&request.finalize()).to_string(),
        }
    }

    /// How the request relates to those that were applied.
    pub fn compare(&self, applied: &[Self]) -> RequestRepetition {
        match applied.iter().find(|known| known.key == self.key) {
            None => RequestRepetition::New,
            Some(known) if known.request == self.request => RequestRepetition::Repeated,
            Some(_) => RequestRepetition::KeyReused,
        }
    }

    /// Remembers the request as the last one.
    pub fn remember(self, applied: &mut Vec<Self>) {
        applied.push(self);
        let old = applied.len().saturating_sub(APPLIED_MAX);
        applied.drain(..old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_repeated_if_its_key_and_body_are_the_same() {
        let mut applied = Vec::new();
        let first = AppliedRequest::new("k1", "create", b"{}");
        assert_eq!(first.compare(&applied), RequestRepetition::New);
        first.clone().remember(&mut applied);
        assert_eq!(first.compare(&applied), RequestRepetition::Repeated);
        for (key, action, body, expected) in [
            ("k1", "create", "{ }", RequestRepetition::KeyReused),
            ("k1", "change", "{}", RequestRepetition::KeyReused),
            ("k2", "create", "{}", RequestRepetition::New),
        ] {
            let request = AppliedRequest::new(key, action, body.as_bytes());
            assert_eq!(request.compare(&applied), expected, "{key} {action} {body}");
        }
        for key in 0..APPLIED_MAX {
            AppliedRequest::new(&format!("later {key}"), "change", b"").remember(&mut applied);
        }
        assert_eq!(applied.len(), APPLIED_MAX);
        assert_eq!(first.compare(&applied), RequestRepetition::New);
    }
}
