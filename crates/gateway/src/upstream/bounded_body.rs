//! Reads a response body into memory, up to a limit.

use super::session::UpstreamSession;
use crate::fault_from;
use bytes::{Bytes, BytesMut};
use headgate_protocol::fault::Fault;

/// A source of body chunks.
pub trait ChunkSource: Send {
    /// The next chunk; `None` at the end.
    ///
    /// # Errors
    /// The body broke off.
    fn next_chunk(&mut self) -> impl Future<Output = Result<Option<Bytes>, Fault>> + Send;
}

/// A body, complete or truncated at the limit.
pub struct BodyReadResult {
    pub bytes: Bytes,
    pub end: BodyEnd,
}

/// Why reading a body stopped.
pub enum BodyEnd {
    /// The body is complete.
    Complete,
    /// The body exceeds the limit.
    TooLong,
    /// The body broke off.
    Broken(Fault),
}

impl ChunkSource for UpstreamSession {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        let chunk = self.read_body().await;
        chunk.map_err(fault_from::upstream)
    }
}

impl BodyReadResult {
    /// A body of which nothing can be used.
    pub fn broken(fault: Fault) -> Self {
        Self {
            bytes: Bytes::new(),
            end: BodyEnd::Broken(fault),
        }
    }

    /// Reads until the end of the body, or until it exceeds `bytes_max` bytes. `declared` is the `content-length` of
    /// the head, or 0.
    pub async fn read(source: &mut impl ChunkSource, declared: usize, bytes_max: usize) -> Self {
        // Growing step by step would hold a large body twice.
        let mut body = BytesMut::with_capacity(declared.min(bytes_max));
        let end = loop {
            match source.next_chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break BodyEnd::Complete,
                Err(fault) => break BodyEnd::Broken(fault),
            }
            if body.len() > bytes_max {
                break BodyEnd::TooLong;
            }
        };
        Self {
            bytes: body.freeze(),
            end,
        }
    }
}
