//! How calls of services end, and who records it.

use super::client::ServiceCallError;
use super::verdict::Verdict;
use std::time::Duration;

/// How a call of a service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The request or response may continue, perhaps with changes.
    Continue,
    Deny,
    /// No response within the timeout.
    Timeout,
    ConnectError,
    /// The connection broke before the response was complete.
    ConnectionClosed,
    /// The response of the service has another form, or proposes what the service may not change.
    InvalidResponse,
    /// As many calls as allowed were in flight until the timeout.
    Saturated,
    /// The circuit breaker is open.
    BreakerOpen,
    /// There is more to decide about than may be sent, or it cannot be read.
    NotSent,
}

/// A call without a usable response.
#[derive(Debug)]
pub struct CallFailure {
    pub outcome: CallOutcome,
    /// For operators.
    pub detail: String,
    /// Whether the service did not decide because it was not reached: it, or a proxy before it, is away or overloaded.
    pub is_unreachable: bool,
}

/// Records calls, for metrics.
pub trait CallRecorder: Send + Sync {
    fn record(&self, service: &str, outcome: CallOutcome, duration: Duration);
}

impl CallOutcome {
    /// The outcome of a call.
    pub fn from_result<T>(called: &Result<Verdict<T>, CallFailure>) -> Self {
        match called {
            Ok(Verdict::Continue(_)) => Self::Continue,
            Ok(Verdict::Deny(_)) => Self::Deny,
            Err(failed) => failed.outcome,
        }
    }

    /// The value in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Continue => "continued",
            Self::Deny => "denied",
            Self::Timeout => "timeout",
            Self::ConnectError => "connect_error",
            Self::ConnectionClosed => "connection_closed",
            Self::InvalidResponse => "invalid_response",
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
            is_unreachable: matches!(
                outcome,
                CallOutcome::Timeout
                    | CallOutcome::ConnectError
                    | CallOutcome::ConnectionClosed
                    | CallOutcome::Saturated
            ),
        }
    }
}

impl From<ServiceCallError> for CallFailure {
    fn from(error: ServiceCallError) -> Self {
        let outcome = match error {
            ServiceCallError::Connect(_) => CallOutcome::ConnectError,
            ServiceCallError::Timeout(_) => CallOutcome::Timeout,
            ServiceCallError::ConnectionClosed(_) => CallOutcome::ConnectionClosed,
            ServiceCallError::InvalidResponse(_) => CallOutcome::InvalidResponse,
        };
        Self::new(outcome, error.to_string())
    }
}
