//! Classifies a provider's error by its status, its codes and its message, with a table in which the first match wins.
//!
//! `error_class/providers.txt` is the table that is built in; a channel may have rows of its own, which come first.

mod channel_rule;
mod pattern;
mod quotation;
mod received_error;
mod rule;
mod validation_error;

#[cfg(test)]
mod tests;

pub use channel_rule::ChannelErrorRule;
pub use quotation::may_quote;

use received_error::ReceivedError;
use rule::RULES;
use validation_error::validation_message;

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
    /// This channel does not offer the model, or its credential may not use it.
    ModelNotFound,
}

/// What an error was classified by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorEvidence {
    /// A code or type of the provider, or a status that has one meaning, such as 401, 402, 429 or 500.
    Code,
    /// A status that may also be about the request, without a code that says more: 403, 404, 405 or 410.
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

/// What a status of 403, 404, 405 or 410 can be about, if the body does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorSubject {
    /// The request generates, and refers to nothing but a model: the model or the endpoint is not available.
    Model,
    /// The request refers to something by an id, which may be unknown: it is the caller's error.
    Resource,
}

/// Classifies the errors of a channel: by its own rows, then by those that are built in.
#[derive(Debug, Default)]
pub struct ErrorClassifier {
    channel_rules: Vec<ChannelErrorRule>,
}

/// Classifies an error response by the rows that are built in.
///
/// `status` is that of the response; a response with a status of success that contains an error has the status that its
/// body names. `body` may be truncated or empty: a body that cannot be parsed has no codes.
pub fn classify_response(status: u16, body: &[u8], subject: ErrorSubject) -> ErrorClassification {
    ErrorClassifier::BUILT_IN.classify_response(status, body, subject)
}

/// Classifies an error event of a stream by the rows that are built in; one that says nothing about its cause is the
/// provider's fault.
pub fn classify_event(data: &[u8]) -> ErrorClassification {
    ErrorClassifier::BUILT_IN.classify_event(data)
}

/// The first message of an error response, at most 1 KiB of it; `None` if the body has none.
pub fn error_message(body: &[u8]) -> Option<String> {
    let mut messages = ReceivedError::from_event(body).messages.into_iter();
    let first = messages.next().map(|(_, message)| message.into_owned());
    first.or_else(|| validation_message(body))
}

impl ErrorClassifier {
    /// Without rows of a channel.
    pub const BUILT_IN: Self = Self {
        channel_rules: Vec::new(),
    };

    /// The rows of a channel are tried in their order, before those that are built in.
    pub fn new(channel_rules: Vec<ChannelErrorRule>) -> Self {
        Self { channel_rules }
    }

    /// See [`classify_response`].
    pub fn classify_response(
        &self,
        status: u16,
        body: &[u8],
        subject: ErrorSubject,
    ) -> ErrorClassification {
        self.classify(&ReceivedError::from_response(status, body), subject)
    }

    /// See [`classify_event`].
    pub fn classify_event(&self, data: &[u8]) -> ErrorClassification {
        self.classify(&ReceivedError::from_event(data), ErrorSubject::Model)
    }

    fn classify(&self, error: &ReceivedError<'_>, subject: ErrorSubject) -> ErrorClassification {
        let of_channel = (self.channel_rules.iter()).find_map(|rule| rule.classification(error));
        let built_in = || (RULES.iter()).find_map(|rule| rule.classification(error));
        let classification = of_channel
            .or_else(built_in)
            .unwrap_or(ErrorClassification::UNKNOWN);
        match (classification.evidence, subject) {
            (ErrorEvidence::Status, ErrorSubject::Resource) => ErrorClassification {
                class: ErrorClass::InvalidRequest,
                ..classification
            },
            _ => classification,
        }
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

    /// The class with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
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
