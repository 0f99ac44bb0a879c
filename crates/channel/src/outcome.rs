//! The outcome of an attempt: one set of names for logs, metrics, cool-downs and the admin pages.

use super::evidence::{FailureEvidence, SuspectRequest};
use headgate_protocol::error_class::{ErrorClass, ErrorClassification, ErrorEvidence};
use http::StatusCode;
use std::time::Duration;

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The provider served the request.
    Success,
    /// The provider refused the request because of what the caller requested; the channel is healthy.
    ClientError,
    /// The channel did not serve the request; counts against its health.
    Failure(AttemptFailure),
}

/// A failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptFailure {
    pub reason: FailureReason,
    /// The status of the provider's response, if there was one.
    pub status: Option<StatusCode>,
    /// The provider's Retry-After.
    pub retry_after: Option<Duration>,
    /// Whether another request must fail in the same way before the failure counts.
    pub evidence: FailureEvidence,
    /// Where the connection failed, if none could be made.
    pub connect: Option<ConnectFailure>,
}

/// Where making a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectFailure {
    /// The name of the host has no address, or no name server responded.
    Dns,
    /// The host refused the connection: nothing listens on the port.
    Refused,
    /// There is no route to the host.
    Unreachable,
    /// The TLS handshake failed, or the certificate is not valid.
    Tls,
    /// The host did not respond in time.
    Timeout,
}

/// Why an attempt failed; also the reason of a cool-down of a channel, model or credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// No connection could be made.
    ConnectError,
    /// The connection was closed before the response was complete.
    ConnectionClosed,
    /// The provider did not respond in time.
    Timeout,
    /// A status of 500 or above, 408, or an error as the first event of a stream.
    ServerError,
    /// A response that is invalid in the protocol.
    InvalidResponse,
    RateLimited,
    RefusedCredential,
    RefusedAccount,
    /// The server that issues the credential issued none.
    CredentialUnavailable,
    /// The provider does not serve the model on this account.
    ModelUnavailable,
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
    /// A failure without a response.
    pub fn failure(reason: FailureReason) -> Self {
        Self::Failure(AttemptFailure::new(reason))
    }

    /// The outcome of an attempt with an error response, or with an error in its stream.
    ///
    /// Without a `request`, an error that it may have provoked does not count against the channel.
    pub fn from_error(
        error: ErrorClassification,
        status: StatusCode,
        retry_after: Option<Duration>,
        request: Option<SuspectRequest>,
    ) -> Self {
        let reason = match error.class {
            ErrorClass::InvalidRequest | ErrorClass::ContextTooLong | ErrorClass::ContentPolicy => {
                return Self::ClientError;
            }
            ErrorClass::RateLimited | ErrorClass::Overloaded => FailureReason::RateLimited,
            ErrorClass::ServerError => FailureReason::ServerError,
            ErrorClass::RefusedCredential => FailureReason::RefusedCredential,
            ErrorClass::RefusedAccount => FailureReason::RefusedAccount,
            ErrorClass::ModelNotFound => FailureReason::ModelUnavailable,
        };
        let evidence = match (may_be_provoked(error), request) {
            (false, _) => FailureEvidence::Conclusive,
            (true, None) => return Self::ClientError,
            (true, Some(request)) => FailureEvidence::Inconclusive(request),
        };
        Self::Failure(AttemptFailure {
            status: Some(status),
            retry_after,
            evidence,
            ..AttemptFailure::new(reason)
        })
    }

    /// A response that is invalid in the protocol, such as an HTML page or a redirect.
    pub fn invalid_response(status: StatusCode) -> Self {
        Self::Failure(AttemptFailure {
            status: Some(status),
            ..AttemptFailure::new(FailureReason::InvalidResponse)
        })
    }

    /// The name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::ClientError => "client_error",
            Self::Failure(failure) => failure.reason.name(),
        }
    }

    /// Why the attempt failed; `None` if it did not fail.
    pub fn failure_reason(self) -> Option<FailureReason> {
        match self {
            Self::Success | Self::ClientError => None,
            Self::Failure(failure) => Some(failure.reason),
        }
    }

    /// Why the attempt failed, if that counts by itself; `None` if it did not fail, or another request must confirm it.
    pub fn conclusive_reason(self) -> Option<FailureReason> {
        match self {
            Self::Failure(failure) if failure.evidence == FailureEvidence::Conclusive => {
                Some(failure.reason)
            }
            _ => None,
        }
    }
}

impl AttemptFailure {
    pub fn new(reason: FailureReason) -> Self {
        Self {
            reason,
            status: None,
            retry_after: None,
            evidence: FailureEvidence::Conclusive,
            connect: None,
        }
    }
}

impl FailureReason {
    pub const ALL: [Self; 10] = [
        Self::ConnectError,
        Self::ConnectionClosed,
        Self::Timeout,
        Self::ServerError,
        Self::InvalidResponse,
        Self::RateLimited,
        Self::RefusedCredential,
        Self::RefusedAccount,
        Self::CredentialUnavailable,
        Self::ModelUnavailable,
    ];

    /// The name in metrics, logs and on the admin pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectError => "connect_error",
            Self::ConnectionClosed => "connection_closed",
            Self::Timeout => "timeout",
            Self::ServerError => "server_error",
            Self::InvalidResponse => "invalid_response",
            Self::RateLimited => "rate_limited",
            Self::RefusedCredential => "refused_credential",
            Self::RefusedAccount => "refused_account",
            Self::CredentialUnavailable => "credential_unavailable",
            Self::ModelUnavailable => "model_unavailable",
        }
    }

    /// The scope of the reason. A rate limit counts against the credential if the channel has several.
    pub fn scope(self, credentials: usize) -> HealthScope {
        match self {
            Self::ConnectError => HealthScope::Channel,
            Self::ConnectionClosed
            | Self::Timeout
            | Self::ServerError
            | Self::InvalidResponse
            | Self::ModelUnavailable => HealthScope::Model,
            Self::RateLimited if credentials > 1 => HealthScope::Credential,
            Self::RateLimited => HealthScope::Model,
            Self::RefusedCredential | Self::RefusedAccount | Self::CredentialUnavailable => {
                HealthScope::Credential
            }
        }
    }

    /// Whether the provider refused the gateway's credential or account.
    pub fn concerns_credential(self) -> bool {
        matches!(self, Self::RefusedCredential | Self::RefusedAccount)
    }

    /// Whether a single failure starts a cool-down, because a server itself reported the reason.
    pub fn cools_down_at_once(self) -> bool {
        match self {
            Self::RateLimited
            | Self::RefusedCredential
            | Self::RefusedAccount
            | Self::CredentialUnavailable
            | Self::ModelUnavailable => true,
            Self::ConnectError
            | Self::ConnectionClosed
            | Self::Timeout
            | Self::ServerError
            | Self::InvalidResponse => false,
        }
    }
}

impl HealthScope {
    /// The name in logs and on the admin pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Model => "model",
            Self::Credential => "credential",
        }
    }
}

/// Whether a request may have provoked the error: a message may quote its text, and a model that is not found may be one
/// that its body names for a tool.
fn may_be_provoked(error: ErrorClassification) -> bool {
    match error.evidence {
        ErrorEvidence::Status | ErrorEvidence::Text => true,
        ErrorEvidence::Code => error.class == ErrorClass::ModelNotFound,
    }
}
