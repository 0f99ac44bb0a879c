//! How calls of services end, and who records it.

use super::client::ServiceCallError;
use std::time::Duration;

/// How a call of a service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The request or response may continue, perhaps with changes.
    Continued,
    Denied,
    /// No answer within the timeout.
    Timeout,
    ConnectError,
    /// The connection broke before the answer was complete.
    ConnectionClosed,
    /// What the service answered is no answer, or proposes what it may not change.
    InvalidAnswer,
    /// As many calls as allowed were in flight until the timeout.
    Saturated,
    /// The circuit breaker is open.
    BreakerOpen,
    /// There is more to ask about than may be sent, or it cannot be read.
    NotSent,
}

/// A call without a usable answer.
#[derive(Debug)]
pub struct CallFailure {
    pub outcome: CallOutcome,
    /// For operators.
    pub detail: String,
}

/// Records calls, for metrics.
pub trait CallRecorder: Send + Sync {
    fn record(&self, service: &str, outcome: CallOutcome, duration: Duration);
}

impl CallOutcome {
    /// The value in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Continued => "continued",
            Self::Denied => "denied",
            Self::Timeout => "timeout",
            Self::ConnectError => "connect_error",
            Self::ConnectionClosed => "connection_closed",
            Self::InvalidAnswer => "invalid_answer",
            Self::Saturated => "saturated",
            Self::BreakerOpen => "breaker_open",
            Self::NotSent => "not_sent",
        }
    }
}

impl CallFailure {
    pub fn new(outcome: CallOutcome, detail: impl Into<String>) -> Self {
        Self {
            outcome,
            detail: detail.into(),
        }
    }
}

impl From<ServiceCallError> for CallFailure {
    fn from(error: ServiceCallError) -> Self {
        let outcome = match error {
            ServiceCallError::Connect(_) => CallOutcome::ConnectError,
            ServiceCallError::Timeout(_) => CallOutcome::Timeout,
            ServiceCallError::Broken(_) => CallOutcome::ConnectionClosed,
            ServiceCallError::Invalid(_) => CallOutcome::InvalidAnswer,
        };
        Self::new(outcome, error.to_string())
    }
}
