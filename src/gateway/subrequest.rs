//! Sends subrequests of filters: one bounded request to a channel each, whose outcome counts for the channel's health as
//! that of an attempt.

use super::Gateway;
use super::exchange::answer_kind::kind_of;
use super::exchange::attempts::{LOOK_AGAIN, no_channel};
use super::exchange::judge::ERROR_BYTES_MAX;
use super::exchange::relay::{foreign, odd_status, refused_ourselves};
use super::hygiene;
use super::upstream::Target;
use super::upstream::bounded_body::BodyEnd;
use super::upstream::client::{Progress, why};
use super::upstream::request::{PreparedBody, PreparedRequest};
use super::upstream::response::UpstreamResponse;
use crate::catalog::channel::TimeoutOverrides;
use crate::channel::clock::Moment;
use crate::channel::lease::Lease;
use crate::channel::outcome::{Outcome, Why};
use crate::filter::view::AnswerKind;
use crate::protocol::blame::{self, Blame};
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::json::edit::Segments;
use crate::protocol::redact::redact;
use crate::protocol::{retry_after, upstream_request_id};
use crate::subrequest::{PendingResponse, Subrequest, SubrequestResponse, SubrequestSender};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;
use tokio::time::{Instant, timeout_at};

impl SubrequestSender for Gateway {
    fn send(
        self: Arc<Self>,
        subrequest: Subrequest,
        timeouts: TimeoutOverrides,
    ) -> PendingResponse {
        Box::pin(async move { self.run_subrequest(&subrequest, timeouts).await })
    }
}

/// A response, read to its end.
struct WholeResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// The request that `subrequest` is to `target`.
///
/// # Errors
/// Its path is none that can be sent.
pub(super) fn prepare_subrequest(
    target: Target<'_>,
    subrequest: &Subrequest,
    timeouts: TimeoutOverrides,
) -> Result<PreparedRequest, Fault> {
    let mut headers = hygiene::for_provider(&HeaderMap::new());
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    for (name, value) in &subrequest.headers {
        headers.insert(name, value.clone());
    }
    let body = match (subrequest.body.is_empty(), &subrequest.method) {
        (true, &Method::GET) => PreparedBody::Absent,
        _ => PreparedBody::Whole(Segments::from(subrequest.body.clone())),
    };
    let path = format!("{}{}", target.channel.origin.base_path, subrequest.path);
    let method = subrequest.method.clone();
    let prepared =
        PreparedRequest::new(target, &subrequest.id, method.clone(), path, headers, body)?;
    Ok(PreparedRequest {
        timeouts: timeouts.over(target.channel.timeouts),
        may_repeat: method == Method::GET,
        ..prepared
    })
}

impl Gateway {
    async fn run_subrequest(
        &self,
        subrequest: &Subrequest,
        timeouts: TimeoutOverrides,
    ) -> Result<SubrequestResponse, Fault> {
        let mut lease = self.lease_for(subrequest).await?;
        let target = Target::of(&lease);
        let prepared = prepare_subrequest(target, subrequest, timeouts)?;
        let sent = self
            .upstream
            .send(target, &prepared, &mut Progress::default())
            .await;
        let (why, fault) = match sent {
            Ok(response) => match self.read_whole(response).await {
                Ok(response) => {
                    note_upstream_id(subrequest, &response, &lease);
                    return self.judge_subrequest(response, &mut lease);
                }
                Err(fault) => (why(fault.kind), fault),
            },
            Err(error) => (error.why(), error.fault),
        };
        if let Some(why) = why {
            lease.tell(Outcome::failed(why));
        }
        let channel = &*lease.candidate.channel.name;
        self.metrics.attempt(channel, fault.kind.code());
        tracing::info!(
            channel,
            id = &*subrequest.id,
            path = subrequest.path,
            outcome = fault.kind.code(),
            detail = fault.detail,
            "subrequest failed"
        );
        Err(fault)
    }

    async fn lease_for(&self, subrequest: &Subrequest) -> Result<Lease, Fault> {
        let candidates = std::slice::from_ref(&subrequest.candidate);
        let until = Instant::now() + subrequest.patience;
        loop {
            let freed = self.channels.freed.notified();
            match self.channels.choose(candidates, &[], Moment::now()) {
                Ok(lease) => return Ok(lease),
                Err(none) if !none.is_full() || Instant::now() >= until => {
                    return Err(no_channel(&none));
                }
                Err(_) => drop(timeout_at(Instant::now() + LOOK_AGAIN, freed).await),
            }
        }
    }

    async fn read_whole(&self, mut response: UpstreamResponse) -> Result<WholeResponse, Fault> {
        let body = response.read_bounded(ERROR_BYTES_MAX).await;
        let whole = WholeResponse {
            status: response.status,
            headers: response.headers().clone(),
            body: body.bytes,
        };
        match body.end {
            BodyEnd::Complete => {
                response.give_back().await;
                Ok(whole)
            }
            BodyEnd::TooLong => {
                response.discard().await;
                Err(Fault::new(
                    FaultKind::UnreadableAnswer,
                    "the provider's response is too long; tell the operator of this gateway",
                )
                .detail(format!("more than {ERROR_BYTES_MAX} bytes")))
            }
            BodyEnd::Broken(fault) => {
                response.discard().await;
                Err(fault)
            }
        }
    }

    /// What the response means for the channel's health, and whether it is one for whoever sent the subrequest.
    fn judge_subrequest(
        &self,
        response: WholeResponse,
        lease: &mut Lease,
    ) -> Result<SubrequestResponse, Fault> {
        let WholeResponse {
            status,
            headers,
            body,
        } = response;
        let channel = lease.candidate.channel.clone();
        let is_error = status.is_client_error() || status.is_server_error();
        let kind = kind_of(&headers);
        if !is_error && (!status.is_success() || kind == AnswerKind::Foreign) {
            lease.tell(Outcome::failed(Why::ProviderError));
            let outcome = "no_answer_of_its_protocol";
            self.metrics.attempt(&channel.name, outcome);
            return Err(match status.is_success() {
                true => foreign(&body),
                false => odd_status(status),
            });
        }
        let mut outcome = "answered";
        if is_error {
            let blame = blame::of_answer(status.as_u16(), &body);
            let wait = retry_after::asked(&headers, SystemTime::now());
            lease.tell(Outcome::of(blame, wait));
            if blame != Blame::Caller {
                outcome = blame.name();
            }
            if matches!(blame, Blame::Credential | Blame::Account) {
                self.metrics.attempt(&channel.name, outcome);
                return Err(refused_ourselves(status));
            }
        } else {
            lease.tell(Outcome::Well);
        }
        self.metrics.attempt(&channel.name, outcome);
        if is_error && !kind.is_protocols_error(&body) {
            return Err(foreign(&body));
        }
        Ok(SubrequestResponse {
            status,
            headers: hygiene::for_caller(&headers, &channel.secrets),
            body: match is_error {
                true => redact(&body, &[]).into_owned().into(),
                false => body,
            },
        })
    }
}

/// Keeps the provider's id of the subrequest for the log, unless it repeats the channel's credential.
fn note_upstream_id(subrequest: &Subrequest, response: &WholeResponse, lease: &Lease) {
    let id = upstream_request_id::of_headers(&response.headers).cloned();
    let id = id.or_else(|| upstream_request_id::of_body(&response.body));
    let id = id.filter(|id| !lease.shows(id.as_bytes()));
    let last = subrequest.upstream_request_id.lock();
    *last.unwrap_or_else(PoisonError::into_inner) = id;
}
