//! The keys of one object: iteration, comparison after decoding, detection of duplicates.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use super::tape::{StringFlags, TapeEntry, TapeEntryKind};
use super::text;

/// Up to this number of members, comparing all pairs is faster than hashing.
const SMALL: u32 = 12;

/// Seeded at random for each process, so that nobody can prepare keys that collide.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The tape index of the first key that is equal, after decoding, to an earlier key of the same object.
///
/// `object` is the tape index of an object whose members end the tape.
pub(super) fn duplicate(body: &[u8], tape: &[TapeEntry], object: usize) -> Option<usize> {
    match tape[object].count {
        0 | 1 => None,
        // Most objects: a message has a role and a content.
        2 => {
            let first = object + 1;
            let second = after(tape, first + 1);
            same(body, &tape[first], &tape[second]).then_some(second)
        }
        3..=SMALL if have_distinct_marks(body, tape, object) => None,
        3..=SMALL => duplicate_by_comparing(body, tape, object),
        count => duplicate_by_hashing(body, tape, object, count as usize),
    }
}

/// The index of the entry after this one and all that it contains.
#[inline]
pub(super) fn after(tape: &[TapeEntry], index: usize) -> usize {
    let entry = &tape[index];
    if entry.is_container() {
        entry.next as usize
    } else {
        index + 1
    }
}

/// The index of the one of `names` to which a key is equal after decoding. The search begins at index `from`: writers keep
/// to an order, so that one member often tells where the next one is.
#[inline]
pub(super) fn position(body: &[u8], key: &TapeEntry, names: &[&str], from: usize) -> Option<usize> {
    let content = key.content(body);
    let is_escaped = matches!(key.shape, TapeEntryKind::Key(spelling) if spelling.escaped);
    let (before, after) = names.split_at(from);
    match is_escaped {
        false => {
            let is_equal = |name: &&str| content == name.as_bytes();
            let found = after.iter().position(is_equal).map(|at| from + at);
            found.or_else(|| before.iter().position(is_equal))
        }
        true => names.iter().position(|name| is_spelled(body, key, name)),
    }
}

/// Whether a key with escapes is equal to `name` after decoding.
#[cold]
fn is_spelled(body: &[u8], key: &TapeEntry, name: &str) -> bool {
    let content = key.content(body);
    // An escape is never shorter than the bytes it decodes to, so a shorter key cannot match.
    key.spelling().is_some_and(|spelling| {
        content.len() >= name.len() && text::decode(content, spelling) == *name
    })
}

/// Whether lengths and three bytes tell all keys of an object apart, as they do for almost every object of a protocol.
fn have_distinct_marks(body: &[u8], tape: &[TapeEntry], object: usize) -> bool {
    let mut seen = [0_u64; 4];
    let mut key = object + 1;
    while key < tape.len() {
        let content = tape[key].content(body);
        let (TapeEntryKind::Key(StringFlags { escaped: false, .. }), [first, .., last]) =
            (tape[key].shape, content)
        else {
            return false;
        };
        let middle = content[content.len() / 2];
        let bytes = usize::from(*first) + usize::from(*last) + usize::from(middle) * 5;
        let mixed = content.len() * 17 + bytes;
        let (word, bit) = (mixed / 64 % 4, 1 << (mixed % 64));
        if seen[word] & bit != 0 {
            return false;
        }
        seen[word] |= bit;
        key = after(tape, key + 1);
    }
    true
}

fn duplicate_by_comparing(body: &[u8], tape: &[TapeEntry], object: usize) -> Option<usize> {
    let first = object + 1;
    let mut later = after(tape, first + 1);
    while later < tape.len() {
        let mut earlier = first;
        while earlier < later {
            if same(body, &tape[earlier], &tape[later]) {
                return Some(later);
            }
            earlier = after(tape, earlier + 1);
        }
        later = after(tape, later + 1);
    }
    None
}

/// Stores hashes and key indexes in an open-addressed table of twice the needed size.
fn duplicate_by_hashing(
    body: &[u8],
    tape: &[TapeEntry],
    object: usize,
    count: usize,
) -> Option<usize> {
    const FREE: (u32, u32) = (0, u32::MAX);
    let mask = (count * 2).next_power_of_two() - 1;
    let mut slots = vec![FREE; mask + 1];
    let mut key = object + 1;
    while key < tape.len() {
        let hash = hash(body, &tape[key]);
        let mut slot = hash as usize & mask;
        while slots[slot] != FREE {
            let (seen_hash, seen) = slots[slot];
            if seen_hash == hash && same(body, &tape[seen as usize], &tape[key]) {
                return Some(key);
            }
            slot = (slot + 1) & mask;
        }
        slots[slot] = (hash, key as u32);
        key = after(tape, key + 1);
    }
    None
}

#[inline]
fn same(body: &[u8], left: &TapeEntry, right: &TapeEntry) -> bool {
    let spellings = (left.spelling(), right.spelling());
    match spellings {
        (Some(a), Some(b)) if a.escaped || b.escaped => {
            text::decode(left.content(body), a) == text::decode(right.content(body), b)
        }
        _ => left.byte_len() == right.byte_len() && left.content(body) == right.content(body),
    }
}

fn hash(body: &[u8], key: &TapeEntry) -> u32 {
    let content = key.content(body);
    let hash = match key.spelling() {
        Some(spelling) if spelling.escaped => {
            HASHER.hash_one(text::decode(content, spelling).as_bytes())
        }
        _ => HASHER.hash_one(content),
    };
    hash as u32
}
