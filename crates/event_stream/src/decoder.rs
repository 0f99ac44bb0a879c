//! Splits the bytes of a stream into frames.

#[cfg(test)]
mod tests;

use crate::frame::{Frame, PRELUDE_BYTES, Prelude};
use crate::invalid_frame::InvalidFrame;
use bytes::Bytes;

/// Splits a stream into frames, wherever its chunks are cut.
///
/// Push a chunk, then call `next` until it returns no frame. A frame within one chunk is a slice of it; any other frame is
/// copied once. Between chunks, only the bytes of one frame that have arrived are kept.
#[derive(Debug)]
pub struct FrameDecoder {
    frame_bytes_max: usize,
    /// The rest of the last chunk.
    chunk: Bytes,
    /// The frame's bytes from earlier chunks.
    carried: Vec<u8>,
    /// The lengths of the current frame, if they have arrived.
    prelude: Option<Prelude>,
    invalid: Option<InvalidFrame>,
}

impl FrameDecoder {
    /// `frame_bytes_max` is the maximum size of a frame with its headers and checksums, in bytes.
    pub fn new(frame_bytes_max: usize) -> Self {
        Self {
            frame_bytes_max,
            chunk: Bytes::new(),
            carried: Vec::new(),
            prelude: None,
            invalid: None,
        }
    }

    /// Adds the next bytes of the stream. Take all frames before the next push, or bytes are copied.
    pub fn push(&mut self, chunk: &Bytes) {
        if self.chunk.is_empty() {
            self.chunk = chunk.clone();
        } else {
            self.chunk = [&self.chunk[..], chunk].concat().into();
        }
    }

    /// The next frame; `None` if more bytes are needed.
    ///
    /// # Errors
    /// The bytes are no frame. No later bytes are.
    #[allow(clippy::should_implement_trait, reason = "more may come after none")]
    pub fn next(&mut self) -> Result<Option<Frame>, InvalidFrame> {
        if let Some(invalid) = self.invalid {
            return Err(invalid);
        }
        let next = self.take_next();
        if let Err(invalid) = next {
            self.invalid = Some(invalid);
            self.carried = Vec::new();
            self.chunk = Bytes::new();
        }
        next
    }

    /// Whether the bytes so far end with a frame. Call it after all frames were taken.
    pub fn is_between_frames(&self) -> bool {
        self.carried.is_empty() && self.chunk.is_empty() && self.invalid.is_none()
    }

    fn take_next(&mut self) -> Result<Option<Frame>, InvalidFrame> {
        let Some(prelude) = self.read_prelude()? else {
            return Ok(None);
        };
        let Some(bytes) = self.take_bytes(prelude.frame_bytes) else {
            return Ok(None);
        };
        self.prelude = None;
        Frame::parse(bytes, prelude).map(Some)
    }

    /// The lengths at the start of the frame, which are checked as soon as they have arrived.
    fn read_prelude(&mut self) -> Result<Option<Prelude>, InvalidFrame> {
        if self.prelude.is_some() {
            return Ok(self.prelude);
        }
        let mut prelude = [0; PRELUDE_BYTES];
        let (carried, missing) = prelude.split_at_mut(self.carried.len());
        let Some(arrived) = self.chunk.get(..missing.len()) else {
            self.carry();
            return Ok(None);
        };
        carried.copy_from_slice(&self.carried);
        missing.copy_from_slice(arrived);
        self.prelude = Some(Prelude::parse(&prelude, self.frame_bytes_max)?);
        Ok(self.prelude)
    }

    fn take_bytes(&mut self, length: usize) -> Option<Bytes> {
        let missing = length - self.carried.len();
        if self.chunk.len() < missing {
            self.carry();
            return None;
        }
        let end = self.chunk.split_to(missing);
        if self.carried.is_empty() {
            return Some(end);
        }
        let mut whole = std::mem::take(&mut self.carried);
        whole.extend_from_slice(&end);
        Some(whole.into())
    }

    /// Keeps the bytes of a frame that is not whole.
    fn carry(&mut self) {
        self.carried.extend_from_slice(&self.chunk);
        self.chunk = Bytes::new();
    }
}
