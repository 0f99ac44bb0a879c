//! HTTP/2 frames as far as the inspection needs them (RFC 9113, section 4.1).

pub(super) const FRAME_HEAD_BYTES: usize = 9;

/// The maximum payload that the library announces; it ends a connection with a larger frame.
pub(super) const FRAME_BYTES_MAX: usize = 16 << 10;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const END_STREAM: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const PRIORITY: u8 = 0x20;

/// An error code (RFC 9113, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorCode {
    Protocol = 0x1,
    StreamClosed = 0x5,
    EnhanceYourCalm = 0xb,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameHead {
    /// Length of the payload in bytes.
    pub payload: usize,
    pub kind: u8,
    flags: u8,
    pub stream: u32,
}

impl FrameHead {
    /// Parses the first nine bytes of a frame; `None` if there are fewer.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *frame.first_chunk()?;
        Some(Self {
            payload: u32::from_be_bytes([0, l0, l1, l2]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        })
    }

    /// Whether the frame is the last one of its stream in this direction.
    pub fn ends_stream(&self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0
    }
}

/// Appends a RST_STREAM frame.
pub(super) fn push_reset(frames: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    push(frames, RST_STREAM, stream, &[code as u32]);
}

/// Appends a GOAWAY frame; no stream above `last_stream` was processed.
pub(super) fn push_goaway(frames: &mut Vec<u8>, last_stream: u32, code: ErrorCode) {
    push(frames, GOAWAY, 0, &[last_stream, code as u32]);
}

/// Appends a WINDOW_UPDATE frame that returns `bytes` to the window of the connection.
pub(super) fn push_connection_window(frames: &mut Vec<u8>, bytes: u32) {
    push(frames, WINDOW_UPDATE, 0, &[bytes]);
}

/// Appends a frame without flags, whose payload consists of these words.
fn push(frames: &mut Vec<u8>, kind: u8, stream: u32, words: &[u32]) {
    frames.extend_from_slice(&[0, 0, words.len() as u8 * 4, kind, 0]);
    frames.extend_from_slice(&stream.to_be_bytes());
    for word in words {
        frames.extend_from_slice(&word.to_be_bytes());
    }
}
