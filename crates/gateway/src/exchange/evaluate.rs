//! Decides whether a response is kept, by its status, its error body and the first events of a stream.
//!
//! A stream is committed at its first event with content. The events before it only frame the response, and providers
//! often send an error right after them. While another channel is left, these events are held back for a bounded time
//! and size, so that such an error leads to a failover.

use super::attempt_verdict::{AttemptVerdict, processing_by};
use super::attempts::AttemptLoop;
use super::credential_renewal::CredentialRenewal;
use super::examine_body::{BodyExaminationResult, protocol_to_examine};
use super::first_events::FirstEventsResult;
use super::reply_plan::{ErrorReplyBody, ReplyPlan};
use super::suspect_request::suspect_request;
use crate::upstream::bounded_body::{BodyEnd, BodyReadResult};
use crate::upstream::client::SendError;
use crate::upstream::response::{BodyKindByExamination, UpstreamResponse};
use bytes::Bytes;
use headgate_channel::clock::MonotonicTime;
use headgate_channel::evidence::SuspectRequest;
use headgate_channel::lease::ChannelLease;
use headgate_channel::outcome::AttemptOutcome;
use headgate_channel::retry_policy::SendProgress;
use headgate_channel::retry_policy::{
    AttemptFailureClass, NextAttempt, RetryDecision, RetrySafety,
};
use headgate_core::filter::response_pieces::ResponsePieces;
use headgate_core::filter::view::ResponseBodyKind;
use headgate_protocol::error_class::{
    ErrorClass, ErrorClassification, ErrorEvidence, ErrorSubject,
};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::{ids, retry_after, sealed_content, upstream_request_id};
use headgate_translate::with_error_code;
use http::{HeaderMap, Method, StatusCode};
use std::pin::pin;
use std::time::SystemTime;

/// Maximum number of bytes of an error body that are read. A longer body is not forwarded.
pub(crate) const ERROR_BYTES_MAX: usize = 1 << 20;

/// What the start of a response turned out to be.
enum ResponseStartResult {
    /// The body of an error, read to its end or to its limit.
    Error(BodyReadResult),
    /// Nothing of the protocol, by its head.
    Foreign(AttemptFailureClass),
    /// JSON under a success status, as far as it was examined.
    Json(BodyKindByExamination),
    /// An error under a success status.
    EmbeddedError(Bytes),
    /// As that, by which the provider has refused the request, with the status that it stands for.
    RefusalUnderSuccess(StatusCode, Bytes),
    /// No JSON object under a success status.
    Unreadable,
    /// No WebSocket, in response to a handshake; why.
    NoSession(String),
    /// A stream, or a body that is not examined.
    Body(FirstEventsResult),
}

impl AttemptLoop<'_> {
    /// Keeps `response`, or gives it up for another channel.
    pub(super) async fn evaluate(
        &mut self,
        mut response: UpstreamResponse,
        mut lease: ChannelLease,
    ) -> AttemptVerdict {
        let status = response.status;
        self.request.info.may_have_cost = status.is_success();
        self.request.info.processing = processing_by(status);
        match self.read_start(&mut response, &lease).await {
            Ok(ResponseStartResult::Error(body)) => self.fail_with_error(response, lease, body),
            Ok(ResponseStartResult::Foreign(end)) => self.fail_foreign(response, lease, end, None),
            Ok(ResponseStartResult::Json(examined)) => self.keep_body(response, lease, examined),
            Ok(ResponseStartResult::EmbeddedError(body)) => {
                self.fail_embedded(response, lease, body)
            }
            Ok(ResponseStartResult::RefusalUnderSuccess(status, bytes)) => {
                self.request.info.may_have_cost = false;
                self.request.info.processing = processing_by(status);
                response.status = status;
                response.examined = BodyKindByExamination::EmbeddedError;
                response.drop_peeked();
                let end = BodyEnd::Complete;
                self.fail_with_error(response, lease, BodyReadResult { bytes, end })
            }
            Ok(ResponseStartResult::Unreadable) => {
                // Nothing of it can be shown to the caller.
                let detail = "the body under a success status is no result of the protocol";
                let end = AttemptFailureClass::UnreadableSuccess;
                self.fail_foreign(response, lease, end, Some(detail))
            }
            Ok(ResponseStartResult::NoSession(detail)) => {
                let end = AttemptFailureClass::ForeignBody;
                self.fail_foreign(response, lease, end, Some(&detail))
            }
            Ok(ResponseStartResult::Body(FirstEventsResult::Error(error)))
                if !error.class.is_callers() || self.has_fallback_for(error.class) =>
            {
                self.fail_at_first_event(response, lease, error)
            }
            // An error about the request itself is a stream like any other.
            Ok(ResponseStartResult::Body(_)) => {
                lease.report_committed();
                AttemptVerdict::keep(response, lease)
            }
            Err(fault) => {
                response.discard().await;
                let error = SendError {
                    fault,
                    progress: SendProgress::Sent,
                };
                self.record_failed_attempt(error, &mut lease)
            }
        }
    }

    /// Reads as much of a response as decides whether it is kept.
    ///
    /// # Errors
    /// The response broke off before the caller received any of it.
    async fn read_start(
        &mut self,
        response: &mut UpstreamResponse,
        lease: &ChannelLease,
    ) -> Result<ResponseStartResult, Fault> {
        let status = response.status;
        // Without a protocol nothing is read, and the body passes as it is, unless a filter changes its pieces.
        let protocol = lease.candidate.protocol;
        if protocol.is_some() || self.request.state.get::<ResponsePieces>().is_some() {
            response.decode_content();
        }
        let kind = response.declare_kind(protocol);
        if status.is_client_error() || status.is_server_error() {
            return Ok(ResponseStartResult::Error(self.read_error(response).await));
        }
        if lease.candidate.opens_session() && !status.is_redirection() {
            return Ok(match self.check_acceptance(response) {
                Ok(()) => ResponseStartResult::Body(FirstEventsResult::Content),
                Err(detail) => ResponseStartResult::NoSession(detail),
            });
        }
        if !status.is_success() {
            return Ok(ResponseStartResult::Foreign(AttemptFailureClass::Redirect));
        }
        if kind == ResponseBodyKind::Foreign && protocol.is_some() {
            return Ok(ResponseStartResult::Foreign(
                AttemptFailureClass::ForeignBody,
            ));
        }
        let kind = match protocol_to_examine(self.request, protocol, kind) {
            None => kind,
            Some(protocol) => match self
                .examine_body(
                    response,
                    protocol,
                    lease.candidate.channel.family.as_deref(),
                )
                .await?
            {
                BodyExaminationResult::Refusal(status, body) => {
                    return Ok(ResponseStartResult::RefusalUnderSuccess(status, body));
                }
                BodyExaminationResult::Success => {
                    return Ok(ResponseStartResult::Json(BodyKindByExamination::Success));
                }
                BodyExaminationResult::Undecided => {
                    return Ok(ResponseStartResult::Json(BodyKindByExamination::Unknown));
                }
                BodyExaminationResult::Failure(body) => {
                    return Ok(ResponseStartResult::EmbeddedError(body));
                }
                BodyExaminationResult::Unreadable => return Ok(ResponseStartResult::Unreadable),
                BodyExaminationResult::EventStream => {
                    response.examined = BodyKindByExamination::EventStream;
                    ResponseBodyKind::Stream
                }
            },
        };
        let first = self.wait_for_first_event(response, kind, lease).await?;
        Ok(ResponseStartResult::Body(first))
    }

    /// Reads an error's body to its end, or to its limit.
    async fn read_error(&mut self, response: &mut UpstreamResponse) -> BodyReadResult {
        response.sniff_coding();
        let reading = response.read_bounded(ERROR_BYTES_MAX);
        let body = self.wait_times.upstream(pin!(reading), |_| true).await;
        if let BodyEnd::Broken(fault) = &body.end {
            tracing::debug!(
                id = &*self.request.id,
                detail = fault.detail,
                "the provider's error response was cut off"
            );
        }
        match &body.end {
            // What cannot be decoded says as little as a page of a proxy.
            BodyEnd::Broken(fault) if fault.kind == FaultKind::UnreadableResponse => {
                BodyReadResult {
                    bytes: Bytes::new(),
                    end: BodyEnd::Complete,
                }
            }
            _ => body,
        }
    }

    /// Gives up a response that is nothing of the protocol.
    fn fail_foreign(
        &mut self,
        response: UpstreamResponse,
        mut lease: ChannelLease,
        end: AttemptFailureClass,
        detail: Option<&str>,
    ) -> AttemptVerdict {
        let outcome = AttemptOutcome::invalid_response(response.status);
        self.record_outcome(&mut lease, outcome, detail);
        let decision = self.policy.decision(end);
        self.note_cause(ErrorClass::ServerError, decision);
        let plan = ReplyPlan::for_foreign_response(decision, response.status);
        AttemptVerdict::from_failed_response(response, lease, decision.next, plan, outcome)
    }

    /// Gives up a stream that begins with an error of the provider.
    fn fail_at_first_event(
        &mut self,
        response: UpstreamResponse,
        mut lease: ChannelLease,
        error: ErrorClassification,
    ) -> AttemptVerdict {
        // What reports no usage has used nothing that is known, but a paid create may have been made.
        if self.policy.safety != RetrySafety::Paid {
            self.request.info.may_have_cost = self.has_reported_usage();
        }
        let suspect = self.suspect(None);
        let outcome = AttemptOutcome::from_error(error, response.status, None, Some(suspect));
        let detail = "error in the first event of the stream";
        self.record_outcome(&mut lease, outcome, Some(detail));
        let end = AttemptFailureClass::ErrorEvent(error.class);
        let decision = self.decision_about(end, error.evidence);
        self.note_cause(error.class, decision);
        let plan = ReplyPlan::for_error_event(decision, response.status);
        AttemptVerdict::from_failed_response(response, lease, decision.next, plan, outcome)
    }

    /// Classifies an error response by its body, and decides what follows.
    fn fail_with_error(
        &mut self,
        response: UpstreamResponse,
        mut lease: ChannelLease,
        mut body: BodyReadResult,
    ) -> AttemptVerdict {
        body.bytes = with_error_code(body.bytes, response.headers(), lease.candidate.protocol);
        let (status, bytes) = (response.status, &body.bytes);
        if self.request.info.upstream_request_id.is_none() {
            self.record_upstream_id(upstream_request_id::from_body(bytes), &lease);
        }
        let errors = &lease.candidate.channel.errors;
        let mut error = errors.classify_response(status.as_u16(), bytes, self.error_subject());
        if error.class.is_callers() && is_refused_by_account(&lease, bytes) {
            error = ErrorClassification {
                class: ErrorClass::ModelNotFound,
                evidence: ErrorEvidence::Code,
            };
        }
        let retry_after = retry_after::from_headers(response.headers(), SystemTime::now())
            .or_else(|| retry_after::from_error_body(bytes));
        let suspect = self.suspect(Some(bytes));
        let is_renewed = self.renews_credential(&lease, response.headers(), bytes, error.class);
        let outcome = match is_renewed {
            false => AttemptOutcome::from_error(error, status, retry_after, Some(suspect)),
            // The next request is signed otherwise, so that this says nothing about the channel's health.
            true => AttemptOutcome::ClientError,
        };
        self.record_outcome(&mut lease, outcome, None);
        let decided_as = match self.policy.safety {
            // Another channel may have sealed it. What this one did is right: its health is not in question.
            RetrySafety::Free if sealed_content::is_refused(status.as_u16(), bytes) => {
                ErrorClass::ModelNotFound
            }
            _ => error.class,
        };
        let end = AttemptFailureClass::from_error(status, decided_as);
        let decision = self.decision_about(end, error.evidence);
        self.note_cause(error.class, decision);
        let reply = ErrorReplyBody::for_response(status, response.headers(), response.kind(), body);
        let plan = ReplyPlan::for_error(decision, status, reply);
        AttemptVerdict::from_failed_response(response, lease, decision.next, plan, outcome)
    }

    /// Whether the credential or the time of signatures is another one for the next request, since this one was too old. It
    /// counts once for each exchange.
    fn renews_credential(
        &mut self,
        lease: &ChannelLease,
        headers: &HeaderMap,
        body: &[u8],
        class: ErrorClass,
    ) -> bool {
        let Some(credential) = lease.credential() else {
            return false;
        };
        let is_refused = class == ErrorClass::RefusedCredential;
        let age = lease.began().until(MonotonicTime::now());
        let is_renewed = credential.signer.renew(headers, body, is_refused, age);
        if !is_renewed || self.renewal != CredentialRenewal::Unneeded {
            return false;
        }
        self.renewal = CredentialRenewal::Due;
        true
    }

    /// What a 404 may be about: a request that generates, without ids of its own, names nothing but its model.
    pub(super) fn error_subject(&self) -> ErrorSubject {
        let request = &*self.request;
        let generates = request.method == Method::POST && request.model().is_some();
        let has_ids = || {
            let document = request.body.document();
            document.is_some_and(|document| {
                let referred = ids::references_in_body(document);
                !referred.ids.is_empty() || referred.unreadable.is_some()
            })
        };
        match generates && request.pinned.is_none() && !has_ids() {
            true => ErrorSubject::Model,
            false => ErrorSubject::Resource,
        }
    }

    /// The request, which may have provoked `error`.
    pub(super) fn suspect(&self, error: Option<&[u8]>) -> SuspectRequest {
        suspect_request(self.request, &self.snapshot.callers, error)
    }

    /// The retry policy's decision about a provider's error.
    pub(super) fn decision_about(
        &mut self,
        end: AttemptFailureClass,
        evidence: ErrorEvidence,
    ) -> RetryDecision {
        let decision =
            self.policy
                .decision_about(end, evidence, self.has_failed_over_inconclusively);
        self.has_failed_over_inconclusively |=
            evidence != ErrorEvidence::Code && decision.next == NextAttempt::Candidate;
        decision
    }
}

/// Whether the channel's family lists the error's code as one that allows another channel.
fn is_refused_by_account(lease: &ChannelLease, body: &Bytes) -> bool {
    let Some(family) = &lease.candidate.channel.family else {
        return false;
    };
    let document = JsonDocument::parse(body.clone(), &JsonLimits::default());
    let error = document.ok().and_then(|document| family.error(&document));
    let code = error.and_then(|error| error.code);
    code.is_some_and(|code| family.may_fail_over(&code))
}
