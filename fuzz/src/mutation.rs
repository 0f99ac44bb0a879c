//! Mutates inputs without knowledge of coverage, for the tests of each build.

/// Random numbers that depend on a seed only (SplitMix64).
#[derive(Clone, Debug)]
pub struct InputRandom(u64);

/// Maximum number of changes from an input of the corpus to a mutated one.
const CHANGES_MAX: usize = 4;

impl InputRandom {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed is a hash of `bytes` (FNV-1a).
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(hash)
    }

    pub fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which must be above zero.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next_number() % limit as u64).unwrap_or_default()
    }
}

/// An input of the corpus with a few changes: bytes and slices that are changed, removed, repeated, or taken from another
/// input.
pub fn mutate(random: &mut InputRandom, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut input = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(CHANGES_MAX) {
        let other = &corpus[random.below(corpus.len())];
        change(random, &mut input, other);
    }
    input
}

fn change(random: &mut InputRandom, input: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(input.len() + 1);
    let end = (at + 1 + random.below(16)).min(input.len());
    match random.below(6) {
        0 => input.insert(at, random.next_number() as u8),
        1 if at < input.len() => input[at] = random.next_number() as u8,
        2 if at < input.len() => input[at] ^= 1 << random.below(8),
        3 => drop(input.drain(at..end)),
        4 => {
            let copy = input[at..end].to_vec();
            let to = random.below(input.len() + 1);
            input.splice(to..to, copy);
        }
        _ => {
            let from = random.below(other.len() + 1);
            let to = (from + 1 + random.below(40)).min(other.len());
            input.splice(at..end, other[from..to].iter().copied());
        }
    }
}
