//! The frames of a header block: what is in them, and further fields at their end.

use super::frame::{
    CONTINUATION, END_HEADERS, FRAME_BYTES_MAX, FRAME_HEAD_BYTES, HEADERS, PADDED, PRIORITY,
};

/// The header block fragment of a HEADERS frame; `None` if its padding is malformed.
pub(super) fn header_fragment(frame: &[u8]) -> Option<&[u8]> {
    let flags = frame[4];
    let mut payload = &frame[FRAME_HEAD_BYTES..];
    let mut padding = 0;
    if flags & PADDED != 0 {
        let (first, rest) = payload.split_first()?;
        (padding, payload) = (usize::from(*first), rest);
    }
    if flags & PRIORITY != 0 {
        let (dependency, rest) = payload.split_at_checked(5)?;
        // The library does not decode a block of a stream that depends on itself.
        if dependency[0] & 0x7f == frame[5] & 0x7f && dependency[1..4] == frame[6..9] {
            return None;
        }
        payload = rest;
    }
    payload.get(..payload.len().checked_sub(padding)?)
}

/// A literal field without indexing, with a short name and value.
pub(super) fn literal(name: &str, value: &[u8]) -> Vec<u8> {
    let mut field = vec![0, name.len() as u8];
    field.extend_from_slice(name.as_bytes());
    field.push(value.len() as u8);
    field.extend_from_slice(value);
    field
}

/// Appends the last frame of a header block, extended by `fields`: in the same frame if they fit, since the library
/// accepts no CONTINUATION after a frame that is malformed itself.
pub(super) fn append_extended(block: &mut Vec<u8>, frame: &[u8], fields: &[u8]) {
    let (head, payload) = frame.split_at(FRAME_HEAD_BYTES);
    let (mut payload, mut flags) = (payload, head[4]);
    if head[3] == HEADERS
        && flags & PADDED != 0
        && let Some((padding, rest)) = payload.split_first()
    {
        payload = &rest[..rest.len().saturating_sub(usize::from(*padding))];
        flags &= !PADDED;
    }
    let whole = [payload, fields].concat();
    let mut kind = head[3];
    let count = whole.len().div_ceil(FRAME_BYTES_MAX);
    for (at, piece) in whole.chunks(FRAME_BYTES_MAX).enumerate() {
        flags &= !END_HEADERS;
        flags |= if at + 1 == count { END_HEADERS } else { 0 };
        block.extend_from_slice(&(piece.len() as u32).to_be_bytes()[1..]);
        block.extend_from_slice(&[kind, flags]);
        block.extend_from_slice(&head[5..]);
        block.extend_from_slice(piece);
        (kind, flags) = (CONTINUATION, 0);
    }
}
