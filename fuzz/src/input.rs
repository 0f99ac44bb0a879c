//! How a target reads its input and the JSON that comes of it: parts, pieces in which a part arrives, values.

use crate::mutation::InputRandom;
use serde_json::Value;

/// The line between two parts of an input.
const SEPARATOR: &[u8] = b"\n--\n";

/// The parts of an input, which a line with `--` separates; parts that are missing are empty.
pub fn parts<const N: usize>(input: &[u8]) -> [&[u8]; N] {
    let mut rest = Some(input);
    std::array::from_fn(|at| {
        let Some(text) = rest else { return &[][..] };
        let end = text
            .windows(SEPARATOR.len())
            .position(|window| window == SEPARATOR);
        match end.filter(|_| at + 1 < N) {
            Some(end) => {
                rest = Some(&text[end + SEPARATOR.len()..]);
                &text[..end]
            }
            None => {
                rest = None;
                text
            }
        }
    })
}

/// Ways to cut `bytes` into pieces: byte by byte, and into pieces whose sizes depend on the bytes only, so that an input
/// always has the same cuts.
pub fn cuts(bytes: &[u8]) -> [Vec<&[u8]>; 3] {
    let mut random = InputRandom::from_bytes(bytes);
    [
        bytes.chunks(1).collect(),
        random_pieces(&mut random, bytes, 5),
        random_pieces(&mut random, bytes, 90),
    ]
}

/// The value of a text that must be JSON; `None` if it has a number beyond doubles, for which serde_json has no value.
///
/// # Panics
/// The text is no JSON.
pub fn parse_json(text: &[u8]) -> Option<Value> {
    match serde_json::from_slice(text) {
        Ok(value) => Some(value),
        Err(error) if error.to_string().contains("number out of range") => None,
        Err(error) => panic!("{error}: {}", text.escape_ascii()),
    }
}

fn random_pieces<'b>(random: &mut InputRandom, bytes: &'b [u8], size_max: usize) -> Vec<&'b [u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let size = 1 + random.below(size_max);
        let (piece, after) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
