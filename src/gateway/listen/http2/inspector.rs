//! Inspects each header block of an HTTP/2 client as a whole, before the HTTP/2 library stores it.
//!
//! Valid blocks pass unchanged. To the others the inspector appends fields for which the library or the gateway rejects
//! that one request. It cannot drop a block, since all blocks of a connection share the HPACK state.

use super::field::{FIELDS_MAX, FieldBlockTotals};
use super::hpack::{CompressionError, HpackFieldInspector};

/// The field that is appended to a malformed head. A client that sends this field gets its own request rejected.
pub(in crate::gateway) const MALFORMED: &str = "headgate-malformed";

const PREFACE_BYTES: usize = 24;
const FRAME_HEAD_BYTES: usize = 9;
/// Capacity that is kept for an incomplete frame.
const PARTIAL_BYTES: usize = 1 << 10;
/// The maximum that the library announces; it ends a connection with a larger frame.
const FRAME_BYTES_MAX: usize = 16 << 10;
/// Number of frames of a header block after which the library limits them itself.
const CONTINUATIONS_MAX: u32 = 8;

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// One byte that decodes to `accept-encoding: gzip, deflate`. Repeated, it makes a list too large for the library.
const LARGE_FIELD: u8 = 0x80 | 16;
const LARGE_FIELD_BYTES: usize = 60;

/// Follows the bytes of one connection, starting with the preface.
#[derive(Debug)]
pub(super) struct Http2Inspector {
    /// Number of following bytes that pass without inspection.
    pass: usize,
    /// The start of a frame that is inspected as a whole.
    partial: Vec<u8>,
    /// Frames of the open header block, kept until its end.
    pending_frames: Vec<u8>,
    block: Option<UnfinishedHeaderBlock>,
    newest_stream: u32,
    hpack: HpackFieldInspector,
    list_bytes_max: usize,
    /// The library will end the connection because of a frame that has passed.
    is_over: bool,
    refused_lists: u32,
}

/// Kind and length of the segment at the start of the received bytes.
enum FrameOrPassthrough {
    Uninspected(usize),
    HeaderFrame(usize),
}

/// A header block whose last frame has not arrived.
#[derive(Debug)]
struct UnfinishedHeaderBlock {
    stream: u32,
    is_trailers: bool,
    list: FieldBlockTotals,
    continuations: u32,
    /// The block exceeds a limit: its frames pass at once, and it is rejected at its end.
    is_passing: bool,
}

impl Http2Inspector {
    /// Header lists may have `list_bytes_max` bytes, the limit that the library is configured with.
    pub fn new(list_bytes_max: usize) -> Self {
        Self {
            pass: PREFACE_BYTES,
            partial: Vec::new(),
            pending_frames: Vec::new(),
            block: None,
            newest_stream: 0,
            hpack: HpackFieldInspector::new(list_bytes_max),
            list_bytes_max,
            is_over: false,
            refused_lists: 0,
        }
    }

    /// Inspects the next bytes. Returns how many of them pass in place; after these, the bytes that are appended to
    /// `ready` follow.
    pub fn inspect(&mut self, received: &[u8], ready: &mut Vec<u8>) -> usize {
        let mut in_place = 0;
        if self.is_over {
            return in_place;
        }
        if self.partial.is_empty() {
            while let Some(FrameOrPassthrough::Uninspected(bytes)) =
                self.next_piece(&received[in_place..])
            {
                in_place += bytes;
                self.passed(bytes);
            }
            if in_place == received.len() {
                return in_place;
            }
        }
        let mut rest = std::mem::take(&mut self.partial);
        rest.extend_from_slice(&received[in_place..]);
        let mut used = 0;
        while let Some(piece) = self.next_piece(&rest[used..]) {
            match piece {
                FrameOrPassthrough::Uninspected(bytes) => {
                    ready.extend_from_slice(&rest[used..used + bytes]);
                    self.passed(bytes);
                    used += bytes;
                }
                FrameOrPassthrough::HeaderFrame(bytes) => {
                    self.header_frame(&rest[used..used + bytes], ready);
                    used += bytes;
                }
            }
        }
        rest.drain(..used);
        rest.shrink_to(PARTIAL_BYTES);
        self.partial = rest;
        in_place
    }

    /// Whether the library ends the connection; it gets no further bytes.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether a frame or a header block is incomplete.
    pub fn is_in_head(&self) -> bool {
        self.block.is_some() || !self.partial.is_empty()
    }

    /// Number of request header lists that were too large since the last call.
    pub fn take_refused_lists(&mut self) -> u32 {
        std::mem::take(&mut self.refused_lists)
    }

    /// The segment at the start of `bytes`; `None` if it is incomplete.
    fn next_piece(&mut self, bytes: &[u8]) -> Option<FrameOrPassthrough> {
        if bytes.is_empty() || self.is_over {
            return None;
        }
        if self.pass == 0 {
            let head = bytes.get(..FRAME_HEAD_BYTES)?;
            let payload =
                usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
            let frame = FRAME_HEAD_BYTES + payload;
            let is_inspected = matches!(head[3], HEADERS | CONTINUATION) || self.block.is_some();
            if is_inspected && payload <= FRAME_BYTES_MAX {
                return (bytes.len() >= frame).then_some(FrameOrPassthrough::HeaderFrame(frame));
            }
            self.pass = frame;
        }
        Some(FrameOrPassthrough::Uninspected(self.pass.min(bytes.len())))
    }

    fn passed(&mut self, bytes: usize) {
        self.pass -= bytes;
    }

    /// Inspects a complete frame of a header block.
    fn header_frame(&mut self, frame: &[u8], ready: &mut Vec<u8>) {
        let ends = frame[4] & END_HEADERS != 0;
        let stream = u32::from_be_bytes([frame[5] & 0x7f, frame[6], frame[7], frame[8]]);
        let block = self.block.take();
        let fragment = match (&block, frame[3]) {
            (None, HEADERS) => fragment_of(frame),
            (Some(block), CONTINUATION) if block.stream == stream => {
                Some(&frame[FRAME_HEAD_BYTES..])
            }
            _ => None,
        };
        let mut block = block.unwrap_or_else(|| self.open(stream));
        // A frame of another kind or stream within a block has no fragment.
        let decoded = match fragment {
            Some(fragment) => self.hpack.decode(fragment, &mut block.list),
            None => Err(CompressionError),
        };
        let finished = decoded.and_then(|()| match ends {
            true => self.hpack.finish(),
            false => Ok(()),
        });
        self.pending_frames.extend_from_slice(frame);
        if finished.is_err() {
            // The library finds the same error, and reports it to the client.
            self.is_over = true;
            ready.append(&mut self.pending_frames);
            return;
        }
        if !ends {
            block.continuations += 1;
            block.is_passing |= self.pending_frames.len() > self.list_bytes_max
                || block.continuations > CONTINUATIONS_MAX;
            if block.is_passing {
                ready.append(&mut self.pending_frames);
            }
            self.block = Some(block);
            return;
        }
        if let Some(refusal) = self.refusal_of(&block) {
            self.pending_frames
                .truncate(self.pending_frames.len() - frame.len());
            append_extended(&mut self.pending_frames, frame, &refusal);
        }
        ready.append(&mut self.pending_frames);
        self.pending_frames.shrink_to(PARTIAL_BYTES);
    }

    fn open(&mut self, stream: u32) -> UnfinishedHeaderBlock {
        let is_trailers = stream <= self.newest_stream;
        self.newest_stream = self.newest_stream.max(stream);
        UnfinishedHeaderBlock {
            stream,
            is_trailers,
            list: FieldBlockTotals::default(),
            continuations: 0,
            is_passing: false,
        }
    }

    /// The fields to append to a block that is to be rejected.
    fn refusal_of(&mut self, block: &UnfinishedHeaderBlock) -> Option<Vec<u8>> {
        let list = &block.list;
        let is_large =
            block.is_passing || list.fields > FIELDS_MAX || list.bytes >= self.list_bytes_max;
        if block.is_trailers {
            let refused = is_large || list.frames || list.malformed.is_some();
            // A connection-specific field, which HTTP/2 forbids.
            return refused.then(|| literal("connection", b"close"));
        }
        if is_large {
            self.refused_lists += 1;
            let missing = self.list_bytes_max.saturating_sub(list.bytes) / LARGE_FIELD_BYTES;
            return Some(vec![LARGE_FIELD; missing + 1]);
        }
        let malformed = list.malformed?;
        Some(literal(MALFORMED, &[malformed.digit()]))
    }
}

/// The header block fragment of a HEADERS frame; `None` if its padding is malformed.
fn fragment_of(frame: &[u8]) -> Option<&[u8]> {
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
fn literal(name: &str, value: &[u8]) -> Vec<u8> {
    let mut field = vec![0, name.len() as u8];
    field.extend_from_slice(name.as_bytes());
    field.push(value.len() as u8);
    field.extend_from_slice(value);
    field
}

/// Appends the last frame of a header block, extended by `fields`: in the same frame if they fit, since the library
/// accepts no CONTINUATION after a frame that is malformed itself.
fn append_extended(block: &mut Vec<u8>, frame: &[u8], fields: &[u8]) {
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
