//! Proofs that thoughts are the simulated model's own, which it demands back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// All simulated providers have the same key, so that a conversation may go from one to another.
const KEY: &[u8] = b"simulated thoughts";

/// The proof of what the model thought before `text`, or of the thoughts `text` themselves.
pub fn signature(text: &str) -> String {
    STANDARD.encode(mac(text).finalize().into_bytes())
}

/// Whether `signature` is the proof for `text`.
pub fn is_signature(signature: &str, text: &str) -> bool {
    let proof = STANDARD.decode(signature);
    proof.is_ok_and(|proof| mac(text).verify_slice(&proof).is_ok())
}

fn mac(text: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(KEY).expect("a key has any length");
    mac.update(text.as_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_of_one_text() {
        let proof = signature("I look.");
        assert!(is_signature(&proof, "I look."));
        for (other, text) in [
            (proof.as_str(), "I looked."),
            ("", "I look."),
            ("c2ln", "I look."),
        ] {
            assert!(!is_signature(other, text), "{other} {text}");
        }
    }
}
