//! Errors that replace a provider's response.

use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::redact::redact;
use http::StatusCode;
use std::time::Duration;

/// The provider refused the gateway's credential or account; the caller's key is valid.
pub(crate) fn refused_account_fault(status: StatusCode) -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider refused the gateway's credential or account; tell the operator of this gateway",
    )
    .detail(format!("provider status {status}"))
}

/// The error that replaces a provider's error response.
pub(super) fn failed_response_fault(status: StatusCode) -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider returned an error; try again",
    )
    .detail(format!("provider status {status}"))
}

/// The error for a response that is not of the protocol. Its first bytes go into the log.
pub(crate) fn foreign_body_fault(body: &[u8]) -> Fault {
    const SHOWN_BYTES: usize = 200;
    let beginning = &body[..body.len().min(SHOWN_BYTES)];
    Fault::new(
        FaultKind::Upstream,
        "the provider's response is not JSON; try again, and tell the operator of this gateway if the error persists",
    )
    .detail(format!("response begins with: {}", String::from_utf8_lossy(&redact(beginning, &[]))))
}

/// The error for a redirect or another unexpected status. The usual cause is a wrong `base_url`.
pub(crate) fn unexpected_status_fault(status: StatusCode) -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider's response does not follow the protocol; tell the operator of this gateway",
    )
    .detail(format!(
        "provider status {status}; check the channel's `base_url`"
    ))
}

/// The error for a response that was not ready in time, although it had begun.
pub(super) fn too_slow(max_wait: Duration) -> Fault {
    Fault::new(
        FaultKind::UpstreamTimeout,
        "the provider stopped sending its response; try again",
    )
    .detail(format!("the response was not ready after {max_wait:?}"))
}

/// The error for a response that cannot be shown to a filter that must see it.
pub(super) fn unchecked_response_fault(reason: &str) -> Fault {
    Fault::new(
        FaultKind::CheckUnavailable,
        "the provider's response cannot be checked; tell the operator of this gateway",
    )
    .detail(format!("the response cannot be checked: {reason}"))
}
