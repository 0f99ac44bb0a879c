//! The retry policy: what follows a failed attempt, by the retry safety of the request and the kind of failure.

#[cfg(test)]
mod tests;

use headgate_core::catalog::model::Candidate;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::view::RequestView;
use headgate_protocol::error_class::{ErrorClass, ErrorEvidence};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::{ChannelProtocol, DuplicateRequestCost, ProviderResponseStorage};
use http::{Method, StatusCode};

/// What it costs if a provider processes a request twice, in rising order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetrySafety {
    /// Text that is not stored: a discarded response costs its tokens.
    #[default]
    Free,
    /// The provider stores the response, and a provider that is silent may still be processing the request.
    Stored,
    /// The provider processes the request even if the client disconnects, or makes something that no response can be
    /// discarded with: a container, an upload, a vector store, a file.
    Background,
    /// The body streams to the provider while it arrives, and cannot be sent again.
    Streamed,
    /// The provider bills each request that it accepts: images and videos.
    Paid,
}

/// How much of a request the provider may have received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendProgress {
    /// Nothing: no byte was written, or HTTP/2 reports that the request was not processed.
    #[default]
    Unsent,
    /// A part of it or all of it.
    Sent,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptFailureClass {
    /// No byte of the request was written, or HTTP/2 reports that the provider did not process it.
    Unsent,
    /// A pooled connection broke as soon as it was written to.
    StaleConnection,
    /// The connection broke after a byte was written, before the caller received any of the response.
    Broken,
    /// Like [`Self::Broken`], because of a timeout.
    TimedOut,
    /// Like [`Self::Broken`], because the gateway's process ends.
    Drained,
    /// The connection broke after the caller received part of the response.
    CutShort,
    /// A 4xx status.
    ClientError(ErrorClass),
    /// A 5xx status.
    ServerError(ErrorClass),
    /// A success whose stream begins with an error event.
    ErrorEvent(ErrorClass),
    /// A success whose body is an error of the provider.
    EmbeddedError(ErrorClass),
    /// A redirect, which no provider sends.
    Redirect,
    /// A success whose body is not of the protocol, such as an HTML page.
    ForeignBody,
    /// A success whose body is no JSON object: nothing, text, or an object that is cut off.
    UnreadableSuccess,
    /// A success whose body lacks a required field, such as the task id.
    Unreadable,
}

/// Where the request is sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAttempt {
    /// To the same channel once more, on a connection that is not pooled.
    FreshConnection,
    /// To another candidate; if none is left, the caller gets the [`FinalReplyKind`].
    Candidate,
    Stop,
}

/// What the caller gets if the request is not sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalReplyKind {
    /// A local reply with the status of the attempt's error.
    Fault,
    /// The provider's error response.
    ProviderError,
    /// 502 `upstream_error`: the provider refused the gateway's credential or account.
    AccountRefused,
    /// 504, with a message that warns of paying twice.
    TimedOut,
    /// 504 `outcome_unknown`.
    OutcomeUnknown,
    /// The status of the attempt's error (502 for a 5xx), with a message that warns of paying twice.
    PaidFailure,
    /// 502 `invalid_upstream_response`, with the same message.
    InvalidResponse,
}

/// The retry policy's decision about a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryDecision {
    pub next: NextAttempt,
    pub reply: FinalReplyKind,
    /// Whether the caller's SDK may retry by itself.
    pub sdk_may_retry: bool,
}

/// The retry policy for one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryPolicy {
    pub safety: RetrySafety,
    /// Whether a request may be sent again after its provider timed out, by the gateway or by the caller's SDK.
    pub on_timeout: bool,
}

impl RetryPolicy {
    /// Looks up the decision in the retry table, which `ARCHITECTURE.md` documents.
    pub fn decision(self, end: AttemptFailureClass) -> RetryDecision {
        use AttemptFailureClass::{
            Broken, ClientError, CutShort, Drained, EmbeddedError, ErrorEvent, ForeignBody,
            Redirect, ServerError, StaleConnection, TimedOut, Unreadable, UnreadableSuccess,
            Unsent,
        };
        use ErrorClass::{
            ContentPolicy, ContextTooLong, InvalidRequest, ModelNotFound, Overloaded, RateLimited,
            RefusedAccount, RefusedCredential,
        };
        use FinalReplyKind::{
            AccountRefused, Fault, InvalidResponse, OutcomeUnknown, PaidFailure, ProviderError,
        };
        use NextAttempt::{Candidate, FreshConnection, Stop};
        use RetrySafety::{Background, Free, Paid, Stored, Streamed};
        let (next, reply, sdk_may_retry) = match (end, self.safety) {
            (Unsent, _) => (Candidate, Fault, true),

            (StaleConnection, Free | Stored) => (FreshConnection, Fault, true),
            (Broken, Free | Stored) => (Candidate, Fault, true),
            (TimedOut, Free | Stored | Background | Streamed) if !self.on_timeout => {
                (Stop, FinalReplyKind::TimedOut, false)
            }
            (TimedOut, Free) => (Candidate, Fault, true),
            (TimedOut, Stored) => (Stop, Fault, true),
            (StaleConnection | Broken | TimedOut, Background | Streamed) => (Stop, Fault, true),
            (Drained | CutShort, Free | Stored | Background | Streamed) => (Stop, Fault, true),
            (StaleConnection | Broken | TimedOut | Drained, Paid) => (Stop, OutcomeUnknown, false),
            (CutShort, Paid) => (Stop, PaidFailure, false),

            (ClientError(InvalidRequest | ContextTooLong | ContentPolicy), Paid) => {
                (Stop, ProviderError, false)
            }
            (ClientError(ErrorClass::ServerError), Paid) => (Stop, ProviderError, false),
            (ClientError(RateLimited | Overloaded | ModelNotFound), Paid) => {
                (Candidate, ProviderError, true)
            }
            (ClientError(RefusedCredential | RefusedAccount), Paid) => {
                (Candidate, AccountRefused, false)
            }
            (ServerError(_), Paid) => (Stop, PaidFailure, false),
            (
                ErrorEvent(RefusedCredential | RefusedAccount)
                | EmbeddedError(RefusedCredential | RefusedAccount),
                Paid,
            ) => (Stop, AccountRefused, false),
            (ErrorEvent(_), Paid) => (Stop, ProviderError, false),
            (EmbeddedError(_), Paid) => (Stop, InvalidResponse, false),
            (
                ClientError(RefusedCredential | RefusedAccount)
                | ServerError(RefusedCredential | RefusedAccount)
                | ErrorEvent(RefusedCredential | RefusedAccount)
                | EmbeddedError(RefusedCredential | RefusedAccount),
                Streamed,
            ) => (Stop, AccountRefused, true),
            (ClientError(_) | ServerError(_) | ErrorEvent(_) | EmbeddedError(_), Streamed) => {
                (Stop, ProviderError, true)
            }
            (
                ClientError(error_class)
                | ServerError(error_class)
                | ErrorEvent(error_class)
                | EmbeddedError(error_class),
                _,
            ) => match error_class {
                InvalidRequest | ContextTooLong | ContentPolicy => (Stop, ProviderError, true),
                RateLimited | Overloaded | ErrorClass::ServerError | ModelNotFound => {
                    (Candidate, ProviderError, true)
                }
                RefusedCredential | RefusedAccount => (Candidate, AccountRefused, true),
            },

            (Redirect | ForeignBody, Free | Stored | Background) => (Candidate, Fault, true),
            (Redirect | ForeignBody, Streamed) => (Stop, Fault, true),
            (Redirect, Paid) => (Stop, Fault, false),
            (ForeignBody | UnreadableSuccess, Paid) => (Stop, InvalidResponse, false),
            (UnreadableSuccess, Free) => (Candidate, Fault, true),
            (UnreadableSuccess, Stored | Background | Streamed) => (Stop, Fault, true),
            (Unreadable, Free | Stored | Background | Streamed) => (Stop, Fault, true),
            (Unreadable, Paid) => (Stop, Fault, false),
        };
        RetryDecision {
            next,
            reply,
            sdk_may_retry,
        }
    }

    /// The decision about a provider's error, for which there is this evidence.
    ///
    /// The text of an error may repeat the caller's, and other channels would repeat it, too. An error with nothing but a
    /// status such as 404 may be about the request. Such an error leads to one failover at most, and the caller gets it.
    pub fn decision_about(
        self,
        end: AttemptFailureClass,
        evidence: ErrorEvidence,
        has_failed_over_inconclusively: bool,
    ) -> RetryDecision {
        use FinalReplyKind::{AccountRefused, ProviderError};
        let decision = self.decision(end);
        match (evidence, self.safety) {
            (ErrorEvidence::Code, _) => decision,
            // A create that is paid for is sent elsewhere only after an explicit refusal.
            (_, RetrySafety::Paid) => RetryDecision {
                next: NextAttempt::Stop,
                reply: match decision.reply {
                    AccountRefused => ProviderError,
                    reply => reply,
                },
                sdk_may_retry: false,
            },
            (ErrorEvidence::Status | ErrorEvidence::Text, _) => RetryDecision {
                next: match decision.next {
                    NextAttempt::Candidate if has_failed_over_inconclusively => NextAttempt::Stop,
                    next => next,
                },
                reply: match decision.reply {
                    AccountRefused => ProviderError,
                    reply => reply,
                },
                ..decision
            },
        }
    }
}

impl AttemptFailureClass {
    /// The end of an attempt that failed with `kind` before the caller received any of the response.
    pub fn from_fault(kind: FaultKind, progress: SendProgress) -> Self {
        match (progress, kind) {
            (SendProgress::Unsent, _) => Self::Unsent,
            (SendProgress::Sent, FaultKind::UpstreamTimeout) => Self::TimedOut,
            (SendProgress::Sent, FaultKind::Ending) => Self::Drained,
            (SendProgress::Sent, _) => Self::Broken,
        }
    }

    /// The end of an attempt whose response is an error.
    pub fn from_error(status: StatusCode, error_class: ErrorClass) -> Self {
        match status.is_server_error() {
            true => Self::ServerError(error_class),
            false => Self::ClientError(error_class),
        }
    }
}

impl RetryDecision {
    /// The error for the caller in place of `fault`.
    pub fn fault(self, mut fault: Fault) -> Fault {
        match self.reply {
            FinalReplyKind::OutcomeUnknown => {
                fault.kind = FaultKind::OutcomeUnknown;
                fault.message = OUTCOME_UNKNOWN.into();
            }
            FinalReplyKind::TimedOut => fault.message = TIMED_OUT.into(),
            FinalReplyKind::PaidFailure => fault.message = PAID_FAILURE.into(),
            FinalReplyKind::InvalidResponse => {
                fault.kind = FaultKind::UnreadableResponse;
                fault.message = PAID_FAILURE.into();
            }
            FinalReplyKind::Fault
            | FinalReplyKind::ProviderError
            | FinalReplyKind::AccountRefused => {}
        }
        fault.forbids_retry |= !self.sdk_may_retry;
        fault
    }
}

const OUTCOME_UNKNOWN: &str = "outcome unknown: the provider may have processed and billed this request; check by its request id before you send it again";
const TIMED_OUT: &str = "the provider did not respond in time and may still process and bill this request; sending it again may cost twice";
const PAID_FAILURE: &str = "the provider returned an error and may have processed and billed this request; check by its request id before you send it again";

impl RetrySafety {
    /// The retry safety of a request to these channels. A translated request is never stored, and runs in no background.
    pub fn for_candidates(request: &RequestView, candidates: &[Candidate]) -> Self {
        let own = candidates.iter().filter(|one| !one.is_translated);
        Self::for_request(request, own.map(|one| one.protocol))
    }

    /// The retry safety of a request to channels of these protocols: the highest of all.
    pub fn for_request(
        request: &RequestView,
        channels: impl IntoIterator<Item = Option<ChannelProtocol>>,
    ) -> Self {
        let mut highest = Self::default();
        let mut last = None;
        for protocol in channels {
            // As a rule all speak one protocol.
            if last != Some(protocol) {
                last = Some(protocol);
                highest = highest.max(Self::for_channel(request, protocol));
            }
        }
        highest
    }

    /// The retry safety on a channel, by its protocol and the request's body.
    fn for_channel(request: &RequestView, protocol: Option<ChannelProtocol>) -> Self {
        let is_post = request.method == Method::POST;
        let storage = match protocol.map(|it| it.descriptor().cost) {
            Some(DuplicateRequestCost::PaidWork) => {
                return if is_post { Self::Paid } else { Self::Free };
            }
            Some(DuplicateRequestCost::Tokens(storage)) => Some(storage),
            None => None,
        };
        let lowest = match is_post && storage.is_none_or(stores_objects) && names_no_model(request)
        {
            true => Self::Background,
            false => Self::Free,
        };
        let by_body = match &*request.body {
            RequestBody::Streamed(_) => Self::Streamed,
            RequestBody::Opaque(_) => Self::for_unread_body(storage),
            body => {
                let document = body.document();
                let flags = document.map(|body| body.root().get_each(["store", "background"]));
                let flags = flags.unwrap_or_default();
                Self::from_flags(storage, flags.map(|flag| flag?.as_bool()))
            }
        };
        by_body.max(lowest)
    }

    fn from_flags(
        storage: Option<ProviderResponseStorage>,
        [store, background]: [Option<bool>; 2],
    ) -> Self {
        let stored = match storage {
            Some(ProviderResponseStorage::Never) => false,
            Some(ProviderResponseStorage::OnRequest) => store == Some(true),
            Some(ProviderResponseStorage::ByDefault) => store != Some(false),
            None => true,
        };
        match (background, stored) {
            (Some(true), _) => Self::Background,
            (_, true) => Self::Stored,
            (_, false) => Self::Free,
        }
    }

    /// The highest risk that an unread body may have.
    fn for_unread_body(storage: Option<ProviderResponseStorage>) -> Self {
        match storage {
            Some(ProviderResponseStorage::Never) => Self::Free,
            Some(ProviderResponseStorage::ByDefault) => Self::Background,
            Some(ProviderResponseStorage::OnRequest) | None => Self::Stored,
        }
    }
}

/// Whether providers of a protocol keep what its requests create, such as containers.
fn stores_objects(storage: ProviderResponseStorage) -> bool {
    storage == ProviderResponseStorage::ByDefault
}

/// Whether the request generates nothing: what it creates then is all that it is about.
fn names_no_model(request: &RequestView) -> bool {
    let document = request.body.document();
    request.model().is_none() && document.is_none_or(|body| body.root().get("model").is_none())
}
