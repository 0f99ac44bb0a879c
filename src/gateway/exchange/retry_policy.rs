//! The retry policy: what an attempt that did not serve leads to, by what the request costs and what happened.

#[cfg(test)]
mod tests;

use crate::filter::body::RequestBody;
use crate::filter::view::RequestView;
use crate::gateway::upstream::client::SendProgress;
use crate::protocol::Protocol;
use crate::protocol::error_class::ErrorClass;
use crate::protocol::fault::{Fault, FaultKind};
use http::{Method, StatusCode};

/// What doing a request's work twice would cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetrySafety {
    /// Text that nobody keeps: a response that is thrown away costs its tokens.
    #[default]
    Free,
    /// The provider keeps the response: a silent one may still be at work on it.
    Stored,
    /// The provider works on it whether anybody listens or not.
    Background,
    /// The body streams to the provider while it comes in, and cannot be sent again.
    Streamed,
    /// The provider takes money for each that it accepts: images and videos.
    Paid,
}

/// What happened to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// No byte of the request was written, or HTTP/2 says that none was taken.
    Unsent,
    /// A pooled connection broke as soon as it was written to.
    StaleConnection,
    /// The connection broke after a byte was written, and before the caller had any of the response.
    Broken,
    /// As [`Self::ConnectionReset`], by a timeout.
    TimedOut,
    /// As [`Self::ConnectionReset`], since the gateway's process ends.
    Drained,
    /// The connection broke when the caller had part of the response.
    CutShort,
    /// A status of 4xx.
    ClientError(ErrorClass),
    /// A status of 5xx.
    ServerError(ErrorClass),
    /// A success whose stream begins with an error.
    ErrorEvent(ErrorClass),
    /// A redirect, which no provider sends.
    Redirect,
    /// A success whose body is not of the protocol, such as a page for people.
    ForeignBody,
    /// A success whose body lacks what it must have, such as the id of a task.
    Unreadable,
}

/// Where the request goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAttempt {
    /// To the same channel once more, on a connection that is not pooled.
    FreshConnection,
    /// To another candidate, if one is left; else the caller gets the [`CallerReply`].
    Candidate,
    Stop,
}

/// What the caller gets where the request goes nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerReply {
    /// A local reply with the status of the attempt's own fault.
    Fault,
    /// The provider's own error.
    ProviderError,
    /// 502 `upstream_error`: the provider does not accept the gateway's account.
    AccountRefused,
    /// 504 `outcome_unknown`.
    OutcomeUnknown,
    /// The status of the attempt's own fault (502 of a 5xx), and words that ask nobody to pay twice.
    PaidFailure,
    /// 502 `invalid_upstream_response`, in the same words.
    InvalidResponse,
}

/// What an attempt that did not serve leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryDecision {
    pub next: NextAttempt,
    pub reply: CallerReply,
    /// Whether the caller's SDK may send the request again by itself.
    pub sdk_may_retry: bool,
}

/// The retry policy of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryPolicy {
    pub safety: RetrySafety,
    /// Whether the route gives up a silent provider for another one.
    pub on_silence: bool,
}

impl RetryPolicy {
    /// The table. `ARCHITECTURE.md` shows it.
    pub fn verdict(self, end: AttemptEnd) -> RetryDecision {
        use AttemptEnd::{
            Broken, ClientError, CutShort, Drained, ErrorEvent, ForeignBody, Redirect, ServerError,
            StaleConnection, TimedOut, Unreadable, Unsent,
        };
        use CallerReply::{
            AccountRefused, Fault, InvalidResponse, OutcomeUnknown, PaidFailure, ProviderError,
        };
        use ErrorClass::{
            InvalidRequest, ModelNotFound, RateLimited, RefusedAccount, RefusedCredential,
        };
        use NextAttempt::{Candidate, FreshConnection, Stop};
        use RetrySafety::{Background, Free, Paid, Stored, Streamed};
        let (next, reply, sdk_may_retry) = match (end, self.safety) {
            (Unsent, _) => (Candidate, Fault, true),

            (StaleConnection, Free | Stored) => (FreshConnection, Fault, true),
            (Broken, Free | Stored) => (Candidate, Fault, true),
            (TimedOut, Free) if self.on_silence => (Candidate, Fault, true),
            (TimedOut, Free | Stored) => (Stop, Fault, true),
            (StaleConnection | Broken | TimedOut, Background | Streamed) => (Stop, Fault, true),
            (Drained | CutShort, Free | Stored | Background | Streamed) => (Stop, Fault, true),
            (StaleConnection | Broken | TimedOut | Drained, Paid) => (Stop, OutcomeUnknown, false),
            (CutShort, Paid) => (Stop, PaidFailure, false),

            (ClientError(InvalidRequest), Paid) => (Stop, ProviderError, false),
            (ClientError(ErrorClass::ServerError), Paid) => (Stop, ProviderError, false),
            (ClientError(RateLimited | ModelNotFound), Paid) => (Candidate, ProviderError, true),
            (ClientError(RefusedCredential | RefusedAccount), Paid) => {
                (Candidate, AccountRefused, false)
            }
            (ServerError(_), Paid) => (Stop, PaidFailure, false),
            (ErrorEvent(RefusedCredential | RefusedAccount), Paid) => (Stop, AccountRefused, false),
            (ErrorEvent(_), Paid) => (Stop, ProviderError, false),
            (
                ClientError(RefusedCredential | RefusedAccount)
                | ServerError(RefusedCredential | RefusedAccount)
                | ErrorEvent(RefusedCredential | RefusedAccount),
                Streamed,
            ) => (Stop, AccountRefused, true),
            (ClientError(_) | ServerError(_) | ErrorEvent(_), Streamed) => {
                (Stop, ProviderError, true)
            }
            (ClientError(error_class) | ServerError(error_class) | ErrorEvent(error_class), _) => {
                match error_class {
                    InvalidRequest => (Stop, ProviderError, true),
                    RateLimited | ErrorClass::ServerError | ModelNotFound => {
                        (Candidate, ProviderError, true)
                    }
                    RefusedCredential | RefusedAccount => (Candidate, AccountRefused, true),
                }
            }

            (Redirect | ForeignBody, Free | Stored | Background) => (Candidate, Fault, true),
            (Redirect | ForeignBody, Streamed) => (Stop, Fault, true),
            (Redirect, Paid) => (Stop, Fault, false),
            (ForeignBody, Paid) => (Stop, InvalidResponse, false),
            (Unreadable, Free | Stored | Background | Streamed) => (Stop, Fault, true),
            (Unreadable, Paid) => (Stop, Fault, false),
        };
        RetryDecision {
            next,
            reply,
            sdk_may_retry,
        }
    }
}

impl AttemptEnd {
    /// The end of an attempt that failed with `kind`, before the caller had any of the response.
    pub fn of_fault(kind: FaultKind, progress: SendProgress) -> Self {
        match (progress, kind) {
            (SendProgress::Unsent, _) => Self::Unsent,
            (SendProgress::Sent, FaultKind::UpstreamTimeout) => Self::TimedOut,
            (SendProgress::Sent, FaultKind::Ending) => Self::Drained,
            (SendProgress::Sent, _) => Self::Broken,
        }
    }

    /// The end of an attempt whose response is an error.
    pub fn of_error(status: StatusCode, error_class: ErrorClass) -> Self {
        match status.is_server_error() {
            true => Self::ServerError(error_class),
            false => Self::ClientError(error_class),
        }
    }
}

impl RetryDecision {
    /// What the caller is told instead of `fault`.
    pub fn fault(self, fault: Fault) -> Fault {
        let fault = match self.reply {
            CallerReply::OutcomeUnknown => Fault {
                kind: FaultKind::OutcomeUnknown,
                message: OUTCOME_UNKNOWN.into(),
                ..fault
            },
            CallerReply::PaidFailure => Fault {
                message: PAID_FAILURE.into(),
                ..fault
            },
            CallerReply::InvalidResponse => Fault {
                kind: FaultKind::UnreadableResponse,
                message: PAID_FAILURE.into(),
                ..fault
            },
            CallerReply::Fault | CallerReply::ProviderError | CallerReply::AccountRefused => fault,
        };
        Fault {
            may_charge_twice: fault.may_charge_twice || !self.sdk_may_retry,
            ..fault
        }
    }
}

const OUTCOME_UNKNOWN: &str = "outcome unknown: the provider may have processed and billed this request; check by its request id before you send it again";
const PAID_FAILURE: &str = "the provider returned an error and may have processed and billed this request; check by its request id before you send it again";

impl RetrySafety {
    /// Of a request, by its protocol and body.
    pub fn of(request: &RequestView) -> Self {
        let is_post = request.method == Method::POST;
        let protocol = match request.protocol {
            Some(Protocol::ImageEdit | Protocol::Video | Protocol::FamilyA | Protocol::FamilyB) => {
                return if is_post { Self::Paid } else { Self::Free };
            }
            protocol => protocol,
        };
        match &request.body {
            RequestBody::Streamed(_) => Self::Streamed,
            RequestBody::Opaque(_) => Self::of_unread(protocol),
            body => Self::of_flags(protocol, |name| {
                body.document()?.root().get(name)?.as_bool()
            }),
        }
    }

    fn of_flags(protocol: Option<Protocol>, flag: impl Fn(&str) -> Option<bool>) -> Self {
        let stored = match protocol {
            Some(Protocol::Messages) => false,
            Some(Protocol::Chat) => flag("store") == Some(true),
            // Stored unless the request says otherwise.
            Some(Protocol::Responses) => flag("store") != Some(false),
            _ => true,
        };
        match (flag("background"), stored) {
            (Some(true), _) => Self::Background,
            (_, true) => Self::Stored,
            (_, false) => Self::Free,
        }
    }

    /// The most that a body may ask for which nobody has read.
    fn of_unread(protocol: Option<Protocol>) -> Self {
        match protocol {
            Some(Protocol::Messages) => Self::Free,
            Some(Protocol::Responses) => Self::Background,
            _ => Self::Stored,
        }
    }
}
