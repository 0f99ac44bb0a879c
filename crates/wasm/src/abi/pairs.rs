//! The serialised form of header maps: the number of pairs, all lengths, then all texts, each with a zero after it.

use crate::abi_status::AbiStatus;
use crate::guest_state::HeaderMapView;

/// Pairs that a plugin may pass in one map.
const PAIRS_MAX: usize = 4096;

/// A name and its value.
pub(super) type Pair<'a> = (&'a [u8], &'a [u8]);

/// The serialised form of a map.
pub(super) fn encode(map: &HeaderMapView<'_>) -> Vec<u8> {
    let mut count: u32 = 0;
    let mut lengths: Vec<u8> = vec![0; 4];
    let mut texts: Vec<u8> = Vec::with_capacity(1024);
    map.each(&mut |name, value| {
        count += 1;
        lengths.extend(number(name.len()));
        lengths.extend(number(value.len()));
        texts.extend_from_slice(name);
        texts.push(0);
        texts.extend_from_slice(value);
        texts.push(0);
    });
    lengths[..4].copy_from_slice(&count.to_le_bytes());
    lengths.append(&mut texts);
    lengths
}

/// The serialised form of a map of texts.
pub(super) fn encode_texts(map: &[(String, String)]) -> Vec<u8> {
    let mut bytes: Vec<u8> = number(map.len()).to_vec();
    for (name, value) in map {
        bytes.extend(number(name.len()));
        bytes.extend(number(value.len()));
    }
    for (name, value) in map {
        for text in [name, value] {
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
        }
    }
    bytes
}

/// The pairs of a serialised map. No bytes are an empty map.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Pair<'_>>, AbiStatus> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let (count, rest) = take_number(bytes)?;
    if count > PAIRS_MAX || count * 8 > rest.len() {
        return Err(AbiStatus::ParseFailure);
    }
    let (mut lengths, mut texts) = rest.split_at(count * 8);
    let mut pairs = Vec::with_capacity(count);
    for _ in 0..count {
        let (name_length, rest) = take_number(lengths)?;
        let (value_length, rest) = take_number(rest)?;
        lengths = rest;
        let (name, rest) = take_text(texts, name_length)?;
        let (value, rest) = take_text(rest, value_length)?;
        texts = rest;
        pairs.push((name, value));
    }
    Ok(pairs)
}

fn number(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

fn take_number(bytes: &[u8]) -> Result<(usize, &[u8]), AbiStatus> {
    let (number, rest) = bytes
        .split_first_chunk::<4>()
        .ok_or(AbiStatus::ParseFailure)?;
    Ok((u32::from_le_bytes(*number) as usize, rest))
}

fn take_text(bytes: &[u8], length: usize) -> Result<(&[u8], &[u8]), AbiStatus> {
    let (text, rest) = bytes
        .split_at_checked(length)
        .ok_or(AbiStatus::ParseFailure)?;
    // The zero after the last text may be missing.
    match rest.split_first() {
        Some((0, rest)) => Ok((text, rest)),
        None => Ok((text, rest)),
        Some(_) => Err(AbiStatus::ParseFailure),
    }
}
