//! Faults: why an exchange failed, as a closed set of kinds that determine status, retry advice and metric label.

mod service_denial;

pub use service_denial::ServiceDenialStatus;

use std::error::Error;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// Every way in which an exchange can end other than with the provider's own response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The request line or a header is invalid in HTTP.
    BadHead,
    /// The request line and headers exceed their size limit.
    HeadTooLarge,
    /// The body is not JSON as the gateway accepts it (syntax, duplicate keys, UTF-8, depth).
    BadJson,
    /// The body violates the protocol's schema.
    Invalid,
    /// The body lacks a required field.
    Missing,
    /// A header that the protocol requires is missing or malformed.
    BadHeader,
    /// There is no key, an unknown one, or two different ones.
    Unauthenticated,
    /// The caller may not use this model or route.
    Forbidden,
    /// A service that the gateway called denied the request, or the response to it.
    Denied(ServiceDenialStatus),
    /// No route has this path.
    NoRoute,
    /// A route has this path, but not with this method.
    MethodNotAllowed,
    /// The request asks for a WebSocket at a path that takes only other methods.
    UpgradeRequired,
    /// There is no model of this name.
    UnknownModel,
    /// The id is unknown, or belongs to another caller.
    UnknownId,
    /// The idempotency key was used for another request.
    KeyReused,
    /// The first request with the idempotency key is under way.
    KeyInUse,
    /// The first request with the idempotency key succeeded, and its response is not stored.
    AnswerNotKept,
    /// The id belongs to a channel that was removed.
    Gone,
    /// The task cannot be cancelled, or no longer.
    NotCancellable,
    /// The body exceeds the route's size limit.
    TooLarge,
    /// The Content-Type or Content-Encoding is not supported here.
    UnsupportedMedia,
    /// The caller sent its request too slowly.
    RequestTimeout,
    /// The caller has reached a limit of requests, per minute or in flight.
    TooManyRequests,
    /// The caller has reached its limit of tokens per minute.
    TooManyTokens,
    /// The caller's token budget of the day or month is used up.
    OverBudget,
    /// The gateway has reached its limit of exchanges.
    Overloaded,
    /// The process is stopping, and its drain period is over.
    Ending,
    /// No channel is usable for this model.
    NoChannel,
    /// There is no usable response of a service that must be called for the request or the response.
    CheckUnavailable,
    /// No connection to the provider could be made.
    Connect,
    /// The server that issues the channel's credential issued none.
    NoCredential,
    /// The provider's connection closed, or its response was not valid HTTP.
    Upstream,
    /// The provider's response is not valid in its family.
    UnreadableResponse,
    /// The provider may have accepted a paid request; the outcome is unknown.
    OutcomeUnknown,
    /// The provider did not respond in time.
    UpstreamTimeout,
    /// The caller closed the connection.
    ClientGone,
    /// The caller did not read its response in time.
    WriteTimeout,
    /// A defect of the gateway.
    Internal,
}

/// A fault. The caller sees its kind and message; detail and source are only logged.
///
/// The size of a pointer, because nearly every function of an exchange returns a `Result` with it.
#[derive(Debug)]
pub struct Fault(Box<FaultDetails>);

/// The content of a [`Fault`].
#[derive(Debug)]
pub struct FaultDetails {
    pub kind: FaultKind,
    /// One sentence for the caller: what is wrong and what to do. Lower case, without a full stop.
    pub message: String,
    /// The field or header at fault, as a dotted path or header name.
    pub param: Option<String>,
    /// The Retry-After for the caller.
    pub retry_after: Option<Duration>,
    /// Whether a repeated request may be charged twice, or cannot help: the reply then tells SDKs not to retry.
    pub forbids_retry: bool,
    /// Only for the log.
    pub detail: Option<String>,
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl FaultKind {
    /// Every kind, with every status of a denial.
    pub const ALL: [Self; 43] = [
        Self::BadHead,
        Self::HeadTooLarge,
        Self::BadJson,
        Self::Invalid,
        Self::Missing,
        Self::BadHeader,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NoRoute,
        Self::MethodNotAllowed,
        Self::UpgradeRequired,
        Self::UnknownModel,
        Self::UnknownId,
        Self::KeyReused,
        Self::KeyInUse,
        Self::AnswerNotKept,
        Self::Gone,
        Self::NotCancellable,
        Self::TooLarge,
        Self::UnsupportedMedia,
        Self::RequestTimeout,
        Self::TooManyRequests,
        Self::TooManyTokens,
        Self::OverBudget,
        Self::Overloaded,
        Self::Ending,
        Self::NoChannel,
        Self::CheckUnavailable,
        Self::Connect,
        Self::NoCredential,
        Self::Upstream,
        Self::UnreadableResponse,
        Self::OutcomeUnknown,
        Self::UpstreamTimeout,
        Self::ClientGone,
        Self::WriteTimeout,
        Self::Internal,
        Self::Denied(ServiceDenialStatus::BadRequest),
        Self::Denied(ServiceDenialStatus::Unauthorized),
        Self::Denied(ServiceDenialStatus::Forbidden),
        Self::Denied(ServiceDenialStatus::NotFound),
        Self::Denied(ServiceDenialStatus::TooManyRequests),
        Self::Denied(ServiceDenialStatus::UnavailableForLegalReasons),
    ];

    /// Whether a limit of the caller refused the request.
    pub fn is_limit(self) -> bool {
        matches!(
            self,
            Self::TooManyRequests | Self::TooManyTokens | Self::OverBudget
        )
    }

    /// The HTTP status of a local reply.
    pub fn status(self) -> u16 {
        match self {
            Self::BadHead | Self::BadJson | Self::Invalid | Self::Missing | Self::BadHeader => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::Denied(status) => status.code(),
            Self::NoRoute | Self::UnknownModel | Self::UnknownId => 404,
            Self::MethodNotAllowed => 405,
            Self::RequestTimeout => 408,
            Self::NotCancellable | Self::KeyInUse | Self::AnswerNotKept => 409,
            Self::Gone => 410,
            Self::TooLarge => 413,
            Self::UnsupportedMedia => 415,
            Self::KeyReused => 422,
            Self::UpgradeRequired => 426,
            Self::TooManyRequests | Self::TooManyTokens | Self::OverBudget => 429,
            Self::HeadTooLarge => 431,
            Self::ClientGone | Self::WriteTimeout => 499,
            Self::Internal => 500,
            Self::Connect | Self::NoCredential | Self::Upstream | Self::UnreadableResponse => 502,
            Self::Overloaded | Self::Ending | Self::NoChannel | Self::CheckUnavailable => 503,
            Self::UpstreamTimeout | Self::OutcomeUnknown => 504,
        }
    }

    /// The stable name in metrics, logs and the `code` of error bodies.
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
            Self::Denied(_) => "denied",
            Self::NoRoute => "unknown_url",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::UpgradeRequired => "upgrade_required",
            Self::UnknownModel => "model_not_found",
            Self::UnknownId => "id_not_found",
            Self::KeyReused => "idempotency_key_reused",
            Self::KeyInUse => "idempotency_key_in_use",
            Self::AnswerNotKept => "answer_not_kept",
            Self::Gone => "id_gone",
            Self::NotCancellable => "task_not_cancellable",
            Self::RequestTimeout => "request_timeout",
            Self::TooLarge => "request_too_large",
            Self::UnsupportedMedia => "unsupported_media_type",
            Self::TooManyRequests | Self::TooManyTokens => "rate_limit_exceeded",
            Self::OverBudget => "insufficient_quota",
            Self::ClientGone => "client_gone",
            Self::WriteTimeout => "write_timeout",
            Self::Internal => "internal_error",
            Self::Connect => "upstream_unreachable",
            Self::NoCredential | Self::Upstream => "upstream_error",
            Self::UnreadableResponse => "invalid_upstream_response",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Overloaded => "overloaded",
            Self::Ending => "gateway_restarting",
            Self::NoChannel => "no_channel_available",
            Self::CheckUnavailable => "check_unavailable",
            Self::UpstreamTimeout => "upstream_timeout",
        }
    }

    /// Whether the same request may succeed a moment later.
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
            | Self::KeyReused
            | Self::AnswerNotKept
            | Self::Gone
            | Self::NotCancellable
            | Self::TooLarge
            | Self::UnsupportedMedia
            | Self::OverBudget => false,
            Self::Denied(status) => status == ServiceDenialStatus::TooManyRequests,
            Self::RequestTimeout
            | Self::KeyInUse
            | Self::TooManyRequests
            | Self::TooManyTokens
            | Self::Overloaded
            | Self::Ending
            | Self::NoChannel
            | Self::CheckUnavailable
            | Self::Connect
            | Self::NoCredential
            | Self::Upstream
            | Self::UnreadableResponse
            | Self::OutcomeUnknown
            | Self::UpstreamTimeout
            | Self::ClientGone
            | Self::WriteTimeout
            | Self::Internal => true,
        }
    }
}

impl Deref for Fault {
    type Target = FaultDetails;

    fn deref(&self) -> &FaultDetails {
        &self.0
    }
}

impl DerefMut for Fault {
    fn deref_mut(&mut self) -> &mut FaultDetails {
        &mut self.0
    }
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self(Box::new(FaultDetails {
            kind,
            message: message.into(),
            param: None,
            retry_after: None,
            forbids_retry: false,
            detail: None,
            source: None,
        }))
    }

    /// Sets the field or header at fault.
    pub fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// Sets the Retry-After for the caller.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Adds a detail for the log.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// What happened, for the operator: the detail, or else the message.
    pub fn into_reason(self) -> String {
        let FaultDetails {
            detail, message, ..
        } = *self.0;
        detail.unwrap_or(message)
    }

    /// A copy without the source, for another caller who waited for the same result: the source is logged once.
    pub fn without_source(&self) -> Self {
        Self(Box::new(FaultDetails {
            kind: self.kind,
            message: self.message.clone(),
            param: self.param.clone(),
            retry_after: self.retry_after,
            forbids_retry: self.forbids_retry,
            detail: self.detail.clone(),
            source: None,
        }))
    }

    /// Sets the source, which is logged.
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
