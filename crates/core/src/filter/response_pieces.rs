//! A response body that is changed piece by piece, as it arrives.

use super::view::RequestView;
use bytes::Bytes;
use std::pin::Pin;

/// What changes the pieces of a successful response without a protocol; a filter puts it into
/// [`RequestFilterValues`](super::state::RequestFilterValues) before the response body is sent.
pub struct ResponsePieces(pub Box<dyn ResponsePieceMapper>);

/// Changes a response body piece by piece.
pub trait ResponsePieceMapper: Send + Sync {
    /// What is sent in place of a piece; it may keep some of it for later, but for the last one, which may be empty.
    fn map(&mut self, piece: Bytes, is_last: bool) -> Bytes;

    /// Runs after the last piece of a complete body, before that is sent.
    fn end<'a>(
        &'a mut self,
        request: &'a mut RequestView,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}
