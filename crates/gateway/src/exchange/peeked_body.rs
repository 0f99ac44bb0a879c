//! The start of a body that is examined while it arrives, in linear time however small its chunks are.

use bytes::{Bytes, BytesMut};

/// What of a body has arrived.
pub(super) struct PeekedBody {
    /// Most bodies are one chunk, which is not copied.
    first: Bytes,
    /// All chunks, from the second one on.
    joined: BytesMut,
    /// The length at which the start was examined last, in bytes.
    examined: usize,
}

impl PeekedBody {
    pub(super) fn new(first: Bytes) -> Self {
        Self {
            first,
            joined: BytesMut::new(),
            examined: 0,
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        if self.joined.is_empty() {
            self.joined.extend_from_slice(&self.first);
        }
        self.joined.extend_from_slice(chunk);
    }

    pub(super) fn len(&self) -> usize {
        self.start().len()
    }

    /// The start, if it has twice the length of the one that was examined last.
    pub(super) fn grown_start(&mut self) -> Option<&[u8]> {
        let length = self.len();
        if length < self.examined * 2 {
            return None;
        }
        self.examined = length;
        Some(self.start())
    }

    /// The whole body.
    pub(super) fn into_bytes(self) -> Bytes {
        match self.joined.is_empty() {
            true => self.first,
            false => self.joined.freeze(),
        }
    }

    pub(super) fn start(&self) -> &[u8] {
        match self.joined.is_empty() {
            true => &self.first,
            false => &self.joined,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_examined_again_once_it_has_twice_the_length() {
        let mut body = PeekedBody::new(Bytes::from_static(b"{"));
        let mut examined = Vec::new();
        for _ in 0..1000 {
            examined.extend(body.grown_start().map(<[u8]>::len));
            body.push(b" ");
        }
        assert_eq!(examined, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
        assert_eq!(body.into_bytes().len(), 1001);
    }
}
