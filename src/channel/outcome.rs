//! The outcome of an attempt, as input for the health of its channel.

use crate::protocol::error_class::ErrorClass;
use std::time::Duration;

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The provider works. It may have refused the caller's request.
    Success,
    Failure {
        reason: FailureReason,
        /// The provider's Retry-After.
        retry_after: Option<Duration>,
    },
}

/// The reason of a failure that counts against a channel, a model or a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// No connection could be made.
    ConnectError,
    /// The connection closed before the response was complete.
    ConnectionReset,
    /// The provider did not respond in time.
    Timeout,
    /// A status of 500 or above, an error as the first event, or a response that is invalid in its protocol.
    ServerError,
    RateLimited,
    RefusedCredential,
    RefusedAccount,
    ModelNotFound,
}

/// The part of a channel that a failure counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthScope {
    Channel,
    /// The model on this channel.
    Model,
    /// The credential that was sent.
    Credential,
}

impl AttemptOutcome {
    pub fn failure(reason: FailureReason) -> Self {
        Self::Failure {
            reason,
            retry_after: None,
        }
    }

    /// The outcome for an error response of the provider.
    pub fn of(error_class: ErrorClass, retry_after: Option<Duration>) -> Self {
        let reason = match error_class {
            ErrorClass::InvalidRequest => return Self::Success,
            ErrorClass::RateLimited => FailureReason::RateLimited,
            ErrorClass::ServerError => FailureReason::ServerError,
            ErrorClass::RefusedCredential => FailureReason::RefusedCredential,
            ErrorClass::RefusedAccount => FailureReason::RefusedAccount,
            ErrorClass::ModelNotFound => FailureReason::ModelNotFound,
        };
        Self::Failure {
            reason,
            retry_after,
        }
    }
}

impl FailureReason {
    /// The name in metrics, logs and on the admin pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectError => "connect_error",
            Self::ConnectionReset => "connection_closed",
            Self::Timeout => "timeout",
            Self::ServerError => "server_error",
            Self::RateLimited => "rate_limited",
            Self::RefusedCredential => "refused_credential",
            Self::RefusedAccount => "refused_account",
            Self::ModelNotFound => "model_unavailable",
        }
    }

    /// The scope of the reason. A rate limit counts against the credential if the channel has several.
    pub fn scope(self, keys: usize) -> HealthScope {
        match self {
            Self::ConnectError => HealthScope::Channel,
            Self::ConnectionReset | Self::Timeout | Self::ServerError | Self::ModelNotFound => {
                HealthScope::Model
            }
            Self::RateLimited if keys > 1 => HealthScope::Credential,
            Self::RateLimited => HealthScope::Model,
            Self::RefusedCredential | Self::RefusedAccount => HealthScope::Credential,
        }
    }

    /// Whether the provider refused the gateway's credential or account.
    pub fn concerns_credential(self) -> bool {
        matches!(self, Self::RefusedCredential | Self::RefusedAccount)
    }

    /// Whether a single failure starts a cool-down, because the provider itself reported the reason.
    pub fn cools_down_at_once(self) -> bool {
        match self {
            Self::RateLimited
            | Self::RefusedCredential
            | Self::RefusedAccount
            | Self::ModelNotFound => true,
            Self::ConnectError | Self::ConnectionReset | Self::Timeout | Self::ServerError => false,
        }
    }
}
