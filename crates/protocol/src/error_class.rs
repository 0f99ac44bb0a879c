//! Classifies a provider's error by its status, its codes and its message, with tables in which the first match wins.

mod pattern;
mod received_error;
mod rule;
mod shipped;

#[cfg(test)]
mod tests;

pub use rule::ErrorRule;

use received_error::ReceivedError;
use shipped::{BY_STATUS, CALLERS_CODES, SHIPPED};

/// The class of a provider's error: what or who caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The request itself: no other channel would accept it either.
    InvalidRequest,
    /// The request has more tokens than the model's context.
    ContextTooLong,
    /// The provider's content policy refuses the request.
    ContentPolicy,
    /// A rate limit; the same request may succeed on another channel or later.
    RateLimited,
    /// The provider has no capacity at the moment.
    Overloaded,
    /// The provider failed.
    ServerError,
    /// The provider refused the gateway's credential.
    RefusedCredential,
    /// The provider refused the credential's account: its quota is used up, or it has an unpaid bill.
    RefusedAccount,
    /// This channel does not offer the model.
    ModelNotFound,
}

/// What an error was classified by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorEvidence {
    /// A code or type of the provider, or a status that has one meaning, such as 401, 402, 429 or 500.
    Code,
    /// A status that may also be about the request, without a code that says more: 403 or 404.
    Status,
    /// The message, which may repeat a text of the caller.
    Text,
}

/// The class of an error, and what it was classified by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorClassification {
    pub class: ErrorClass,
    pub evidence: ErrorEvidence,
}

/// What a status of 403 or 404 can be about, if the body does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestTarget {
    /// The request generates, and refers to nothing but a model: the model or the endpoint is not available.
    Model,
    /// The request refers to something by an id, which may be unknown: it is the caller's error.
    Resource,
}

/// Classifies an error response.
///
/// `status` is that of the response; a response with a status of success that contains an error has the status that its
/// body names. `body` may be truncated or empty: a body that cannot be parsed has no codes.
pub fn classify_response(status: u16, body: &[u8], target: RequestTarget) -> ErrorClassification {
    classify(&ReceivedError::from_response(status, body), target)
}

/// Classifies an error event of a stream; one without a known code, status or message is the provider's fault.
pub fn classify_event(data: &[u8]) -> ErrorClassification {
    classify(&ReceivedError::from_event(data), RequestTarget::Model)
}

fn classify(error: &ReceivedError<'_>, target: RequestTarget) -> ErrorClassification {
    let rule = SHIPPED
        .iter()
        .flat_map(|rules| rules.iter())
        .chain(BY_STATUS)
        .chain(CALLERS_CODES)
        .find(|rule| rule.matches(error));
    let classification = rule.map_or(ErrorClassification::UNKNOWN, ErrorRule::classification);
    match (classification.evidence, target) {
        (ErrorEvidence::Status, RequestTarget::Resource) => ErrorClassification {
            class: ErrorClass::InvalidRequest,
            ..classification
        },
        _ => classification,
    }
}

impl ErrorClassification {
    /// An error that says nothing about its cause.
    const UNKNOWN: Self = Self {
        class: ErrorClass::ServerError,
        evidence: ErrorEvidence::Code,
    };
}

impl ErrorClass {
    pub const ALL: [Self; 9] = [
        Self::InvalidRequest,
        Self::ContextTooLong,
        Self::ContentPolicy,
        Self::RateLimited,
        Self::Overloaded,
        Self::ServerError,
        Self::RefusedCredential,
        Self::RefusedAccount,
        Self::ModelNotFound,
    ];

    /// The name in configuration and documentation; where it is an outcome of attempts, that of metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "client_error",
            Self::ContextTooLong => "context_too_long",
            Self::ContentPolicy => "content_policy",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::RefusedCredential => "refused_credential",
            Self::RefusedAccount => "refused_account",
            Self::ModelNotFound => "model_unavailable",
        }
    }

    /// Whether the error is about the request, whichever channel receives it.
    pub fn is_callers(self) -> bool {
        match self {
            Self::InvalidRequest | Self::ContextTooLong | Self::ContentPolicy => true,
            Self::RateLimited
            | Self::Overloaded
            | Self::ServerError
            | Self::RefusedCredential
            | Self::RefusedAccount
            | Self::ModelNotFound => false,
        }
    }
}
