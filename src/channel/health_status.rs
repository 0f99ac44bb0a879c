//! Health status: whether something may be used, and as the admin pages show it, with times and the last error.

use super::clock::MonotonicTime;
use super::outcome::{AttemptFailure, FailureReason};
use http::StatusCode;
use std::time::SystemTime;

/// The health at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthStatus {
    Healthy,
    /// The cool-down is over: one request or probe may test it.
    HalfOpen {
        /// The reason of the cool-down.
        reason: FailureReason,
    },
    CoolingDown {
        until: MonotonicTime,
        reason: FailureReason,
        /// The cool-down is over, and a request or probe that tests it is in flight.
        is_tested: bool,
        /// Whether it may be used as a last resort, if nothing else is usable: false if the provider sent Retry-After
        /// or refused a credential.
        allows_last_resort: bool,
    },
}

/// Health as the admin pages show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthReport {
    pub status: HealthStatus,
    /// When it stopped being healthy; none while it is.
    pub since: Option<SystemTime>,
    /// The end of the cool-down; none if there is none, or if it is over.
    pub until: Option<SystemTime>,
    /// The last failure, also after recovery.
    pub last_error: Option<LastError>,
}

/// A failure that counted against the health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    pub at: SystemTime,
    pub reason: FailureReason,
    /// Of the provider's response, if there was one.
    pub status: Option<StatusCode>,
    /// Of the request or probe.
    pub request_id: Box<str>,
}

impl HealthStatus {
    /// The word for the admin pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::HalfOpen { .. }
            | Self::CoolingDown {
                is_tested: true, ..
            } => "half_open",
            Self::CoolingDown { reason, .. } if reason.concerns_credential() => "unhealthy",
            Self::CoolingDown { .. } => "cooling_down",
        }
    }

    /// Why it is not healthy.
    pub fn reason(self) -> Option<FailureReason> {
        match self {
            Self::Healthy => None,
            Self::HalfOpen { reason } | Self::CoolingDown { reason, .. } => Some(reason),
        }
    }
}

impl HealthReport {
    /// Of what never failed.
    pub fn healthy() -> Self {
        Self {
            status: HealthStatus::Healthy,
            since: None,
            until: None,
            last_error: None,
        }
    }
}

impl LastError {
    pub(super) fn now(failure: &AttemptFailure, request_id: &str) -> Self {
        Self {
            at: SystemTime::now(),
            reason: failure.reason,
            status: failure.status,
            request_id: request_id.into(),
        }
    }
}
