//! Inspects each header block of an HTTP/2 client as a whole, before the HTTP/2 library stores it.
//!
//! Valid blocks pass unchanged. To the others the inspector appends fields for which the library or the gateway rejects
//! that one request. It cannot drop a block, since all blocks of a connection share the HPACK state.
//!
//! Frames on streams that the client has closed itself are answered here (RFC 9113, sections 5.1 and 5.1.1).

use super::field::{FIELDS_MAX, FieldBlockTotals};
use super::frame::{
    CONTINUATION, DATA, END_HEADERS, ErrorCode, FRAME_BYTES_MAX, FRAME_HEAD_BYTES, FrameHead,
    HEADERS, RST_STREAM, push_connection_window, push_goaway, push_reset,
};
use super::header_block::{append_extended, header_fragment, literal};
use super::hpack::{CompressionError, HpackFieldInspector};
use super::stream_states::{ClientStreamState, ClientStreamStates};

/// The field that is appended to a malformed head. A client that sends this field gets its own request rejected.
pub const MALFORMED: &str = "headgate-malformed";

const PREFACE_BYTES: usize = 24;
/// Capacity that is kept for an incomplete frame.
const PARTIAL_BYTES: usize = 1 << 10;
/// Number of frames of a header block after which the library limits them itself.
const CONTINUATIONS_MAX: u32 = 8;

/// Maximum size of the frames that wait to be sent; a client that does not read them has its connection closed.
const REPLIES_BYTES_MAX: usize = 16 << 10;

/// One byte that decodes to `accept-encoding: gzip, deflate`. Repeated, it makes a list too large for the library.
const LARGE_FIELD: u8 = 0x80 | 16;
const LARGE_FIELD_BYTES: usize = 60;

/// Follows the bytes of one connection, starting with the preface.
#[derive(Debug)]
pub struct Http2Inspector {
    /// Number of following bytes that pass without inspection.
    pass: usize,
    /// Number of following bytes that the library does not get.
    discard: usize,
    /// A frame that the library gets in place of discarded ones.
    substitute: Vec<u8>,
    /// The start of a frame that is inspected as a whole.
    partial: Vec<u8>,
    /// Frames of the open header block, kept until its end.
    pending_frames: Vec<u8>,
    block: Option<UnfinishedHeaderBlock>,
    streams: ClientStreamStates,
    /// Frames for the client that wait to be sent.
    replies: Vec<u8>,
    hpack: HpackFieldInspector,
    list_bytes_max: usize,
    /// The library will end the connection because of a frame that has passed.
    is_over: bool,
    refused_lists: u32,
}

/// Kind and length of the segment at the start of the received bytes.
enum SegmentTreatment {
    Uninspected(usize),
    Discarded(usize),
    HeaderFrame(usize),
}

/// A header block whose last frame has not arrived.
#[derive(Debug)]
struct UnfinishedHeaderBlock {
    stream: u32,
    role: HeaderBlockRole,
    list: FieldBlockTotals,
    continuations: u32,
    /// The block exceeds a limit: its frames pass at once, and it is rejected at its end.
    is_passing: bool,
}

/// What a header block is in its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderBlockRole {
    Request,
    Trailers,
    /// The stream takes no header block any more.
    AfterEnd,
}

impl Http2Inspector {
    /// Header lists may have `list_bytes_max` bytes, the limit that the library is configured with.
    pub fn new(list_bytes_max: usize) -> Self {
        Self {
            pass: PREFACE_BYTES,
            discard: 0,
            substitute: Vec::new(),
            partial: Vec::new(),
            pending_frames: Vec::new(),
            block: None,
            streams: ClientStreamStates::default(),
            replies: Vec::new(),
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
            while let Some(SegmentTreatment::Uninspected(bytes)) =
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
                SegmentTreatment::Uninspected(bytes) => {
                    ready.extend_from_slice(&rest[used..used + bytes]);
                    self.passed(bytes);
                    used += bytes;
                }
                SegmentTreatment::Discarded(bytes) => {
                    ready.append(&mut self.substitute);
                    self.discard -= bytes;
                    used += bytes;
                }
                SegmentTreatment::HeaderFrame(bytes) => {
                    self.header_frame(&rest[used..used + bytes], ready);
                    used += bytes;
                }
            }
        }
        // Not while a frame arrives by the byte: each would copy all bytes before it.
        if used > 0 {
            rest.drain(..used);
            rest.shrink_to(PARTIAL_BYTES);
        }
        self.partial = rest;
        in_place
    }

    /// The states of the streams, and the frames for the client that wait to be sent.
    pub fn output(&mut self) -> (&mut ClientStreamStates, &mut Vec<u8>) {
        (&mut self.streams, &mut self.replies)
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
    fn next_piece(&mut self, bytes: &[u8]) -> Option<SegmentTreatment> {
        if bytes.is_empty() || self.is_over {
            return None;
        }
        if self.pass == 0 && self.discard == 0 {
            let head = FrameHead::parse(bytes)?;
            let frame = FRAME_HEAD_BYTES + head.payload;
            let is_inspected = matches!(head.kind, HEADERS | CONTINUATION) || self.block.is_some();
            if is_inspected && head.payload <= FRAME_BYTES_MAX {
                return (bytes.len() >= frame).then_some(SegmentTreatment::HeaderFrame(frame));
            }
            match self.takes(&head) {
                true => self.pass = frame,
                false => self.discard = frame,
            }
        }
        Some(match self.discard {
            0 => SegmentTreatment::Uninspected(self.pass.min(bytes.len())),
            discard => SegmentTreatment::Discarded(discard.min(bytes.len())),
        })
    }

    /// Whether the library gets a frame that is not part of a header block. If not, the client gets the error.
    fn takes(&mut self, frame: &FrameHead) -> bool {
        if !matches!(frame.kind, DATA | RST_STREAM) || frame.stream & 1 == 0 {
            return true;
        }
        match (frame.kind, self.streams.state(frame.stream)) {
            (DATA, state @ (ClientStreamState::HalfClosed | ClientStreamState::ResetByClient)) => {
                self.refuse_late_frame(frame.stream, state);
                if frame.payload > 0 && frame.payload <= FRAME_BYTES_MAX {
                    push_connection_window(&mut self.replies, frame.payload as u32);
                }
                false
            }
            (DATA, ClientStreamState::Ended) => {
                self.close(ErrorCode::StreamClosed);
                false
            }
            _ => {
                self.streams.follow_client(frame);
                true
            }
        }
    }

    /// Answers a frame on a stream that the client has ended or reset: a stream error. For the library, the client resets
    /// a stream that is still open.
    fn refuse_late_frame(&mut self, stream: u32, state: ClientStreamState) {
        push_reset(&mut self.replies, stream, ErrorCode::StreamClosed);
        if state == ClientStreamState::HalfClosed {
            let at = self.substitute.len();
            push_reset(&mut self.substitute, stream, ErrorCode::StreamClosed);
            if let Some(reset) = FrameHead::parse(&self.substitute[at..]) {
                self.streams.follow_client(&reset);
            }
        }
        if self.replies.len() > REPLIES_BYTES_MAX {
            self.close(ErrorCode::EnhanceYourCalm);
        }
    }

    /// Ends the connection with an error.
    fn close(&mut self, code: ErrorCode) {
        push_goaway(&mut self.replies, self.streams.newest(), code);
        self.is_over = true;
    }

    fn passed(&mut self, bytes: usize) {
        self.pass -= bytes;
    }

    /// Inspects a complete frame of a header block.
    fn header_frame(&mut self, frame: &[u8], ready: &mut Vec<u8>) {
        let ends = frame[4] & END_HEADERS != 0;
        let stream = FrameHead::parse(frame).map_or(0, |head| head.stream);
        let block = self.block.take();
        let fragment = match (&block, frame[3]) {
            (None, HEADERS) => header_fragment(frame),
            (Some(block), CONTINUATION) if block.stream == stream => {
                Some(&frame[FRAME_HEAD_BYTES..])
            }
            _ => None,
        };
        let Some(mut block) = block.or_else(|| self.open(frame, ready)) else {
            return;
        };
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
        if let Some(refusal) = self.rejection_fields(&block) {
            self.pending_frames
                .truncate(self.pending_frames.len() - frame.len());
            append_extended(&mut self.pending_frames, frame, &refusal);
        }
        ready.append(&mut self.pending_frames);
        self.pending_frames.shrink_to(PARTIAL_BYTES);
    }

    /// Begins a header block with its first frame; `None` if that ends the connection.
    fn open(&mut self, frame: &[u8], ready: &mut Vec<u8>) -> Option<UnfinishedHeaderBlock> {
        let head = FrameHead::parse(frame)?;
        // The library ends the connection for a stream id of the server's, and for a CONTINUATION without a start.
        let role = match head.kind == HEADERS && head.stream & 1 == 1 {
            true => self.role_in_stream(&head, ready)?,
            false => HeaderBlockRole::Request,
        };
        Some(UnfinishedHeaderBlock {
            stream: head.stream,
            role,
            list: FieldBlockTotals::default(),
            continuations: 0,
            is_passing: false,
        })
    }

    fn role_in_stream(&mut self, head: &FrameHead, ready: &mut Vec<u8>) -> Option<HeaderBlockRole> {
        let state = self.streams.state(head.stream);
        let role = match state {
            ClientStreamState::Idle => {
                self.streams.open(head.stream);
                HeaderBlockRole::Request
            }
            ClientStreamState::Open => HeaderBlockRole::Trailers,
            ClientStreamState::HalfClosed | ClientStreamState::ResetByClient => {
                self.refuse_late_frame(head.stream, state);
                ready.append(&mut self.substitute);
                HeaderBlockRole::AfterEnd
            }
            ClientStreamState::ResetByServer => HeaderBlockRole::AfterEnd,
            ClientStreamState::Ended => {
                self.close(ErrorCode::StreamClosed);
                return None;
            }
            ClientStreamState::Skipped => {
                self.close(ErrorCode::Protocol);
                return None;
            }
        };
        self.streams.follow_client(head);
        Some(role)
    }

    /// The fields to append to a block that is to be rejected.
    fn rejection_fields(&mut self, block: &UnfinishedHeaderBlock) -> Option<Vec<u8>> {
        let list = &block.list;
        let is_large =
            block.is_passing || list.fields > FIELDS_MAX || list.bytes >= self.list_bytes_max;
        if block.role != HeaderBlockRole::Request {
            let is_after_end = block.role == HeaderBlockRole::AfterEnd;
            let refused = is_after_end || is_large || list.frames || list.malformed.is_some();
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
