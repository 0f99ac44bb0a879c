//! The fingerprint of a request, by which an error that one request may have provoked is told from one that others get, too.

use crate::catalog::caller::Callers;
use crate::channel::evidence::RequestFingerprint;
use crate::filter::view::RequestView;
use foldhash::fast::FixedState;
use std::hash::BuildHasher;

/// The fingerprint of `request`. Computed only for an error, since it hashes the body.
pub(super) fn request_fingerprint(request: &RequestView, callers: &Callers) -> RequestFingerprint {
    let hasher = FixedState::default();
    let caller = request.caller.as_deref();
    RequestFingerprint {
        caller: hasher.hash_one(caller.map(|caller| &*caller.name)),
        body: hasher.hash_one(request.body.bytes()),
        is_sole_caller: callers
            .iter()
            .all(|other| caller.is_some_and(|caller| other.name == caller.name)),
    }
}
