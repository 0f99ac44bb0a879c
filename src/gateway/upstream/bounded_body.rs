//! Reads a response's body into memory, up to a bound.

use crate::gateway::fault_from;
use crate::protocol::fault::Fault;
use bytes::{Bytes, BytesMut};
use pingora_core::protocols::http::client::HttpSession;

/// Where the chunks of a body come from.
pub trait ChunkSource: Send {
    /// The next chunk; `None` at the end.
    ///
    /// # Errors
    /// The body broke off.
    fn next_chunk(&mut self) -> impl Future<Output = Result<Option<Bytes>, Fault>> + Send;
}

/// A body, or as much of one as was asked for.
pub struct BoundedBody {
    pub bytes: Bytes,
    pub end: BodyEnd,
}

/// Why a body was read no further.
pub enum BodyEnd {
    /// It was over.
    Complete,
    /// It is longer than was asked for.
    TooLong,
    /// It broke off.
    Broken(Fault),
}

impl ChunkSource for HttpSession {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        let chunk = self.read_response_body().await;
        chunk.map_err(fault_from::upstream)
    }
}

impl BoundedBody {
    /// Reads until the end, or until there are more than `bytes_max` bytes. `declared` is the length that the
    /// head declares, or 0.
    pub async fn read(source: &mut impl ChunkSource, declared: usize, bytes_max: usize) -> Self {
        // Growing step by step would hold a large one twice.
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
