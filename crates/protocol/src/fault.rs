//! What went wrong with an exchange, as a closed set of kinds: status, retry advice and metric label follow from the kind.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Everything that can end an exchange otherwise than with the provider's own answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The request line or headers break HTTP's rules.
    BadHead,
    /// The request line and headers are larger than they may be.
    HeadTooLarge,
    /// The body is not the JSON this gateway accepts (syntax, duplicate keys, UTF-8, depth).
    BadJson,
    /// The body breaks the protocol's schema.
    Invalid,
    /// The body lacks a field that it must have.
    Missing,
    /// A header that the protocol requires is missing or malformed.
    BadHeader,
    /// No key, an unknown key, or two different ones.
    Unauthenticated,
    /// The caller may not use this model or route.
    Forbidden,
    /// No route has this path.
    NoRoute,
    /// A route has this path, but not with this method.
    MethodNotAllowed,
    /// A WebSocket was asked for at a path that takes other methods only.
    UpgradeRequired,
    /// No model of this name.
    UnknownModel,
    /// Nothing that a provider made has this id, or it was made for another caller.
    UnknownId,
    /// What the id stands for was made on a channel that is no longer there.
    Gone,
    /// The task cannot be cancelled, or not any more.
    NotCancellable,
    /// The body is over the route's limit.
    TooLarge,
    /// The Content-Type or Content-Encoding is not accepted here.
    UnsupportedMedia,
    /// The caller sent its request too slowly.
    RequestTimeout,
    /// The caller is at a limit of its requests, a minute or at one time.
    TooManyRequests,
    /// The caller is at its limit of tokens a minute.
    TooManyTokens,
    /// The caller's tokens of the day or month are used up.
    OverBudget,
    /// The gateway holds as many exchanges as it may.
    Overloaded,
    /// The process ends, and its time to drain is over.
    Ending,
    /// No channel could be used for this model.
    NoChannel,
    /// The channel could not be reached.
    Connect,
    /// The channel's connection broke, or its answer was no HTTP.
    Upstream,
    /// The channel's answer is none that its family gives.
    UnreadableResponse,
    /// The channel may have taken a paid request, and nobody can tell.
    OutcomeUnknown,
    /// The channel did not answer in time.
    UpstreamTimeout,
    /// The caller left.
    ClientGone,
    /// The caller did not take its response in time.
    WriteDeadline,
    /// A defect of ours.
    Internal,
}

/// A fault: its kind and message reach the caller, detail and source only the log.
#[derive(Debug)]
pub struct Fault {
    pub kind: FaultKind,
    /// One sentence for the caller: what is wrong and what to do. Lower case, no full stop.
    pub message: String,
    /// The field or header at fault, as a dotted path or header name.
    pub param: Option<String>,
    /// How long the caller should wait before it tries again.
    pub retry_after: Option<Duration>,
    /// Sent again, the request may cost twice: SDKs are told not to.
    pub may_charge_twice: bool,
    /// For the log alone.
    pub detail: Option<String>,
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl FaultKind {
    /// The HTTP status of a reply for this kind.
    pub fn status(self) -> u16 {
        match self {
            Self::BadHead | Self::BadJson | Self::Invalid | Self::Missing | Self::BadHeader => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NoRoute | Self::UnknownModel | Self::UnknownId => 404,
            Self::MethodNotAllowed => 405,
            Self::RequestTimeout => 408,
            Self::NotCancellable => 409,
            Self::Gone => 410,
            Self::TooLarge => 413,
            Self::UnsupportedMedia => 415,
            Self::UpgradeRequired => 426,
            Self::TooManyRequests | Self::TooManyTokens | Self::OverBudget => 429,
            Self::HeadTooLarge => 431,
            Self::ClientGone | Self::WriteDeadline => 499,
            Self::Internal => 500,
            Self::Connect | Self::Upstream | Self::UnreadableResponse => 502,
            Self::Overloaded | Self::Ending | Self::NoChannel => 503,
            Self::UpstreamTimeout | Self::OutcomeUnknown => 504,
        }
    }

    /// The stable word for metrics, logs and the `code` of error bodies.
    pub fn code(self) -> &'static str {
        match self {
            Self::BadHead => "bad_request",
            Self::HeadTooLarge => "request_header_fields_too_large",
            Self::BadJson => "invalid_json",
            Self::Invalid => "invalid_value",
            Self::Missing => "missing_required_parameter",
            Self::BadHeader => "invalid_header",
            Self::Unauthenticated => "invalid_api_key",
            Self::Forbidden => "permission_denied",
            Self::NoRoute => "unknown_url",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::UpgradeRequired => "upgrade_required",
            Self::UnknownModel => "model_not_found",
            Self::UnknownId => "id_not_found",
            Self::Gone => "id_gone",
            Self::NotCancellable => "task_not_cancellable",
            Self::RequestTimeout => "request_timeout",
            Self::TooLarge => "request_too_large",
            Self::UnsupportedMedia => "unsupported_media_type",
            Self::TooManyRequests | Self::TooManyTokens => "rate_limit_exceeded",
            Self::OverBudget => "insufficient_quota",
            Self::ClientGone => "client_gone",
            Self::WriteDeadline => "write_deadline",
            Self::Internal => "internal_error",
            Self::Connect => "upstream_unreachable",
            Self::Upstream => "upstream_error",
            Self::UnreadableResponse => "invalid_upstream_response",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Overloaded => "overloaded",
            Self::Ending => "gateway_restarting",
            Self::NoChannel => "no_channel_available",
            Self::UpstreamTimeout => "upstream_timeout",
        }
    }

    /// Whether the same request, sent again a moment later, may fare better.
    pub fn is_transient(self) -> bool {
        match self {
            Self::BadHead
            | Self::HeadTooLarge
            | Self::BadJson
            | Self::Invalid
            | Self::Missing
            | Self::BadHeader
            | Self::Unauthenticated
            | Self::Forbidden
            | Self::NoRoute
            | Self::MethodNotAllowed
            | Self::UpgradeRequired
            | Self::UnknownModel
            | Self::UnknownId
            | Self::Gone
            | Self::NotCancellable
            | Self::TooLarge
            | Self::UnsupportedMedia
            | Self::OverBudget => false,
            Self::RequestTimeout
            | Self::TooManyRequests
            | Self::TooManyTokens
            | Self::Overloaded
            | Self::Ending
            | Self::NoChannel
            | Self::Connect
            | Self::Upstream
            | Self::UnreadableResponse
            | Self::OutcomeUnknown
            | Self::UpstreamTimeout
            | Self::ClientGone
            | Self::WriteDeadline
            | Self::Internal => true,
        }
    }
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            param: None,
            retry_after: None,
            may_charge_twice: false,
            detail: None,
            source: None,
        }
    }

    /// Names the field or header at fault.
    pub fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// Says how long the caller should wait.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Adds what only the log may tell.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same fault for somebody else who waited for the same thing; the cause is told once.
    pub fn without_source(&self) -> Self {
        Self {
            kind: self.kind,
            message: self.message.clone(),
            param: self.param.clone(),
            retry_after: self.retry_after,
            may_charge_twice: self.may_charge_twice,
            detail: self.detail.clone(),
            source: None,
        }
    }

    /// Keeps the cause for the log.
    pub fn source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
