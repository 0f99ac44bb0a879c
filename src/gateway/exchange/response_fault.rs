//! Faults that stand for a provider's response which callers do not get.

use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::redact::redact;
use http::StatusCode;

/// The provider refused the gateway, not the caller, whose own key is good.
pub(in crate::gateway) fn refused_account_fault(status: StatusCode) -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider does not accept this gateway's account; tell the operator of this gateway",
    )
    .detail(format!("it answered {status}"))
}

/// The fault of an error response that callers do not get.
pub(super) fn failed_response_fault(status: StatusCode) -> Fault {
    Fault::new(FaultKind::Upstream, "the provider failed; try again")
        .detail(format!("it answered {status}"))
}

/// The fault of an answer that is not the protocol's; its beginning is for the log.
pub(in crate::gateway) fn foreign_body_fault(body: &[u8]) -> Fault {
    const SHOWN_BYTES: usize = 200;
    let beginning = &body[..body.len().min(SHOWN_BYTES)];
    Fault::new(
        FaultKind::Upstream,
        "the provider's answer is not JSON; try again, and tell the operator of this gateway if it stays so",
    )
    .detail(format!("it begins with: {}", String::from_utf8_lossy(&redact(beginning, &[]))))
}

/// The fault of a redirect and the like: a base URL is wrong more often than a provider.
pub(in crate::gateway) fn unexpected_status_fault(status: StatusCode) -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider did not answer the request; tell the operator of this gateway",
    )
    .detail(format!(
        "it answered {status}; is the channel's `base_url` right?"
    ))
}
