//! A local reply whose body is produced piece by piece, so that a large one is never in memory as a whole.

use bytes::Bytes;
use headgate_protocol::fault::Fault;
use http::{HeaderMap, StatusCode};
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// A response that the gateway makes itself.
pub struct StreamedReply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// Bytes of the body; `None` if they are known only at its end.
    pub length: Option<u64>,
    /// `None` if only the head is sent, as for HEAD.
    pub body: Option<Box<dyn ReplyBodyReader>>,
}

/// Reads the body of a [`StreamedReply`], `length` bytes in all if that is known.
pub trait ReplyBodyReader: Send {
    /// The next piece; `None` at the end.
    fn next_piece(&mut self) -> ReplyPieceFuture<'_>;
}

/// A piece that is being read.
pub type ReplyPieceFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Bytes>, Fault>> + Send + 'a>>;

impl fmt::Debug for StreamedReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamedReply")
            .field("status", &self.status)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
