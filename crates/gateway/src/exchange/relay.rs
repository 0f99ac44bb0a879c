//! Relays the provider's response to the caller: JSON, other bodies and redacted errors.

use super::Exchange;
use super::evaluate::ERROR_BYTES_MAX;
use super::reply_plan::{ErrorReplyBody, ProviderErrorReply, ReplyPlan};
use super::response_fault::{foreign_body_fault, too_slow};
use super::response_transcoder::ResponseTranscoder;
use crate::deadline::DeadlineElapsed;
use crate::reply;
use crate::upstream::bounded_body::{BodyEnd, BodyReadResult};
use crate::upstream::response::UpstreamResponse;
use bytes::Bytes;
use headgate_channel::lease::ChannelLease;
use headgate_channel::retry_policy::SendProgress;
use headgate_channel::retry_policy::{AttemptFailureClass, RetryDecision};
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::ResponseBodyAccess;
use headgate_core::filter::view::{ResponseBodyKind, ResponseView};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::redact::redact;
use headgate_protocol::{Protocol, header_policy};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use std::pin::pin;
use std::time::Duration;

/// Largest JSON response that filters may change, in bytes. Larger ones pass unchanged. A response with ten images of 8
/// MB in base64 fits.
const REPLACED_BYTES_MAX: usize = 128 << 20;
/// Minimum time limit for filters that change a body: the response has arrived, and may have cost money.
const REPLACED_WITHIN: Duration = Duration::from_secs(60);

impl Exchange<'_> {
    /// Relays the response to its end, or what `plan` has in place of it.
    ///
    /// # Errors
    /// The response broke off, or an error replaces it. `DownstreamSession::is_committed` shows whether the caller has received part of it.
    pub(super) async fn relay(
        &mut self,
        mut response: UpstreamResponse,
        lease: &ChannelLease,
        plan: ReplyPlan,
        transcoder: &mut ResponseTranscoder,
    ) -> Result<(), Fault> {
        let candidate = &lease.candidate;
        let channel = &candidate.channel;
        let secrets = channel.mask.current();
        let mut headers = header_policy::response_headers_for_caller(response.headers(), &secrets);
        let shown = &channel.response_headers;
        shown.add_to(&mut headers, response.headers(), &secrets);
        self.route
            .response
            .keep_granted_headers(&mut self.request, response.headers(), &secrets);
        let kind = response.kind();
        if kind != response.declared_kind {
            relabel(&mut headers, kind);
        }
        if response.is_decoded() {
            headers.remove(header::CONTENT_ENCODING);
            headers.remove(header::CONTENT_LENGTH);
        }
        self.record.status = Some(response.status);
        self.record.committed = Some(self.record.started.elapsed());
        self.record.streamed = kind == ResponseBodyKind::Stream;
        if self.record.streamed {
            self.open
                .request()
                .update(|details| details.streamed = true);
        }
        let mut view = ResponseView {
            request: &mut self.request,
            candidate: Some(candidate),
            status: response.status,
            headers: &mut headers,
            kind,
        };
        if let Err(fault) = self.route.response.on_response_head(&mut view).await {
            response.discard().await;
            let decision = self.retry_policy.decision(AttemptFailureClass::Unreadable);
            return Err(decision.fault(fault));
        }
        // A filter may have changed it. What the response means for retries and health is decided by the provider's.
        self.record.status = Some(view.status);
        reply::complete_head(&mut headers, self.request.protocol, &self.request);
        transcoder.describe(&mut headers, &mut self.request);
        let relayed = match plan {
            ReplyPlan::Response | ReplyPlan::FailedStream => {
                self.relay_good(&mut response, headers, kind, candidate, transcoder)
                    .await
            }
            ReplyPlan::ProviderError(mut error) => {
                self.record.status = Some(transcoder.error_status(self.caller_status(&response)));
                if !headers.contains_key(header::RETRY_AFTER)
                    && let Some(wait) = error.wait_in_body()
                {
                    reply::add_retry_after(&mut headers, wait);
                }
                error.convert(transcoder, response.status, &self.request.id);
                self.relay_error(&response, headers, kind, candidate, *error)
                    .await
            }
            ReplyPlan::ForeignBody(decision) => {
                Err(self.foreign_body_fault(&mut response, decision).await)
            }
            ReplyPlan::Fault(fault) => {
                response.discard().await;
                return Err(*fault);
            }
        };
        if let Some(at) = response.first_chunk() {
            self.record.first_byte = Some(at.into_std().duration_since(self.record.started));
        }
        match relayed {
            Ok(()) => response.give_back_at_end().await,
            // Closing the connection is the only way to make the provider stop at once.
            Err(_) => response.discard().await,
        }
        relayed
    }

    async fn relay_good(
        &mut self,
        response: &mut UpstreamResponse,
        headers: HeaderMap,
        kind: ResponseBodyKind,
        candidate: &Candidate,
        transcoder: &mut ResponseTranscoder,
    ) -> Result<(), Fault> {
        let is_checked = self.route.response.output_checks().is_required();
        match kind {
            ResponseBodyKind::Foreign if is_checked => {
                Err(self.unchecked_fault("it is not of the protocol"))
            }
            ResponseBodyKind::Stream => {
                self.relay_stream(response, headers, candidate, transcoder)
                    .await
            }
            ResponseBodyKind::Json | ResponseBodyKind::Other
                if self.route.response.body_access() == ResponseBodyAccess::Replace
                    || !transcoder.passes_bytes() =>
            {
                self.relay_replaced(response, headers, candidate, transcoder)
                    .await
            }
            ResponseBodyKind::Json | ResponseBodyKind::Foreign | ResponseBodyKind::Other => {
                self.relay_straight(response, headers, kind, candidate)
                    .await
            }
        }
    }

    /// The error in place of a response body that is not of the protocol.
    async fn foreign_body_fault(
        &mut self,
        response: &mut UpstreamResponse,
        decision: RetryDecision,
    ) -> Fault {
        match self.read_bounded(response, ERROR_BYTES_MAX).await {
            Ok((body, _)) => decision.fault(foreign_body_fault(&body)),
            Err(fault) => self.uncommitted_fault(fault),
        }
    }

    /// The error for a response that broke off before the caller received any of it.
    fn uncommitted_fault(&self, fault: Fault) -> Fault {
        match fault.kind {
            FaultKind::Upstream | FaultKind::UpstreamTimeout | FaultKind::Ending => {
                let end = AttemptFailureClass::from_fault(fault.kind, SendProgress::Sent);
                self.retry_policy.decision(end).fault(fault)
            }
            _ => fault,
        }
    }

    /// Relays a provider's error with its status, its body redacted of credentials.
    async fn relay_error(
        &mut self,
        response: &UpstreamResponse,
        mut headers: HeaderMap,
        kind: ResponseBodyKind,
        candidate: &Candidate,
        error: ProviderErrorReply,
    ) -> Result<(), Fault> {
        let ProviderErrorReply { body, decision } = error;
        let mut status = self.caller_status(response);
        let body = match body {
            ErrorReplyBody::Provider(body) => {
                let mut body = Bytes::from(redact(&body, &[]).into_owned());
                let mut view = ResponseView {
                    request: &mut self.request,
                    candidate: Some(candidate),
                    status,
                    headers: &mut headers,
                    kind,
                };
                let max_wait = response.time_left().max(REPLACED_WITHIN);
                let replaced = self.route.response.replace_body(&mut view, &mut body);
                let replaced = match self
                    .downstream
                    .until_client_gone_within(max_wait, pin!(replaced))
                    .await
                {
                    Ok(Ok(replaced)) => replaced,
                    Ok(Err(DeadlineElapsed)) => Err(too_slow(max_wait)),
                    Err(interrupted) => Err(interrupted.into()),
                };
                replaced.map_err(|fault| decision.fault(fault))?;
                status = view.status;
                body
            }
            ErrorReplyBody::Gateway(fault) => {
                let (protocol, id) = (self.request.protocol, &self.request.id);
                let mut rendered = reply::from_fault(protocol, &fault, id);
                // The provider refused the request: clients must not take that for a failure.
                if status.is_client_error() {
                    let errors = &Protocol::descriptor_for(protocol).errors;
                    rendered.body = errors.render_custom(status.as_u16(), &(&fault).into(), id);
                }
                headers.extend(rendered.headers);
                self.record.fault = Some(fault);
                rendered.body
            }
        };
        // SDKs retry these statuses by themselves.
        let is_retried_by_sdks =
            matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT);
        if is_retried_by_sdks && !decision.sdk_may_retry {
            reply::forbid_retry(&mut headers);
        }
        let sent = self.send_whole(status, headers, body).await;
        sent.map_err(|fault| decision.fault(fault))
    }

    /// Relays a response that is converted, or that filters may change: the whole body is read before the head is sent.
    async fn relay_replaced(
        &mut self,
        response: &mut UpstreamResponse,
        mut headers: HeaderMap,
        candidate: &Candidate,
        transcoder: &mut ResponseTranscoder,
    ) -> Result<(), Fault> {
        // Held until the body was sent.
        let mut share = self.gateway.whole_bodies.share();
        let reading = response.read_budgeted(REPLACED_BYTES_MAX, &mut share);
        let read = match self.downstream.until_client_gone(pin!(reading)).await {
            Ok(body) => whole_or_start(body),
            Err(interrupted) => Err(interrupted.into()),
        };
        let (provider_body, complete) = read.map_err(|fault| self.uncommitted_fault(fault))?;
        let must_be_whole =
            !transcoder.passes_bytes() || self.route.response.output_checks().is_required();
        if !complete && must_be_whole {
            return Err(self.unchecked_fault("it is too large"));
        }
        if !complete {
            headers.remove(header::CONTENT_LENGTH);
            let status = self.caller_status(response);
            self.downstream.write_head(status, headers).await?;
            self.downstream.write(provider_body, false).await?;
            let last = self.forward_start(response, |_| {}).await?;
            return self.end_response(last).await;
        }
        self.check_late(response, &provider_body, candidate)?;
        let body = transcoder.body(provider_body.clone()).map_err(|fault| {
            let decision = self.retry_policy.decision(AttemptFailureClass::Unreadable);
            decision.fault(fault)
        });
        let mut body = body?;
        let mut view = ResponseView {
            status: self.caller_status(response),
            request: &mut self.request,
            candidate: Some(candidate),
            headers: &mut headers,
            kind: ResponseBodyKind::Json,
        };
        let replaced = self.route.response.replace_body(&mut view, &mut body);
        let max_wait = response.time_left().max(REPLACED_WITHIN);
        let replaced = self
            .downstream
            .until_client_gone_within(max_wait, pin!(replaced))
            .await;
        match replaced {
            Ok(Ok(replaced)) => {
                let decision = self.retry_policy.decision(AttemptFailureClass::Unreadable);
                replaced.map_err(|fault| decision.fault(fault))?;
            }
            Ok(Err(DeadlineElapsed)) => return Err(self.uncommitted_fault(too_slow(max_wait))),
            Err(interrupted) => return Err(self.uncommitted_fault(interrupted.into())),
        }
        let status = view.status;
        // The body is complete, so that filters read it before the write without delay for the caller.
        self.observe(response.status, candidate, provider_body, body.clone());
        self.send_whole(status, headers, body).await
    }

    async fn send_whole(
        &mut self,
        status: StatusCode,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<(), Fault> {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        self.record.status = Some(status);
        self.release_permits();
        self.downstream.write_head(status, headers).await?;
        self.downstream.write(body, true).await
    }

    /// The status for the caller: the provider's, unless a filter changed it.
    pub(super) fn caller_status(&self, response: &UpstreamResponse) -> StatusCode {
        self.record.status.unwrap_or(response.status)
    }

    /// Up to `bytes_max` of the body, and whether that is the whole body.
    async fn read_bounded(
        &mut self,
        response: &mut UpstreamResponse,
        bytes_max: usize,
    ) -> Result<(Bytes, bool), Fault> {
        let reading = response.read_bounded(bytes_max);
        let body = self.downstream.until_client_gone(pin!(reading)).await?;
        whole_or_start(body)
    }

    /// The next chunk of the body. Ends with an error if the caller leaves.
    pub(super) async fn next_chunk(
        &mut self,
        response: &mut UpstreamResponse,
    ) -> Result<Option<Bytes>, Fault> {
        let reading = response.next_chunk();
        self.downstream.until_client_gone(pin!(reading)).await?
    }
}

/// The bytes that were read of a body, and whether they are all.
fn whole_or_start(body: BodyReadResult) -> Result<(Bytes, bool), Fault> {
    match body.end {
        BodyEnd::Complete => Ok((body.bytes, true)),
        BodyEnd::TooLong => Ok((body.bytes, false)),
        BodyEnd::Broken(fault) => Err(fault),
    }
}

/// Sets the media type of a body whose provider declares another one.
fn relabel(headers: &mut HeaderMap, kind: ResponseBodyKind) {
    let media_type = match kind {
        ResponseBodyKind::Json => "application/json",
        ResponseBodyKind::Stream => "text/event-stream",
        ResponseBodyKind::Foreign | ResponseBodyKind::Other => return,
    };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
}

/// Whether the provider closed the connection or timed out.
pub(super) fn is_channel_fault(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Upstream | FaultKind::UpstreamTimeout)
}
