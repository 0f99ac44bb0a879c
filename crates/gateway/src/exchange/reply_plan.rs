//! What the caller gets of a provider's response: `evaluate` decides it once, `relay` carries it out.

use super::response_fault::{
    failed_response_fault, foreign_error_fault, refused_account_fault, unexpected_status_fault,
};
use super::response_transcoder::ResponseTranscoder;
use crate::upstream::bounded_body::{BodyEnd, BodyReadResult};
use bytes::Bytes;
use headgate_channel::retry_policy::{FinalReplyKind, RetryDecision};
use headgate_core::filter::view::ResponseBodyKind;
use headgate_protocol::fault::Fault;
use headgate_protocol::retry_after;
use http::{HeaderMap, StatusCode};
use std::time::Duration;

/// The reply to the caller, if no further attempt follows.
pub(super) enum ReplyPlan {
    /// The response as it comes. Its outcome is recorded once it has passed.
    Response,
    /// A stream that begins with an error of the provider, as it comes. Its outcome was recorded.
    FailedStream,
    /// The provider's error with its status.
    ProviderError(Box<ProviderErrorReply>),
    /// An error of the gateway in place of the response.
    Fault(Box<Fault>),
    /// An error of the gateway in place of a body that is not of the protocol. The beginning of that body is still to be
    /// read: it goes into the log.
    ForeignBody(RetryDecision),
}

/// A provider's error that is passed on.
pub(super) struct ProviderErrorReply {
    pub body: ErrorReplyBody,
    /// Determines the error if passing it on fails, and whether SDKs may retry.
    pub decision: RetryDecision,
}

/// The body of an error that is passed on.
pub(super) enum ErrorReplyBody {
    /// The provider's, before its redaction.
    Provider(Bytes),
    /// This error, in place of a body that SDKs could not parse.
    Gateway(Fault),
}

impl ReplyPlan {
    /// The reply for a response with the status of an error, and this body.
    pub(super) fn for_error(
        decision: RetryDecision,
        status: StatusCode,
        body: Result<ErrorReplyBody, Fault>,
    ) -> Self {
        match (decision.reply, body) {
            (FinalReplyKind::ProviderError, Ok(body)) => {
                Self::ProviderError(Box::new(ProviderErrorReply { body, decision }))
            }
            (FinalReplyKind::ProviderError, Err(fault)) => Self::from_fault(decision, fault),
            (FinalReplyKind::AccountRefused, _) => {
                Self::from_fault(decision, refused_account_fault(status))
            }
            _ => Self::from_fault(decision, failed_response_fault(status)),
        }
    }

    /// The reply for a stream that begins with an error event.
    pub(super) fn for_error_event(decision: RetryDecision, status: StatusCode) -> Self {
        match decision.reply {
            FinalReplyKind::ProviderError => Self::FailedStream,
            FinalReplyKind::AccountRefused => {
                Self::from_fault(decision, refused_account_fault(status))
            }
            _ => Self::from_fault(decision, failed_response_fault(status)),
        }
    }

    /// The reply for a response that is nothing of the protocol.
    pub(super) fn for_foreign_response(decision: RetryDecision, status: StatusCode) -> Self {
        match status.is_success() {
            true => Self::ForeignBody(decision),
            false => Self::from_fault(decision, unexpected_status_fault(status)),
        }
    }

    fn from_fault(decision: RetryDecision, fault: Fault) -> Self {
        Self::Fault(Box::new(decision.fault(fault)))
    }
}

impl ProviderErrorReply {
    /// The wait that the provider's body asks for.
    pub(super) fn wait_in_body(&self) -> Option<Duration> {
        match &self.body {
            ErrorReplyBody::Provider(body) => retry_after::from_error_body(body),
            ErrorReplyBody::Gateway(_) => None,
        }
    }

    /// Converts the provider's body, of a response with this status, for the caller.
    pub(super) fn convert(
        &mut self,
        transcoder: &ResponseTranscoder,
        status: StatusCode,
        request_id: &str,
    ) {
        if let ErrorReplyBody::Provider(body) = &mut self.body {
            *body = transcoder.error_body(status, std::mem::take(body), request_id);
        }
    }
}

impl ErrorReplyBody {
    /// The body for the caller of a response with the status of an error.
    ///
    /// An error that is not in the protocol's format comes from a proxy in front of the provider. SDKs could not parse
    /// it, so the body is replaced by an error in the protocol's format.
    ///
    /// # Errors
    /// The body broke off.
    pub(super) fn for_response(
        status: StatusCode,
        headers: &HeaderMap,
        kind: ResponseBodyKind,
        body: BodyReadResult,
    ) -> Result<Self, Fault> {
        match body.end {
            BodyEnd::Broken(fault) => Err(fault),
            BodyEnd::Complete if kind.is_protocols_error(&body.bytes) => {
                Ok(Self::Provider(body.bytes))
            }
            BodyEnd::Complete | BodyEnd::TooLong => {
                let fault = foreign_error_fault(status, headers, &body.bytes);
                Ok(Self::Gateway(fault))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_channel::retry_policy::NextAttempt;
    use headgate_protocol::fault::FaultKind;

    const BAD_GATEWAY: StatusCode = StatusCode::BAD_GATEWAY;

    fn decision(reply: FinalReplyKind) -> RetryDecision {
        RetryDecision {
            next: NextAttempt::Stop,
            reply,
            sdk_may_retry: false,
        }
    }

    fn name(plan: &ReplyPlan) -> String {
        match plan {
            ReplyPlan::Response => "response".to_owned(),
            ReplyPlan::FailedStream => "failed stream".to_owned(),
            ReplyPlan::ForeignBody(_) => "foreign body".to_owned(),
            ReplyPlan::Fault(fault) => format!("{} {}", fault.kind.code(), fault.forbids_retry),
            ReplyPlan::ProviderError(error) => match &error.body {
                ErrorReplyBody::Provider(_) => "the provider's body".to_owned(),
                ErrorReplyBody::Gateway(fault) => format!("body of {}", fault.kind.code()),
            },
        }
    }

    #[test]
    fn an_error_is_passed_on_only_if_sdks_can_parse_its_whole_body() {
        let broken = || BodyEnd::Broken(Fault::new(FaultKind::UpstreamTimeout, "silent"));
        let error = r#"{"error":{"message":"no"}}"#;
        for (kind, body, end, expected) in [
            (
                ResponseBodyKind::Json,
                error,
                BodyEnd::Complete,
                "the provider's body",
            ),
            (
                ResponseBodyKind::Other,
                error,
                BodyEnd::Complete,
                "the provider's body",
            ),
            (
                ResponseBodyKind::Json,
                "",
                BodyEnd::Complete,
                "body of upstream_error",
            ),
            (
                ResponseBodyKind::Foreign,
                error,
                BodyEnd::Complete,
                "body of upstream_error",
            ),
            (
                ResponseBodyKind::Other,
                "<html>",
                BodyEnd::Complete,
                "body of upstream_error",
            ),
            (
                ResponseBodyKind::Json,
                error,
                BodyEnd::TooLong,
                "body of upstream_error",
            ),
            (
                ResponseBodyKind::Json,
                error,
                broken(),
                "upstream_timeout true",
            ),
        ] {
            let body = BodyReadResult {
                bytes: Bytes::from_static(body.as_bytes()),
                end,
            };
            let body = ErrorReplyBody::for_response(BAD_GATEWAY, &HeaderMap::new(), kind, body);
            let decision = decision(FinalReplyKind::ProviderError);
            let plan = ReplyPlan::for_error(decision, BAD_GATEWAY, body);
            assert_eq!(name(&plan), expected);
        }
    }

    #[test]
    fn the_retry_policy_decides_which_responses_an_error_replaces() {
        use FinalReplyKind::{AccountRefused, InvalidResponse, PaidFailure, ProviderError};
        let body = || Ok(ErrorReplyBody::Provider(Bytes::from_static(b"{}")));
        let ok = StatusCode::OK;
        let plans = [
            (
                ReplyPlan::for_error(decision(ProviderError), BAD_GATEWAY, body()),
                "the provider's body",
            ),
            (
                ReplyPlan::for_error(decision(AccountRefused), BAD_GATEWAY, body()),
                "upstream_error true",
            ),
            (
                ReplyPlan::for_error(decision(PaidFailure), BAD_GATEWAY, body()),
                "upstream_error true",
            ),
            (
                ReplyPlan::for_error(decision(InvalidResponse), BAD_GATEWAY, body()),
                "invalid_upstream_response true",
            ),
            (
                ReplyPlan::for_error_event(decision(ProviderError), ok),
                "failed stream",
            ),
            (
                ReplyPlan::for_error_event(decision(AccountRefused), ok),
                "upstream_error true",
            ),
            (
                ReplyPlan::for_foreign_response(decision(FinalReplyKind::Fault), ok),
                "foreign body",
            ),
            (
                ReplyPlan::for_foreign_response(decision(FinalReplyKind::Fault), StatusCode::FOUND),
                "upstream_error true",
            ),
        ];
        for (plan, expected) in plans {
            assert_eq!(name(&plan), expected);
        }
    }
}
