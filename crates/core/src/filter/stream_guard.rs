//! What may end a stream that has begun, since its budget is used up.

use super::view::RequestView;
use headgate_protocol::fault::Fault;
use std::sync::Arc;

/// Decides whether a stream of one exchange goes on.
pub trait StreamGuard: Send + Sync {
    /// Runs after each piece of the stream, and each second while its provider is silent. Never waits.
    ///
    /// # Errors
    /// The stream ends here, after the events that the caller has.
    fn check(&self, request: &RequestView) -> Result<(), Fault>;
}

/// A stream that a filter may end; in [`RequestFilterValues`](super::state::RequestFilterValues), as few exchanges have one.
pub struct GuardedStream(pub Arc<dyn StreamGuard>);
