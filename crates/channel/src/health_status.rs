//! Health status, and the report about it for the admin pages, with times and the last error.

use super::clock::MonotonicTime;
use super::outcome::{AttemptFailure, ConnectFailure, FailureReason};
use super::unconfirmed_failures::UnconfirmedFailures;
use http::StatusCode;
use std::time::SystemTime;

/// The health at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthStatus {
    Healthy,
    /// The cool-down is over: one request or probe may try.
    HalfOpen {
        /// The reason of the cool-down.
        reason: FailureReason,
    },
    CoolingDown {
        until: MonotonicTime,
        reason: FailureReason,
        /// Whether the cool-down is over and a trial is in flight.
        is_tested: bool,
        /// Whether it may be used as a last resort, if nothing else is usable: false if the provider sent Retry-After
        /// or refused a credential.
        allows_last_resort: bool,
    },
}

/// The health for the admin pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthReport {
    pub status: HealthStatus,
    /// When it became unhealthy; `None` while it is healthy.
    pub since: Option<SystemTime>,
    /// The end of the cool-down; `None` if there is none or it is over.
    pub until: Option<SystemTime>,
    /// The last failure, which is kept after recovery.
    pub last_error: Option<LastError>,
    /// Failures since the last success that do not count, since one request may have provoked them.
    pub unconfirmed: Option<UnconfirmedFailures>,
}

/// A failure that counted against the health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    pub at: SystemTime,
    pub reason: FailureReason,
    /// The status of the provider's response, if there was one.
    pub status: Option<StatusCode>,
    /// Where the connection failed, if none could be made.
    pub connect: Option<ConnectFailure>,
    /// The id of the request or probe.
    pub request_id: Box<str>,
}

impl HealthStatus {
    /// The name on the admin pages.
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

    /// The reason of the cool-down; `None` if healthy.
    pub fn reason(self) -> Option<FailureReason> {
        match self {
            Self::Healthy => None,
            Self::HalfOpen { reason } | Self::CoolingDown { reason, .. } => Some(reason),
        }
    }
}

impl HealthReport {
    /// The health of a channel, model or credential that never failed.
    pub fn healthy() -> Self {
        Self {
            status: HealthStatus::Healthy,
            since: None,
            until: None,
            last_error: None,
            unconfirmed: None,
        }
    }
}

impl LastError {
    pub(super) fn now(failure: &AttemptFailure, request_id: &str) -> Self {
        Self {
            at: SystemTime::now(),
            reason: failure.reason,
            status: failure.status,
            connect: failure.connect,
            request_id: request_id.into(),
        }
    }
}
