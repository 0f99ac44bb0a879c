//! Affinity of a model: which requests belong together, so that one channel serves them and its provider's prompt cache
//! has what they repeat.
//!
//! Each key orders the channels of a model by a hash (rendezvous hashing), so that nothing is remembered: a channel that
//! returns has its keys again, and a new channel takes its share from all others. The hash has a secret, so that no
//! caller can find keys of one channel.

use crate::task::id::TaskIdKeyRing;
use headgate_protocol::json::pointer::JsonPointer;
use hmac::{Hmac, Mac};
use http::HeaderName;
use sha2::Sha256;
use std::fmt;

/// What a secret derived from the keys of task ids is for.
const PURPOSE: &[u8] = b"headgate affinity";

/// The affinity of a model.
#[derive(Debug)]
pub struct ModelAffinity {
    pub source: AffinitySource,
    /// Whether requests of different callers may have the same key.
    pub is_shared: bool,
    /// The load of a channel, in percent of its share, up to which it gets the requests of its keys; at least 100.
    pub balance_factor: u16,
    pub secret: AffinitySecret,
}

/// What requests of one session have in common.
#[derive(Debug, PartialEq, Eq)]
pub enum AffinitySource {
    /// Their caller.
    Caller,
    /// Tools, instructions and the messages up to the first one of the user.
    Prefix,
    /// The value of a header.
    Header(HeaderName),
    /// A text or number in the body.
    Pointer(JsonPointer),
}

/// The secret of a fleet that is in the hash of each key.
#[derive(Clone)]
pub struct AffinitySecret(Hmac<Sha256>);

/// The hash of what the requests of one session have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AffinityKey(u64);

/// Hashes the parts of a key.
pub struct AffinityKeyHasher(Hmac<Sha256>);

/// Which channel served a request with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffinityOutcome {
    /// The first one of the key's order.
    Own,
    /// Another one: the own channel was at a limit, or above its share of the load or of the caller's requests.
    Spilled,
    /// Another one: the own channel was in cool-down.
    CoolingDown,
    /// Another one: an operator has drained the own channel.
    Drained,
    /// Another one, after the own channel had failed the request.
    FailedOver,
}

impl AffinityOutcome {
    /// The name in metrics and in the access log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Spilled => "spilled",
            Self::CoolingDown => "cooling_down",
            Self::Drained => "drained",
            Self::FailedOver => "failed_over",
        }
    }
}

impl AffinitySecret {
    /// # Panics
    /// Never: HMAC takes keys of any length.
    pub fn new(secret: &[u8]) -> Self {
        Self(Hmac::new_from_slice(secret).expect("HMAC takes keys of any length"))
    }

    /// The secret of all gateways with the same first task key.
    pub fn from_task_keys(keys: &TaskIdKeyRing) -> Self {
        Self::new(&keys.derived_secret(PURPOSE))
    }

    /// Hashes a key for requests of `caller` for `model`.
    pub fn hasher(&self, model: &str, caller: Option<&str>) -> AffinityKeyHasher {
        let mut hasher = AffinityKeyHasher(self.0.clone());
        hasher.add(model.as_bytes());
        hasher.add(caller.unwrap_or_default().as_bytes());
        hasher
    }
}

impl AffinityKeyHasher {
    /// Adds a part. Its length counts, so that no two lists of parts are the same bytes.
    pub fn add(&mut self, part: &[u8]) {
        self.0.update(&(part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    pub fn finish(self) -> AffinityKey {
        let hash: [u8; 32] = self.0.finalize().into_bytes().into();
        let [a, b, c, d, e, f, g, h, ..] = hash;
        AffinityKey(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

impl AffinityKey {
    /// The place of a channel in the order of the key: the highest score is first. Each channel is first for a share of
    /// all keys by its weight. The score depends on no other channel.
    pub fn score(self, channel: &str, weight: u16) -> f64 {
        // The key is random to everyone else, so that mixing it with a public hash is enough.
        let mixed = mix(self.0 ^ hash_name(channel));
        // In (0, 1]: the 53 bits that a double holds.
        let uniform = ((mixed >> 11) + 1) as f64 / (1u64 << 53) as f64;
        // The logarithm of 1 is 0.
        -f64::from(weight) / uniform.ln().min(-f64::MIN_POSITIVE)
    }
}

/// FNV-1a.
fn hash_name(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The finaliser of SplitMix64: each bit of the input changes half of the output.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl fmt::Debug for AffinitySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::id::TaskIdKey;

    fn key(secret: &AffinitySecret, session: u32) -> AffinityKey {
        let mut hasher = secret.hasher("m", Some("ann"));
        hasher.add(&session.to_be_bytes());
        hasher.finish()
    }

    fn first<'c>(key: AffinityKey, channels: &[(&'c str, u16)]) -> &'c str {
        let score = |(name, weight): &&(&str, u16)| key.score(name, *weight);
        let best = channels.iter().max_by(|a, b| score(a).total_cmp(&score(b)));
        best.unwrap().0
    }

    #[test]
    fn keys_are_shared_by_weight() {
        let secret = AffinitySecret::new(b"s");
        let channels = [("a", 3), ("b", 1)];
        let of_a = (0..20_000).filter(|session| first(key(&secret, *session), &channels) == "a");
        let share = of_a.count() as f64 / 20_000.0;
        assert!((0.74..0.76).contains(&share), "{share}");
    }

    #[test]
    fn a_channel_that_leaves_moves_its_own_keys_only() {
        let secret = AffinitySecret::new(b"s");
        let all = [("a", 1), ("b", 1), ("c", 1), ("d", 1)];
        let (without_d, mut moved) = (&all[..3], [0; 3]);
        for session in 0..4_000 {
            let key = key(&secret, session);
            match first(key, &all) {
                "d" => {
                    let next = first(key, without_d);
                    moved[without_d.iter().position(|one| one.0 == next).unwrap()] += 1;
                }
                own => assert_eq!(first(key, without_d), own),
            }
        }
        // The keys of `d` are spread over the three others.
        assert!(
            moved.iter().all(|keys| (250..420).contains(keys)),
            "{moved:?}"
        );
    }

    #[test]
    fn order_depends_on_secret_caller_and_model() {
        let channels: Vec<(String, u16)> = (0..1_000).map(|at| (format!("c{at}"), 1)).collect();
        let channels: Vec<(&str, u16)> = channels
            .iter()
            .map(|(name, weight)| (&**name, *weight))
            .collect();
        let with = |secret: &str, model, caller: Option<&str>| {
            let secret = AffinitySecret::new(secret.as_bytes());
            let hasher = secret.hasher(model, caller);
            first(hasher.finish(), &channels)
        };
        let own = with("s", "m", Some("ann"));
        assert_eq!(with("s", "m", Some("ann")), own);
        for other in [
            with("t", "m", Some("ann")),
            with("s", "n", Some("ann")),
            with("s", "m", Some("bob")),
            with("s", "m", None),
        ] {
            assert_ne!(other, own);
        }
    }

    #[test]
    fn gateways_with_the_same_first_task_key_have_the_same_order() {
        let ring = |first: &str, other: &str| {
            let key = |text: &str| TaskIdKey::new(&text.repeat(32)).unwrap();
            TaskIdKeyRing::new(key(first), vec![key(other)])
        };
        let with = |ring| key(&AffinitySecret::from_task_keys(&ring), 1);
        assert_eq!(with(ring("a", "b")), with(ring("a", "c")));
        assert_ne!(with(ring("a", "b")), with(ring("b", "a")));
    }
}
