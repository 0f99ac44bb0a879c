//! What a service decides.

use headgate_protocol::fault::ServiceDenialStatus;

/// What a service decides about a request or response.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<T> {
    /// It may continue, with these changes.
    Continue(T),
    Deny(ServiceDenial),
}

/// Why a service denies a request or response.
#[derive(Debug, PartialEq, Eq)]
pub struct ServiceDenial {
    pub status: ServiceDenialStatus,
    /// For the caller.
    pub message: Option<String>,
}
