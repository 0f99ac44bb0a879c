//! The part of a request's body that is still to come, and its framing (RFC 9112, sections 6 and 7).

use super::read_error::Http1ReadError;
use bytes::{Buf, Bytes, BytesMut};
use headgate_http_body::chunk_grammar::{ChunkGrammar, ChunkScanResult};

/// How a body ends, as determined by the head check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    /// In bytes.
    Length(u64),
    Chunked,
}

/// The part of a body that is still to come.
#[derive(Default)]
pub enum Http1RequestBody {
    #[default]
    Ended,
    /// This many bytes, more than 0.
    Length(u64),
    Chunked(ChunkGrammar),
    /// The head was not accepted: what follows cannot be read, only discarded.
    Refused,
}

impl Http1RequestBody {
    pub fn new(framing: BodyFraming) -> Self {
        match framing {
            BodyFraming::Length(0) => Self::Ended,
            BodyFraming::Length(bytes) => Self::Length(bytes),
            BodyFraming::Chunked => Self::Chunked(ChunkGrammar::default()),
        }
    }

    /// How many bytes are missing of a body of declared length; `None` if none is, or the body is of another kind.
    pub fn bytes_left(&self) -> Option<u64> {
        match self {
            Self::Length(left) => Some(*left),
            _ => None,
        }
    }

    /// How many of `available` bytes belong to a body of declared length.
    pub fn bytes_within(&self, available: usize) -> usize {
        let left = self.bytes_left().unwrap_or(0);
        usize::try_from(left).map_or(available, |left| left.min(available))
    }

    /// Counts bytes of a body of declared length that have arrived.
    pub fn count(&mut self, bytes: usize) {
        if let Self::Length(left) = self {
            *left -= bytes as u64;
            if *left == 0 {
                *self = Self::Ended;
            }
        }
    }

    /// Takes from `received` what it has of a chunked body, and returns the data; empty if more must be read first.
    ///
    /// # Errors
    /// The bytes violate the grammar of chunks.
    pub fn take_chunks(&mut self, received: &mut BytesMut) -> Result<Bytes, Http1ReadError> {
        let Self::Chunked(grammar) = self else {
            return Ok(Bytes::new());
        };
        let mut data = BytesMut::with_capacity(received.len());
        let mut at = 0;
        let end = loop {
            match grammar.scan(received, at) {
                ChunkScanResult::Data(range) => {
                    at = range.end;
                    data.extend_from_slice(&received[range]);
                }
                ChunkScanResult::Open => break received.len(),
                ChunkScanResult::End(end) => {
                    *self = Self::Ended;
                    break end;
                }
                ChunkScanResult::Violation => return Err(Http1ReadError::Chunks),
            }
        };
        received.advance(end);
        Ok(data.freeze())
    }
}
