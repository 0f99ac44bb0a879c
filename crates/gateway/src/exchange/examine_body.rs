//! Examines a body under a success status before the caller gets any of it: is it a success of its protocol?
//!
//! A body that is small enough is examined whole, a larger one by its start. What is seen too late for that is examined
//! once the body has passed, and counts as a failure then (`relay_straight`).

use super::Exchange;
use super::attempt_verdict::AttemptVerdict;
use super::attempts::AttemptLoop;
use super::peeked_body::PeekedBody;
use super::reply_plan::{ErrorReplyBody, ReplyPlan};
use super::response_fault::failed_response_fault;
use crate::upstream::response::{BodyKindByExamination, ChunkReadError, UpstreamResponse};
use bytes::Bytes;
use headgate_channel::lease::ChannelLease;
use headgate_channel::outcome::AttemptOutcome;
use headgate_channel::retry_policy::{AttemptFailureClass, RetrySafety};
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::output_check::asks_for_stream;
use headgate_core::filter::stream_info::UpstreamProcessing;
use headgate_core::filter::view::{RequestView, ResponseBodyKind};
use headgate_core::task::family::VideoFamily;
use headgate_protocol::error_class::{
    ErrorClass, ErrorClassification, ErrorClassifier, ErrorEvidence, ErrorSubject,
};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::opaque_result::may_be_opaque_result;
use headgate_protocol::response_verdict::{ResponseVerdict, reported_status};
use headgate_protocol::sse::is_event_stream_start;
use headgate_protocol::{
    ChannelProtocol, GenerationMedium, response_verdict, retry_after, upstream_request_id,
};
use http::{Method, StatusCode};
use std::pin::pin;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// Bodies up to this many bytes are examined whole.
const EXAMINED_BYTES_MAX: usize = 64 << 10;
/// How long a body that has begun is held at most, if the route does not say how long it holds first events.
const HELD_MAX: Duration = Duration::from_secs(1);

/// What a body turned out to be before the commit.
pub(super) enum BodyExaminationResult {
    Success,
    /// It is too large or too slow to be examined whole, and begins like an object; or it may be a result that is not JSON.
    Undecided,
    /// An event stream whose headers say something else.
    EventStream,
    Failure(Bytes),
    /// An error that, by the channel's video family, refuses the create, with the status that it stands for.
    Refusal(StatusCode, Bytes),
    Unreadable,
}

/// The protocol by which responses of a channel to `request` are examined; `None` if a success of it is not defined.
pub(super) fn examined_protocol(
    request: &RequestView,
    protocol: Option<ChannelProtocol>,
) -> Option<ChannelProtocol> {
    let is_post = request.method == Method::POST;
    let protocol = protocol?;
    let is_transcript = protocol.descriptor().medium == GenerationMedium::Transcript;
    let is_examined =
        is_post && is_transcript || response_verdict::is_examined(is_post, request.endpoint_path());
    is_examined.then_some(protocol)
}

impl AttemptLoop<'_> {
    /// Reads the body until the verdict is known, or a bound is reached.
    ///
    /// # Errors
    /// The body broke off.
    pub(super) async fn examine_body(
        &mut self,
        response: &mut UpstreamResponse,
        protocol: ChannelProtocol,
        family: Option<&VideoFamily>,
    ) -> Result<BodyExaminationResult, Fault> {
        response.sniff_coding();
        let held_max = self.route.failover.buffer_first_events;
        let held_max = held_max.map_or(HELD_MAX, |limits| limits.time);
        let first = {
            let reading = pin!(response.peek_chunk());
            self.wait_times.upstream(reading, |_| true).await?
        };
        let start = first.as_deref().unwrap_or_default();
        if may_be_opaque_result(protocol.descriptor().medium, response.headers(), start) {
            return Ok(BodyExaminationResult::Undecided);
        }
        let Some(first) = first else {
            return Ok(BodyExaminationResult::Unreadable);
        };
        if response.is_peeked_whole() {
            return Ok(self.examination(protocol, family, first));
        }
        let is_large = response.declared_bytes() > EXAMINED_BYTES_MAX;
        let until = Instant::now() + held_max;
        let mut body = PeekedBody::new(first);
        loop {
            if let Some(start) = body.grown_start() {
                match protocol.success().judge_start(start) {
                    Some(ResponseVerdict::Unreadable) => {
                        return Ok(self.unreadable_or_stream(start));
                    }
                    Some(ResponseVerdict::Success) if is_large => {
                        return Ok(BodyExaminationResult::Undecided);
                    }
                    _ => {}
                }
            }
            if body.len() > EXAMINED_BYTES_MAX {
                return Ok(BodyExaminationResult::Undecided);
            }
            let max_wait = match response_verdict::begins_like_failure(body.start()) {
                // Nothing that the caller could use has come.
                true => response.idle_timeout(),
                false => until.saturating_duration_since(Instant::now()),
            };
            let ends_wait = |read: &_| !matches!(read, Err(ChunkReadError::TimedOut));
            let read = {
                let reading = pin!(response.peek_chunk_within(max_wait));
                self.wait_times.upstream(reading, ends_wait).await
            };
            match read {
                Ok(Some(chunk)) => body.push(&chunk),
                Ok(None) => {}
                Err(ChunkReadError::TimedOut) => return Ok(BodyExaminationResult::Undecided),
                Err(ChunkReadError::Broken(fault)) => return Err(fault),
            }
            if response.is_peeked_whole() {
                return Ok(self.examination(protocol, family, body.into_bytes()));
            }
        }
    }

    /// What a body is that has arrived whole.
    fn examination(
        &self,
        protocol: ChannelProtocol,
        family: Option<&VideoFamily>,
        body: Bytes,
    ) -> BodyExaminationResult {
        if let Some(judged) = family.and_then(|family| judged_by_family(family, &body)) {
            return judged;
        }
        match protocol.success().judge(&body) {
            ResponseVerdict::Success => BodyExaminationResult::Success,
            ResponseVerdict::Failure => BodyExaminationResult::Failure(body),
            ResponseVerdict::Unreadable => self.unreadable_or_stream(&body),
        }
    }

    fn unreadable_or_stream(&self, start: &[u8]) -> BodyExaminationResult {
        match is_event_stream_start(start) && asks_for_stream(self.request) {
            true => BodyExaminationResult::EventStream,
            false => BodyExaminationResult::Unreadable,
        }
    }

    /// Keeps a response whose body is a success, as far as it was examined.
    pub(super) fn keep_body(
        &mut self,
        mut response: UpstreamResponse,
        mut lease: ChannelLease,
        examined: BodyKindByExamination,
    ) -> AttemptVerdict {
        response.examined = examined;
        // A second request would cost a second response: the caller gets this one.
        self.request.info.is_unstreamed = asks_for_stream(self.request);
        lease.report_committed();
        AttemptVerdict::keep(response, lease)
    }

    /// Gives up a response that reports a failure under a success status. From here on it has the status that the
    /// failure should have had.
    pub(super) fn fail_embedded(
        &mut self,
        mut response: UpstreamResponse,
        mut lease: ChannelLease,
        body: Bytes,
    ) -> AttemptVerdict {
        if self.request.info.upstream_request_id.is_none() {
            self.record_upstream_id(upstream_request_id::from_body(&body), &lease);
        }
        let sent = response.status;
        let errors = &lease.candidate.channel.errors;
        let error = errors.classify_response(sent.as_u16(), &body, self.error_subject());
        let retry_after = retry_after::from_headers(response.headers(), SystemTime::now())
            .or_else(|| retry_after::from_error_body(&body));
        let suspect = self.suspect(Some(&body));
        let outcome = AttemptOutcome::from_error(error, sent, retry_after, Some(suspect));
        let detail = "error under a success status";
        self.record_outcome(&mut lease, outcome, Some(detail));
        response.status = status_for(error.class, &body);
        response.examined = BodyKindByExamination::EmbeddedError;
        response.drop_peeked();
        // An image or a video may have been made nevertheless.
        if self.policy.safety != RetrySafety::Paid {
            self.request.info.may_have_cost = self.note_reported_usage(&lease.candidate, &body);
            self.request.info.processing = match response.status.is_client_error() {
                true => UpstreamProcessing::Refused,
                false => UpstreamProcessing::Unknown,
            };
        }
        let end = AttemptFailureClass::EmbeddedError(error.class);
        let decision = self.decision_about(end, error.evidence);
        self.note_cause(error.class, decision);
        let protocol = lease.candidate.protocol;
        let body = match protocol.is_some_and(|it| it.descriptor().errors.is_rendered(&body)) {
            true => ErrorReplyBody::Provider(body),
            false => ErrorReplyBody::Gateway(failed_response_fault(response.status)),
        };
        let plan = ReplyPlan::for_error(decision, response.status, Ok(body));
        AttemptVerdict::from_failed_response(response, lease, decision.next, plan, outcome)
    }
}

impl Exchange<'_> {
    /// Examines a body that was too large or too slow for that before, and is not sent yet.
    ///
    /// # Errors
    /// The body is no success of its protocol.
    pub(super) fn check_late(
        &mut self,
        response: &UpstreamResponse,
        body: &[u8],
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        let is_unknown = response.examined == BodyKindByExamination::Unknown
            && response.kind() == ResponseBodyKind::Json;
        let protocol = is_unknown
            .then(|| examined_protocol(&self.request, candidate.protocol))
            .flatten();
        let errors = &candidate.channel.errors;
        let failure =
            protocol.and_then(|protocol| late_failure(protocol, response.status, body, errors));
        match failure {
            None => Ok(()),
            Some(error) => {
                self.request.info.stream_error = Some(error);
                let decision = self.retry_policy.decision(AttemptFailureClass::Unreadable);
                let mut fault = failed_response_fault(response.status);
                fault.kind = FaultKind::UnreadableResponse;
                Err(decision.fault(fault))
            }
        }
    }
}

/// What the response to a create is by the channel's family; `None` if it has neither a task id nor a listed error.
fn judged_by_family(family: &VideoFamily, body: &Bytes) -> Option<BodyExaminationResult> {
    let document = JsonDocument::parse(body.clone(), &JsonLimits::default()).ok()?;
    if family.has_task_id(&document) {
        return Some(BodyExaminationResult::Success);
    }
    let status = family.status_under_success(&document)?;
    Some(BodyExaminationResult::Refusal(status, body.clone()))
}

/// The status of an error that came with a success status: the one that its body names, or else one for its class.
fn status_for(class: ErrorClass, body: &[u8]) -> StatusCode {
    let reported = reported_status(body).and_then(|status| StatusCode::from_u16(status).ok());
    reported.unwrap_or(match class {
        ErrorClass::InvalidRequest | ErrorClass::ContextTooLong | ErrorClass::ContentPolicy => {
            StatusCode::BAD_REQUEST
        }
        ErrorClass::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorClass::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
        ErrorClass::ServerError => StatusCode::BAD_GATEWAY,
        ErrorClass::RefusedCredential => StatusCode::UNAUTHORIZED,
        ErrorClass::RefusedAccount => StatusCode::FORBIDDEN,
        ErrorClass::ModelNotFound => StatusCode::NOT_FOUND,
    })
}

/// The failure in a complete body that was not examined before; `None` if it is a success.
pub(super) fn late_failure(
    protocol: ChannelProtocol,
    status: StatusCode,
    body: &[u8],
    errors: &ErrorClassifier,
) -> Option<ErrorClassification> {
    match protocol.success().judge(body) {
        ResponseVerdict::Success => None,
        ResponseVerdict::Failure => {
            let status = status.as_u16();
            Some(errors.classify_response(status, body, ErrorSubject::Model))
        }
        ResponseVerdict::Unreadable => Some(ErrorClassification {
            class: ErrorClass::ServerError,
            evidence: ErrorEvidence::Code,
        }),
    }
}

/// The protocol by which a body of this kind is examined.
pub(super) fn protocol_to_examine(
    request: &RequestView,
    protocol: Option<ChannelProtocol>,
    kind: ResponseBodyKind,
) -> Option<ChannelProtocol> {
    match kind {
        ResponseBodyKind::Json | ResponseBodyKind::Other => examined_protocol(request, protocol),
        ResponseBodyKind::Stream | ResponseBodyKind::Foreign => None,
    }
}
