//! Sends subrequests of filters: each is one bounded request to a channel, and counts for its health like an attempt.

mod inline_file;
mod other_host;
mod within_attempt;

use super::Gateway;
use super::exchange::attempts::CAPACITY_POLL_INTERVAL;
use super::exchange::evaluate::ERROR_BYTES_MAX;
use super::exchange::no_channel::no_channel;
use super::exchange::response_fault::{
    foreign_body_fault, foreign_error_fault, refused_account_fault, unexpected_status_fault,
};
use super::upstream::ChannelWithCredential;
use super::upstream::body_kind::response_body_kind;
use super::upstream::bounded_body::{BodyEnd, BodyReadResult};
use super::upstream::client::failure_reason;
use super::upstream::provider_target::below_base_url;
use super::upstream::request::{PreparedBody, PreparedRequest};
use super::upstream::response::UpstreamResponse;
use bytes::Bytes;
use headgate_channel::clock::MonotonicTime;
use headgate_channel::lease::ChannelLease;
use headgate_channel::outcome::{AttemptFailure, AttemptOutcome, FailureReason};
use headgate_channel::retry_policy::SendProgress;
use headgate_core::catalog::channel::TimeoutOverrides;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::ResponseBodyKind;
use headgate_core::subrequest::{
    Subrequest, SubrequestBody, SubrequestFuture, SubrequestResponse, SubrequestSender,
};
use headgate_protocol::error_class::ErrorSubject;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::edit::BodySegments;
use headgate_protocol::redact::redact;
use headgate_protocol::{header_policy, response_verdict, retry_after, upstream_request_id};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use other_host::authority;
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;
use tokio::time::{Instant, timeout_at};

impl SubrequestSender for Gateway {
    fn send(
        self: Arc<Self>,
        subrequest: Subrequest,
        timeouts: TimeoutOverrides,
    ) -> SubrequestFuture {
        let body_use = ResponseBodyUse::Collect;
        Box::pin(async move { self.run_subrequest(&subrequest, timeouts, body_use).await })
    }

    fn send_within_attempt(
        self: Arc<Self>,
        subrequest: Subrequest,
        timeouts: TimeoutOverrides,
    ) -> SubrequestFuture {
        Box::pin(async move { self.run_within_attempt(&subrequest, timeouts).await })
    }

    fn send_and_discard(
        self: Arc<Self>,
        subrequest: Subrequest,
        timeouts: TimeoutOverrides,
    ) -> SubrequestFuture {
        let body_use = ResponseBodyUse::Discard;
        Box::pin(async move { self.run_subrequest(&subrequest, timeouts, body_use).await })
    }
}

/// What is done with the body of a successful response.
#[derive(Clone, Copy)]
enum ResponseBodyUse {
    Collect,
    /// It is read to its end and dropped, so that the provider completes its work.
    Discard,
}

/// A response whose body was read to its end.
struct BufferedResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    inline_file: Option<Bytes>,
}

/// The upstream request of `subrequest`.
///
/// # Errors
/// The path is not a valid URI, or it needs a model and the subrequest has none.
pub(super) fn prepare_subrequest(
    target: ChannelWithCredential<'_>,
    subrequest: &Subrequest,
    timeouts: TimeoutOverrides,
) -> Result<PreparedRequest, Fault> {
    let mut headers = subrequest.headers.clone();
    let accepted = HeaderValue::from_static("application/json");
    headers.entry(header::ACCEPT).or_insert(accepted);
    for (name, value) in &header_policy::request_headers_for_provider(&HeaderMap::new()) {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    let body = match (&subrequest.body, &subrequest.method) {
        (SubrequestBody::Streamed(body), _) => PreparedBody::Streamed(body.clone()),
        (SubrequestBody::Whole(body), &Method::GET) if body.is_empty() => PreparedBody::Absent,
        (SubrequestBody::Whole(body), _) => PreparedBody::Whole(BodySegments::from(body.clone())),
    };
    let path = match &subrequest.other_host {
        None => below_base_url(&subrequest.candidate, &subrequest.path)?,
        Some(_) => subrequest.path.clone(),
    };
    let method = subrequest.method.clone();
    let prepared = PreparedRequest::new(
        target,
        Some(&subrequest.id),
        method.clone(),
        path,
        headers,
        body,
    )?;
    let prepared = PreparedRequest {
        timeouts: timeouts.over(target.channel.timeouts),
        may_repeat: method == Method::GET,
        ..prepared
    };
    match &subrequest.other_host {
        None => Ok(prepared),
        Some(other) => prepared.for_host(authority(other), target.credential),
    }
}

impl Gateway {
    async fn run_subrequest(
        &self,
        subrequest: &Subrequest,
        timeouts: TimeoutOverrides,
        body_use: ResponseBodyUse,
    ) -> Result<SubrequestResponse, Fault> {
        let mut lease = self.lease_for(subrequest).await?;
        let target = ChannelWithCredential::from_lease(&lease);
        if let Some(wait) = target.credential_wait() {
            wait.await;
        }
        let prepared = prepare_subrequest(target, subrequest, timeouts)?;
        let sent = match &subrequest.other_host {
            None => {
                let mut progress = SendProgress::default();
                self.upstream.send(target, &prepared, &mut progress).await
            }
            // Boxed, so that this rare case does not enlarge the future of every subrequest.
            Some(host) => {
                Box::pin(self.send_to_other_host(host, target, &prepared, &subrequest.id)).await
            }
        };
        let (failure, fault) = match sent {
            Ok(response) => match self.read_whole(response, body_use, subrequest).await {
                Ok(response) => {
                    record_upstream_id(subrequest, &response, &lease);
                    return self.evaluate_subrequest(subrequest, response, &mut lease);
                }
                Err(fault) => (failure_reason(fault.kind).map(AttemptFailure::new), fault),
            },
            Err(error) => (error.failure(), error.fault),
        };
        if let Some(failure) = failure {
            let outcome = AttemptOutcome::Failure(failure);
            self.record_subrequest(subrequest, &mut lease, outcome, fault.detail.as_deref());
        }
        Err(fault)
    }

    async fn lease_for(&self, subrequest: &Subrequest) -> Result<ChannelLease, Fault> {
        let candidates = [for_subrequest(subrequest)];
        let until = Instant::now() + subrequest.max_wait;
        loop {
            let freed = self.channels.freed.notified();
            match self.channels.choose(&candidates, &[], MonotonicTime::now()) {
                Ok(lease) => return Ok(lease),
                Err(none) if !none.is_full() || Instant::now() >= until => {
                    return Err(no_channel(&none));
                }
                Err(_) => drop(timeout_at(Instant::now() + CAPACITY_POLL_INTERVAL, freed).await),
            }
        }
    }

    async fn read_whole(
        &self,
        mut response: UpstreamResponse,
        body_use: ResponseBodyUse,
        subrequest: &Subrequest,
    ) -> Result<BufferedResponse, Fault> {
        response.decode_content();
        response.sniff_coding();
        let mut inline_file = None;
        let body = match (body_use, response.status.is_success()) {
            (ResponseBodyUse::Discard, true) => response.discard_body().await,
            (ResponseBodyUse::Collect, true) if subrequest.inline_file.is_some() => {
                let file = subrequest.inline_file.as_ref();
                // Boxed, so that this rare case does not enlarge the future of every subrequest.
                let read = Box::pin(self.read_around_file(&mut response, file)).await;
                let (body, file) = match read {
                    Ok(read) => read,
                    Err(fault) => (BodyReadResult::broken(fault), None),
                };
                inline_file = file;
                body
            }
            _ => response.read_bounded(ERROR_BYTES_MAX).await,
        };
        let mut whole = BufferedResponse {
            status: response.status,
            headers: response.headers().clone(),
            body: body.bytes,
            inline_file,
        };
        if response.is_decoded() {
            whole.headers.remove(header::CONTENT_ENCODING);
        }
        match body.end {
            BodyEnd::Complete => {
                response.give_back().await;
                Ok(whole)
            }
            BodyEnd::TooLong => {
                response.discard().await;
                Err(Fault::new(
                    FaultKind::UnreadableResponse,
                    "the provider's response is too large; tell the operator of this gateway",
                )
                .detail(format!("more than {ERROR_BYTES_MAX} bytes")))
            }
            BodyEnd::Broken(fault) => {
                response.discard().await;
                Err(fault)
            }
        }
    }

    /// Records the outcome of a subrequest like that of an attempt.
    fn record_subrequest(
        &self,
        subrequest: &Subrequest,
        lease: &mut ChannelLease,
        outcome: AttemptOutcome,
        detail: Option<&str>,
    ) {
        lease.report(outcome, &subrequest.id);
        let channel = &*lease.candidate.channel.name;
        self.metrics.attempt(channel, outcome.name());
        let AttemptOutcome::Failure(failure) = outcome else {
            return;
        };
        tracing::info!(
            channel,
            credential = lease.key.map(|key| key + 1),
            id = &*subrequest.id,
            path = subrequest.path,
            outcome = outcome.name(),
            status = failure.status.map(|status| status.as_u16()),
            detail,
            "subrequest failed"
        );
    }

    /// Records the outcome of the subrequest, and returns the response unless it failed.
    fn evaluate_subrequest(
        &self,
        subrequest: &Subrequest,
        response: BufferedResponse,
        lease: &mut ChannelLease,
    ) -> Result<SubrequestResponse, Fault> {
        let BufferedResponse {
            status,
            headers,
            body,
            inline_file,
        } = response;
        let channel = lease.candidate.channel.clone();
        let is_error = status.is_client_error() || status.is_server_error();
        let kind = response_body_kind(&headers, false);
        // Some providers say so of a task that has not ended.
        let is_pending = status == StatusCode::ACCEPTED && body.is_empty();
        let outcome = if is_error {
            let errors = &channel.errors;
            let error = errors.classify_response(status.as_u16(), &body, ErrorSubject::Resource);
            let wait = retry_after::from_headers(&headers, SystemTime::now());
            AttemptOutcome::from_error(error, status, wait, None)
        } else if !status.is_success()
            || !is_pending
                && (kind == ResponseBodyKind::Foreign || is_unreadable(subrequest, status, &body))
        {
            AttemptOutcome::invalid_response(status)
        } else {
            AttemptOutcome::Success
        };
        self.record_subrequest(subrequest, lease, outcome, None);
        match outcome.failure_reason() {
            Some(FailureReason::InvalidResponse) if status.is_success() => {
                return Err(foreign_body_fault(&body));
            }
            Some(FailureReason::InvalidResponse) => return Err(unexpected_status_fault(status)),
            Some(reason) if reason.concerns_credential() => {
                return Err(refused_account_fault(status));
            }
            _ => {}
        }
        if is_error && !kind.is_protocols_error(&body) {
            return Err(foreign_error_fault(status, &headers, &body));
        }
        Ok(SubrequestResponse {
            inline_file,
            status,
            headers: header_policy::response_headers_for_caller(&headers, &channel.mask.current()),
            body: match is_error {
                true => redact(&body, &[]).into_owned().into(),
                false => body,
            },
        })
    }
}

/// Whether the body of a query's response is no JSON object, whatever its status says. Other subrequests may have no body.
fn is_unreadable(subrequest: &Subrequest, status: StatusCode, body: &[u8]) -> bool {
    let has_result = subrequest.method == Method::GET && status != StatusCode::NO_CONTENT;
    has_result && response_verdict::is_unreadable(body)
}

/// The candidate of the subrequest, with the class of its endpoint.
fn for_subrequest(subrequest: &Subrequest) -> Candidate {
    let Subrequest {
        candidate,
        method,
        path,
        ..
    } = subrequest;
    let class = match candidate.endpoint {
        ProviderOperationClass::Generation => {
            ProviderOperationClass::for_request(method, path, candidate.model.is_some())
        }
        class => class,
    };
    candidate.clone().with_endpoint(class)
}

/// Stores the provider's request id for the log, unless it contains the channel's credential.
fn record_upstream_id(subrequest: &Subrequest, response: &BufferedResponse, lease: &ChannelLease) {
    let id = upstream_request_id::from_headers(&response.headers).cloned();
    let id = id.or_else(|| upstream_request_id::from_body(&response.body));
    let id = id.filter(|id| !lease.reveals(id.as_bytes()));
    let last = subrequest.upstream_request_id.lock();
    *last.unwrap_or_else(PoisonError::into_inner) = id;
}
