//! The provider's answer on its way to the caller: streams as they come, JSON, errors redacted.

use super::Exchange;
use super::answer_kind::kind_for;
use super::aside::aside;
use super::judge::ERROR_BYTES_MAX;
use super::pulse::BEAT;
use super::retry_policy::{AttemptEnd, CallerReply, Verdict};
use crate::catalog::model::Candidate;
use crate::channel::lease::Lease;
use crate::filter::Access;
use crate::filter::view::{AnswerKind, AnswerView};
use crate::gateway::deadline::Elapsed;
use crate::gateway::upstream::bounded_body::BodyEnd;
use crate::gateway::upstream::client::Progress;
use crate::gateway::upstream::response::UpstreamResponse;
use crate::gateway::{hygiene, reply};
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::redact::redact;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use std::pin::pin;
use std::time::Duration;

/// JSON answers that filters change are held whole, up to this size; larger ones pass unchanged. Ten
/// images of 8 MB in base64 are below it.
const REPLACED_BYTES_MAX: usize = 128 << 20;
/// So long filters may take in any case: the answer is there, and may have cost money.
const REPLACED_WITHIN: Duration = Duration::from_secs(60);
/// Answers larger than this are not looked at for usage.
const OBSERVED_BYTES_MAX: usize = 16 << 20;

impl Exchange<'_> {
    /// Passes the response on to its end.
    ///
    /// # Errors
    /// What broke it off; whether the caller has part of a response then, the downstream side knows.
    pub(super) async fn relay(
        &mut self,
        mut response: UpstreamResponse,
        lease: &Lease,
        verdict: Option<Verdict>,
    ) -> Result<(), Fault> {
        let candidate = &lease.candidate;
        let mut headers = hygiene::for_caller(response.headers(), &candidate.channel.secrets);
        let kind = kind_for(self.request.protocol, response.headers());
        self.record.status = Some(response.status);
        self.record.committed = Some(self.record.started.elapsed());
        self.record.streamed = kind == AnswerKind::Stream;
        self.route.response.on_response_head(&mut AnswerView {
            request: &mut self.request,
            candidate: Some(candidate),
            status: response.status,
            headers: &mut headers,
            kind,
        });
        reply::complete_head(&mut headers, self.request.protocol, &self.request);
        let status = response.status;
        let is_error = status.is_client_error() || status.is_server_error();
        let relayed = match verdict {
            Some(verdict) => match verdict.reply {
                CallerReply::ProviderError if is_error => self
                    .relay_error(&mut response, headers, kind, candidate, verdict)
                    .await
                    .map_err(|fault| verdict.fault(fault)),
                // An error event, in a stream like any other.
                CallerReply::ProviderError => {
                    self.relay_good(&mut response, headers, kind, candidate)
                        .await
                }
                CallerReply::AccountRefused => Err(verdict.fault(refused_ourselves(status))),
                _ if is_error => Err(verdict.fault(failed(status))),
                _ if status.is_success() => Err(self.foreign(&mut response, verdict).await),
                _ => Err(verdict.fault(odd_status(status))),
            },
            None => {
                self.relay_good(&mut response, headers, kind, candidate)
                    .await
            }
        };
        if let Some(at) = response.first_chunk() {
            self.record.first_byte = Some(at.into_std().duration_since(self.record.started));
        }
        match relayed {
            Ok(()) => response.give_back().await,
            // Only this tells a provider at once that nobody reads on.
            Err(_) => response.discard().await,
        }
        relayed
    }

    async fn relay_good(
        &mut self,
        response: &mut UpstreamResponse,
        headers: HeaderMap,
        kind: AnswerKind,
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        match kind {
            AnswerKind::Stream => self.relay_stream(response, headers, candidate).await,
            AnswerKind::Json | AnswerKind::Other
                if self.route.response.body_access() == Access::Replace =>
            {
                self.relay_replaced(response, headers, candidate).await
            }
            AnswerKind::Json | AnswerKind::Foreign | AnswerKind::Other => {
                self.relay_straight(response, headers, kind, candidate)
                    .await
            }
        }
    }

    /// What is told instead of a body that is not of the protocol.
    async fn foreign(&mut self, response: &mut UpstreamResponse, verdict: Verdict) -> Fault {
        match self.read_bounded(response, ERROR_BYTES_MAX).await {
            Ok((body, _)) => verdict.fault(foreign(&body)),
            Err(fault) => self.before_commit(fault),
        }
    }

    /// What is told of a response that broke off before the caller had any of it.
    fn before_commit(&self, fault: Fault) -> Fault {
        match fault.kind {
            FaultKind::Upstream | FaultKind::UpstreamTimeout | FaultKind::Ending => {
                let end = AttemptEnd::of_fault(fault.kind, Progress::Sent);
                self.retry_policy.verdict(end).fault(fault)
            }
            _ => fault,
        }
    }

    /// A provider's error passes with its status and body, redacted of credentials.
    ///
    /// One that is no JSON comes from something before the provider: its page would help no SDK.
    async fn relay_error(
        &mut self,
        response: &mut UpstreamResponse,
        mut headers: HeaderMap,
        kind: AnswerKind,
        candidate: &Candidate,
        verdict: Verdict,
    ) -> Result<(), Fault> {
        let (body, complete) = self.read_bounded(response, ERROR_BYTES_MAX).await?;
        let mut status = response.status;
        let body = if kind.is_protocols_error(&body) && complete {
            let mut body = Bytes::from(redact(&body, &[]).into_owned());
            let mut view = AnswerView {
                request: &mut self.request,
                candidate: Some(candidate),
                status,
                headers: &mut headers,
                kind,
            };
            let replaced = self.route.response.replace_body(&mut view, &mut body);
            let patience = response.time_left().max(REPLACED_WITHIN);
            match self.downstream.unless_gone_within(patience, replaced).await {
                Ok(Ok(replaced)) => replaced?,
                Ok(Err(Elapsed)) => return Err(too_slow(patience)),
                Err(interrupted) => return Err(interrupted.into()),
            }
            status = view.status;
            body
        } else {
            let fault = foreign(&body);
            let instead = reply::from_fault(self.request.protocol, &fault, &self.request.id);
            headers.extend(instead.headers);
            self.record.fault = Some(fault);
            instead.body
        };
        // SDKs send what ends with these once more by themselves.
        let is_sent_anew = matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT);
        if is_sent_anew && !verdict.sdk_may_retry {
            reply::forbid_retry(&mut headers);
        }
        self.send_whole(status, headers, body).await
    }

    /// A JSON answer that filters change is known whole before its head goes out.
    async fn relay_replaced(
        &mut self,
        response: &mut UpstreamResponse,
        mut headers: HeaderMap,
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        let read = self.read_bounded(response, REPLACED_BYTES_MAX).await;
        let (mut body, complete) = read.map_err(|fault| self.before_commit(fault))?;
        if !complete {
            headers.remove(header::CONTENT_LENGTH);
            self.downstream.write_head(response.status, headers).await?;
            self.downstream.write(body, false).await?;
            return self.pump(response, |_| {}).await;
        }
        let mut view = AnswerView {
            request: &mut self.request,
            candidate: Some(candidate),
            status: response.status,
            headers: &mut headers,
            kind: AnswerKind::Json,
        };
        let provider_body = body.clone();
        let replaced = self.route.response.replace_body(&mut view, &mut body);
        let replaced = aside(provider_body.len(), replaced);
        let patience = response.time_left().max(REPLACED_WITHIN);
        let replaced = self
            .downstream
            .unless_gone_within(patience, pin!(replaced))
            .await;
        match replaced {
            Ok(Ok(replaced)) => {
                let verdict = self.retry_policy.verdict(AttemptEnd::Unreadable);
                replaced.map_err(|fault| verdict.fault(fault))?;
            }
            Ok(Err(Elapsed)) => return Err(self.before_commit(too_slow(patience))),
            Err(interrupted) => return Err(self.before_commit(interrupted.into())),
        }
        let status = view.status;
        // Held already, so that looking first costs nobody a wait: what it tells is known when it arrives.
        self.observe(response.status, &mut headers, candidate, provider_body);
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
        self.downstream.write_head(status, headers).await?;
        self.downstream.write(body, true).await
    }

    /// Bytes as they come; filters that only look see the whole once it is sent.
    async fn relay_straight(
        &mut self,
        response: &mut UpstreamResponse,
        mut headers: HeaderMap,
        kind: AnswerKind,
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        let observed =
            kind == AnswerKind::Json && self.route.response.body_access() == Access::Observe;
        self.downstream
            .write_head(response.status, headers.clone())
            .await?;
        // Copied, since many small pieces would each hold more memory than they have bytes.
        let mut seen = BytesMut::new();
        let mut whole = observed;
        self.pump(response, |chunk| {
            whole &= seen.len() + chunk.len() <= OBSERVED_BYTES_MAX;
            if whole {
                seen.extend_from_slice(chunk);
            }
        })
        .await?;
        if whole {
            self.observe(response.status, &mut headers, candidate, seen.freeze());
        }
        Ok(())
    }

    async fn pump(
        &mut self,
        response: &mut UpstreamResponse,
        mut look: impl FnMut(&Bytes),
    ) -> Result<(), Fault> {
        while let Some(chunk) = self.next_chunk(response).await? {
            look(&chunk);
            self.downstream.write(chunk, false).await?;
        }
        self.downstream.write(Bytes::new(), true).await
    }

    fn observe(
        &mut self,
        status: StatusCode,
        headers: &mut HeaderMap,
        candidate: &Candidate,
        body: Bytes,
    ) {
        self.record.note_body(self.request.protocol, &body);
        let mut view = AnswerView {
            request: &mut self.request,
            candidate: Some(candidate),
            status,
            headers,
            kind: AnswerKind::Json,
        };
        self.route.response.observe_body(&mut view, body);
    }

    /// Up to `bytes_max` of the body, and whether that is all of it.
    async fn read_bounded(
        &mut self,
        response: &mut UpstreamResponse,
        bytes_max: usize,
    ) -> Result<(Bytes, bool), Fault> {
        let reading = response.read_bounded(bytes_max);
        let body = self.downstream.unless_gone(pin!(reading)).await?;
        match body.end {
            BodyEnd::Complete => Ok((body.bytes, true)),
            BodyEnd::TooLong => Ok((body.bytes, false)),
            BodyEnd::Broken(fault) => Err(fault),
        }
    }

    /// The next chunk of the body, while the caller is there.
    pub(super) async fn next_chunk(
        &mut self,
        response: &mut UpstreamResponse,
    ) -> Result<Option<Bytes>, Fault> {
        let reading = response.next_chunk();
        self.downstream.unless_gone(pin!(reading)).await?
    }

    /// As [`Self::next_chunk`], with a heartbeat whenever the provider was silent for this time.
    pub(super) async fn next_chunk_with(
        &mut self,
        response: &mut UpstreamResponse,
        heartbeat: Option<Duration>,
    ) -> Result<Option<Bytes>, Fault> {
        let Some(every) = heartbeat else {
            return self.next_chunk(response).await;
        };
        let mut reading = pin!(response.next_chunk());
        loop {
            let reading = reading.as_mut();
            match self.downstream.unless_gone_within(every, reading).await? {
                Ok(chunk) => return chunk,
                Err(Elapsed) => {
                    let beat = Bytes::from_static(BEAT);
                    self.downstream.write(beat, false).await?;
                }
            }
        }
    }
}

fn too_slow(patience: Duration) -> Fault {
    Fault::new(
        FaultKind::UpstreamTimeout,
        "the provider fell silent; try again",
    )
    .detail(format!("the response was not ready after {patience:?}"))
}

/// The provider refused the gateway, not the caller, whose own key is good.
pub(in crate::gateway) fn refused_ourselves(status: StatusCode) -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider does not accept this gateway's account; tell the operator of this gateway",
    )
    .detail(format!("it answered {status}"))
}

/// Whether the provider broke off or fell silent.
pub(super) fn is_channels(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Upstream | FaultKind::UpstreamTimeout)
}

fn failed(status: StatusCode) -> Fault {
    Fault::new(FaultKind::Upstream, "the provider failed; try again")
        .detail(format!("it answered {status}"))
}

/// The fault of an answer that is not the protocol's; its beginning is for the log.
pub(in crate::gateway) fn foreign(body: &[u8]) -> Fault {
    const SHOWN_BYTES: usize = 200;
    let beginning = &body[..body.len().min(SHOWN_BYTES)];
    Fault::new(
        FaultKind::Upstream,
        "the provider's answer is not JSON; try again, and tell the operator of this gateway if it stays so",
    )
    .detail(format!("it begins with: {}", String::from_utf8_lossy(&redact(beginning, &[]))))
}

/// The fault of a redirect and the like: a base URL is wrong more often than a provider.
pub(in crate::gateway) fn odd_status(status: StatusCode) -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider did not answer the request; tell the operator of this gateway",
    )
    .detail(format!(
        "it answered {status}; is the channel's `base_url` right?"
    ))
}
