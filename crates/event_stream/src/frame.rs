//! A frame, and its checks.

use crate::headers::{FrameHeader, FrameHeaderValue, FrameHeaders, check_headers};
use crate::invalid_frame::InvalidFrame;
use bytes::Bytes;

/// A frame whose checksums and headers are right.
#[derive(Clone, Debug)]
pub struct Frame {
    headers: Bytes,
    pub payload: Bytes,
}

/// The lengths at the start of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prelude {
    pub frame_bytes: usize,
    headers_bytes: usize,
}

/// Two lengths and their checksum.
pub(crate) const PRELUDE_BYTES: usize = 12;
/// The checksum at the end of a frame.
const CHECKSUM_BYTES: usize = 4;
/// What a frame has besides its headers and payload, in bytes.
const OVERHEAD_BYTES: usize = PRELUDE_BYTES + CHECKSUM_BYTES;
/// The most bytes of headers that the format allows.
const HEADERS_BYTES_MAX: usize = 128 << 10;

impl Frame {
    /// Takes the bytes of a whole frame apart.
    ///
    /// # Errors
    /// They are no frame.
    pub(crate) fn parse(mut bytes: Bytes, prelude: Prelude) -> Result<Self, InvalidFrame> {
        let checksum = bytes.split_off(bytes.len() - CHECKSUM_BYTES);
        if crc32fast::hash(&bytes) != big_endian(&checksum) {
            return Err(InvalidFrame::Checksum);
        }
        let mut headers = bytes.split_off(PRELUDE_BYTES);
        let payload = headers.split_off(prelude.headers_bytes);
        check_headers(&headers)?;
        Ok(Self { headers, payload })
    }

    pub fn headers(&self) -> impl Iterator<Item = FrameHeader<'_>> {
        // Malformed headers were refused when the frame was parsed.
        FrameHeaders::new(&self.headers).map_while(Result::ok)
    }

    /// The text of a header; `None` if there is no such header, or its value is no text.
    pub fn text(&self, name: &str) -> Option<&str> {
        let header = self.headers().find(|header| header.name == name)?;
        match header.value {
            FrameHeaderValue::Text(text) => Some(text),
            FrameHeaderValue::Bool(_)
            | FrameHeaderValue::Byte(_)
            | FrameHeaderValue::Short(_)
            | FrameHeaderValue::Integer(_)
            | FrameHeaderValue::Long(_)
            | FrameHeaderValue::Bytes(_)
            | FrameHeaderValue::Timestamp(_)
            | FrameHeaderValue::Uuid(_) => None,
        }
    }
}

impl Prelude {
    /// # Errors
    /// The checksum is wrong, or a length is none that a frame of at most `frame_bytes_max` can have.
    pub(crate) fn parse(
        bytes: &[u8; PRELUDE_BYTES],
        frame_bytes_max: usize,
    ) -> Result<Self, InvalidFrame> {
        let (lengths, checksum) = bytes.split_at(PRELUDE_BYTES - CHECKSUM_BYTES);
        if crc32fast::hash(lengths) != big_endian(checksum) {
            return Err(InvalidFrame::PreludeChecksum);
        }
        let (frame, headers) = lengths.split_at(lengths.len() / 2);
        let (frame, headers) = (big_endian(frame), big_endian(headers));
        let frame_bytes = usize::try_from(frame).unwrap_or(usize::MAX);
        if !(OVERHEAD_BYTES..=frame_bytes_max.max(OVERHEAD_BYTES)).contains(&frame_bytes) {
            return Err(InvalidFrame::Length(frame));
        }
        let headers_bytes = usize::try_from(headers).unwrap_or(usize::MAX);
        if headers_bytes > HEADERS_BYTES_MAX.min(frame_bytes - OVERHEAD_BYTES) {
            return Err(InvalidFrame::HeadersLength(headers));
        }
        Ok(Self {
            frame_bytes,
            headers_bytes,
        })
    }
}

/// The number in four bytes.
fn big_endian(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}
