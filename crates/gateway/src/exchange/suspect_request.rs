//! A request that may have provoked the error that it got, with what tells that error from one that others get, too.

use foldhash::fast::FixedState;
use headgate_channel::evidence::{RequestFingerprint, SuspectRequest};
use headgate_core::catalog::caller::Callers;
use headgate_core::filter::view::RequestView;
use headgate_protocol::error_class::may_quote;
use std::hash::BuildHasher;

/// The suspicion against `request`. Computed only for an error, since it hashes and searches the body. Without the bytes of
/// the error, it is not known what the error quotes.
pub(super) fn suspect_request(
    request: &RequestView,
    callers: &Callers,
    error: Option<&[u8]>,
) -> SuspectRequest {
    let hasher = FixedState::default();
    let caller = request.caller.as_deref();
    let body = request.body.bytes();
    let fingerprint = RequestFingerprint {
        caller: hasher.hash_one(caller.map(|caller| &*caller.name)),
        body: hasher.hash_one(body),
        is_sole_caller: caller.map_or(callers.is_empty(), |caller| callers.is_sole(&caller.name)),
    };
    let is_quoted = match (error, body) {
        (Some(error), Some(body)) => may_quote(error, body),
        _ => true,
    };
    SuspectRequest {
        fingerprint,
        is_quoted,
    }
}
