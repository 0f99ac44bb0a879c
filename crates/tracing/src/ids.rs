//! Ids of traces and spans. They are random, but not secret.

use std::cell::Cell;
use std::fmt;
use std::hash::{BuildHasher, RandomState};

thread_local! {
    /// Seeded by the operating system once per thread.
    static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0));
}

/// The id of a trace: 16 bytes, not all of them 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// The id of a span within its trace: 8 bytes, not all of them 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

impl TraceId {
    /// A random id.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&random_number().to_be_bytes());
        bytes[8..].copy_from_slice(&(random_number() | 1).to_be_bytes());
        Self(bytes)
    }

    /// `None` for the id that is all 0, which W3C declares invalid.
    pub fn new(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl SpanId {
    /// A random id.
    pub fn random() -> Self {
        Self((random_number() | 1).to_be_bytes())
    }

    /// `None` for the id that is all 0, which W3C declares invalid.
    pub fn new(bytes: [u8; 8]) -> Option<Self> {
        (bytes != [0; 8]).then_some(Self(bytes))
    }

    pub fn bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

/// A random number (SplitMix64).
pub(super) fn random_number() -> u64 {
    STATE.with(|state| {
        let next = state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        state.set(next);
        let mut mixed = next;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_differ_across_threads() {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    let ids = (0..10_000).map(|_| (TraceId::random(), SpanId::random()));
                    ids.collect::<Vec<_>>()
                })
            })
            .collect();
        let ids: Vec<_> = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        let traces: HashSet<_> = ids.iter().map(|(trace, _)| *trace).collect();
        let spans: HashSet<_> = ids.iter().map(|(_, span)| *span).collect();
        assert_eq!((traces.len(), spans.len()), (40_000, 40_000));
    }

    #[test]
    fn ids_are_printed_with_leading_zeros() {
        let mut bytes = [0; 16];
        bytes[15] = 10;
        let trace = TraceId::new(bytes).unwrap();
        assert_eq!(trace.to_string(), "0000000000000000000000000000000a");
        let span = SpanId::new([0, 0, 0, 0, 0, 0, 1, 255]).unwrap();
        assert_eq!(span.to_string(), "00000000000001ff");
        assert_eq!((TraceId::new([0; 16]), SpanId::new([0; 8])), (None, None));
    }
}
