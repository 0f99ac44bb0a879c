//! What became of an attempt, as far as the health of its channel is concerned.

use crate::protocol::error_class::ErrorClass;
use std::time::Duration;

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The provider did its part; it may have refused what the caller asked for.
    Success,
    Failure {
        reason: FailureReason,
        /// How long the provider wants to be left alone.
        retry_after: Option<Duration>,
    },
}

/// Why a channel, one of its models or one of its keys is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// No connection.
    ConnectError,
    /// The connection broke before the answer was whole.
    ConnectionReset,
    /// No answer in time.
    Timeout,
    /// A status of 500 and above, an error as first event, or no answer of its protocol.
    ServerError,
    RateLimited,
    RefusedCredential,
    RefusedAccount,
    ModelNotFound,
}

/// What of a channel an outcome is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthScope {
    Channel,
    /// The model on this channel.
    Model,
    /// The key that was shown.
    Credential,
}

impl AttemptOutcome {
    pub fn failure(reason: FailureReason) -> Self {
        Self::Failure {
            reason,
            retry_after: None,
        }
    }

    /// What an error that the provider answered with says of its health.
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
    /// The word for metrics, logs and the admin pages.
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

    /// What it is about; a limit is that of a key where there are several.
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

    /// Whether the provider refused the gateway's key or account.
    pub fn concerns_credential(self) -> bool {
        matches!(self, Self::RefusedCredential | Self::RefusedAccount)
    }

    /// Whether one is enough to be left alone: the provider said so itself.
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
