//! Faults that stand for a provider's response which callers do not get.

use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::redact::redact;
use http::StatusCode;

/// The provider refused the gateway, not the caller, whose own key is good.
pub(in crate::gateway) fn refused_account_fault(status: StatusCode) -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider refused the gateway's credential or account; tell the operator of this gateway",
    )
    .detail(format!("provider status {status}"))
}

/// The fault of an error response that callers do not get.
pub(super) fn failed_response_fault(status: StatusCode) -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider returned an error; try again",
    )
    .detail(format!("provider status {status}"))
}

/// The fault of an answer that is not the protocol's; its beginning is for the log.
pub(in crate::gateway) fn foreign_body_fault(body: &[u8]) -> Fault {
    const SHOWN_BYTES: usize = 200;
    let beginning = &body[..body.len().min(SHOWN_BYTES)];
    Fault::new(
        FaultKind::Upstream,
        "the provider's response is not JSON; try again, and tell the operator of this gateway if the error persists",
    )
    .detail(format!("response begins with: {}", String::from_utf8_lossy(&redact(beginning, &[]))))
}

/// The fault of a redirect and the like: a base URL is wrong more often than a provider.
pub(in crate::gateway) fn unexpected_status_fault(status: StatusCode) -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider's response does not follow the protocol; tell the operator of this gateway",
    )
    .detail(format!(
        "provider status {status}; check the channel's `base_url`"
    ))
}
