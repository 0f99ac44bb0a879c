//! The provider's answer on its way to the caller: streams as they come, JSON, errors redacted.

use super::Exchange;
use super::answer_kind::kind_for;
use super::aside::aside;
use super::attempt::Answer;
use super::attempts::outcome_unknown;
use super::judge::ERROR_BYTES_MAX;
use super::lawful::Replay;
use super::pulse::BEAT;
use crate::catalog::model::Candidate;
use crate::channel::lease::Lease;
use crate::filter::AnswerNeed;
use crate::filter::view::{AnswerKind, AnswerView};
use crate::gateway::downstream::Interrupted;
use crate::gateway::{fault_from, hygiene, reply};
use crate::protocol::blame::Blame;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::redact::redact;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use std::pin::pin;
use std::time::Duration;
use tokio::time::Instant;

/// JSON answers that filters change are held whole, up to this size; larger ones pass unchanged. Ten
/// images of 8 MB in base64 are below it.
const REPLACED_BYTES_MAX: usize = 128 << 20;
/// So long filters may take in any case: the answer is there, and may have cost money.
const REPLACED_WITHIN: Duration = Duration::from_secs(60);
/// Answers larger than this are not looked at for usage.
const OBSERVED_BYTES_MAX: usize = 16 << 20;

impl Exchange<'_> {
    /// Passes `answer` on to its end.
    ///
    /// # Errors
    /// What broke it off; whether the caller has part of an answer then, the downstream side knows.
    pub(super) async fn relay(
        &mut self,
        mut answer: Answer,
        lease: &Lease,
        blame: Option<Blame>,
    ) -> Result<(), Fault> {
        let candidate = &lease.candidate;
        let head = answer.head();
        let mut headers = hygiene::for_caller(&head.headers, &candidate.channel.secrets);
        let kind = kind_for(self.request.protocol, &head.headers);
        self.record.status = Some(answer.status);
        self.record.committed = Some(self.record.started.elapsed());
        self.record.streamed = kind == AnswerKind::Stream;
        self.route.response.on_response_head(&mut AnswerView {
            request: &mut self.request,
            candidate: Some(candidate),
            status: answer.status,
            headers: &mut headers,
            kind,
        });
        reply::complete_head(&mut headers, self.request.protocol, &self.request);
        let is_paid = Replay::of(&self.request) == Replay::Paid;
        let relayed = if matches!(blame, Some(Blame::Credential | Blame::Account)) {
            Err(refused_ourselves(answer.status))
        } else if answer.status.is_server_error() && is_paid {
            Err(failed_over_money(answer.status))
        } else if answer.status.is_client_error() || answer.status.is_server_error() {
            self.relay_error(&mut answer, headers, kind, candidate)
                .await
        } else if !answer.status.is_success() {
            Err(odd_status(answer.status))
        } else if kind == AnswerKind::Foreign && self.request.protocol.is_some() {
            match self.read_whole(&mut answer, ERROR_BYTES_MAX).await {
                Ok((body, _)) if is_paid => Err(Fault {
                    kind: FaultKind::UnreadableAnswer,
                    ..self.in_words_for_money(foreign(&body))
                }),
                Ok((body, _)) => Err(foreign(&body)),
                Err(fault) => Err(self.in_words_for_money(fault)),
            }
        } else {
            match kind {
                AnswerKind::Stream => self.relay_stream(&mut answer, headers, candidate).await,
                AnswerKind::Json | AnswerKind::Other
                    if self.route.response.answer_need() == AnswerNeed::Replace =>
                {
                    self.relay_replaced(&mut answer, headers, candidate).await
                }
                AnswerKind::Json | AnswerKind::Foreign | AnswerKind::Other => {
                    self.relay_straight(&mut answer, headers, kind, candidate)
                        .await
                }
            }
        };
        match relayed {
            Ok(()) => self.gateway.upstream.give_back(answer.connection).await,
            // Only this tells a provider at once that nobody reads on.
            Err(_) => self.gateway.upstream.discard(answer.connection).await,
        }
        relayed
    }

    /// A provider's error passes with its status and body, redacted of credentials.
    ///
    /// One that is no JSON comes from something before the provider: its page would help no SDK.
    async fn relay_error(
        &mut self,
        answer: &mut Answer,
        mut headers: HeaderMap,
        kind: AnswerKind,
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        let (body, complete) = self.read_whole(answer, ERROR_BYTES_MAX).await?;
        let mut status = answer.status;
        let body = if kind.is_protocols_error(&body) && complete {
            let mut body = Bytes::from(redact(&body, &[]).into_owned());
            let mut view = AnswerView {
                request: &mut self.request,
                candidate: Some(candidate),
                status,
                headers: &mut headers,
                kind,
            };
            self.route.response.reword_error(&mut view, &mut body);
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
        if is_sent_anew && Replay::of(&self.request) == Replay::Paid {
            reply::forbid_retry(&mut headers);
        }
        self.send_whole(status, headers, body).await
    }

    /// A JSON answer that filters change is known whole before its head goes out.
    async fn relay_replaced(
        &mut self,
        answer: &mut Answer,
        mut headers: HeaderMap,
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        let (mut body, complete) = match self.read_whole(answer, REPLACED_BYTES_MAX).await {
            Err(fault)
                if (is_channels(&fault) || fault.kind == FaultKind::Ending)
                    && Replay::of(&self.request) == Replay::Paid =>
            {
                return Err(outcome_unknown(fault));
            }
            read => read?,
        };
        if !complete {
            headers.remove(header::CONTENT_LENGTH);
            self.downstream.write_head(answer.status, headers).await?;
            self.downstream.write(body, false).await?;
            return self.pump(answer, |_| {}).await;
        }
        let mut view = AnswerView {
            request: &mut self.request,
            candidate: Some(candidate),
            status: answer.status,
            headers: &mut headers,
            kind: AnswerKind::Json,
        };
        let provider_body = body.clone();
        let replaced = self.route.response.replace_body(&mut view, &mut body);
        let replaced = aside(provider_body.len(), replaced);
        let until = answer.deadline.max(Instant::now() + REPLACED_WITHIN);
        self.downstream
            .unless_gone(until, replaced)
            .await
            .map_err(|interrupted| interrupted_reading(interrupted, answer))??;
        let status = view.status;
        // Held already, so that looking first costs nobody a wait: what it tells is known when it arrives.
        self.observe(answer.status, &mut headers, candidate, provider_body);
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
        answer: &mut Answer,
        mut headers: HeaderMap,
        kind: AnswerKind,
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        let observed =
            kind == AnswerKind::Json && self.route.response.answer_need() == AnswerNeed::Observe;
        self.downstream
            .write_head(answer.status, headers.clone())
            .await?;
        // Copied, since many small pieces would each hold more memory than they have bytes.
        let mut seen = BytesMut::new();
        let mut whole = observed;
        self.pump(answer, |chunk| {
            whole &= seen.len() + chunk.len() <= OBSERVED_BYTES_MAX;
            if whole {
                seen.extend_from_slice(chunk);
            }
        })
        .await?;
        if whole {
            self.observe(answer.status, &mut headers, candidate, seen.freeze());
        }
        Ok(())
    }

    async fn pump(
        &mut self,
        answer: &mut Answer,
        mut look: impl FnMut(&Bytes),
    ) -> Result<(), Fault> {
        while let Some(chunk) = self.next_chunk(answer).await? {
            look(&chunk);
            self.downstream.write(chunk, false).await?;
        }
        self.downstream.write(Bytes::new(), true).await
    }

    /// What a provider's failure is told with: nobody may be asked to pay twice.
    pub(super) fn in_words_for_money(&self, fault: Fault) -> Fault {
        match is_channels(&fault) && Replay::of(&self.request) == Replay::Paid {
            true => Fault {
                message: OVER_MONEY.into(),
                ..fault
            },
            false => fault,
        }
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
    async fn read_whole(
        &mut self,
        answer: &mut Answer,
        bytes_max: usize,
    ) -> Result<(Bytes, bool), Fault> {
        // Growing step by step would hold a large one twice.
        let mut body = BytesMut::with_capacity(answer.declared_bytes().min(bytes_max));
        while let Some(chunk) = self.next_chunk(answer).await? {
            body.extend_from_slice(&chunk);
            if body.len() > bytes_max {
                return Ok((body.freeze(), false));
            }
        }
        Ok((body.freeze(), true))
    }

    /// The next piece of the body: of what was held, then of what still comes.
    pub(super) async fn next_chunk(&mut self, answer: &mut Answer) -> Result<Option<Bytes>, Fault> {
        self.next_chunk_with(answer, None).await
    }

    /// As [`Self::next_chunk`], with a heartbeat whenever the provider was silent for this time.
    pub(super) async fn next_chunk_with(
        &mut self,
        answer: &mut Answer,
        heartbeat: Option<Duration>,
    ) -> Result<Option<Bytes>, Fault> {
        let chunk = match answer.take_held() {
            Some(held) => held,
            None => self.read_chunk_with(answer, heartbeat).await?,
        };
        if self.record.first_byte.is_none() && chunk.is_some() {
            self.record.first_byte = Some(self.record.started.elapsed());
        }
        Ok(chunk)
    }

    /// Reads the next piece of the body, within the deadlines and while the caller is there.
    pub(super) async fn read_chunk(&mut self, answer: &mut Answer) -> Result<Option<Bytes>, Fault> {
        self.read_chunk_with(answer, None).await
    }

    async fn read_chunk_with(
        &mut self,
        answer: &mut Answer,
        heartbeat: Option<Duration>,
    ) -> Result<Option<Bytes>, Fault> {
        let until = answer.deadline.min(Instant::now() + answer.timeouts.idle);
        let read = {
            let mut reading = pin!(answer.connection.session.read_response_body());
            loop {
                let beat = heartbeat.map(|every| Instant::now() + every);
                let next = beat.map_or(until, |beat| beat.min(until));
                match self.downstream.unless_gone(next, reading.as_mut()).await {
                    Err(Interrupted::TimedOut) if next < until => {
                        self.downstream
                            .write(Bytes::from_static(BEAT), false)
                            .await?;
                    }
                    read => break read,
                }
            }
        };
        match read {
            Ok(chunk) => Ok(answer.mask(chunk.map_err(fault_from::upstream)?)),
            Err(interrupted) => Err(interrupted_reading(interrupted, answer)),
        }
    }
}

fn interrupted_reading(interrupted: Interrupted, answer: &Answer) -> Fault {
    match interrupted {
        Interrupted::ClientGone => fault_from::gone(),
        Interrupted::Ending => fault_from::ending(),
        Interrupted::TimedOut => Fault::new(
            FaultKind::UpstreamTimeout,
            "the provider fell silent; try again",
        )
        .detail(format!(
            "no byte for {:?}, or the attempt's total time is over",
            answer.timeouts.idle
        )),
    }
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

/// A provider that fails on a paid request may have taken it all the same.
const OVER_MONEY: &str = "the provider failed, and may have taken the request; look whether it did, by the id of this request, before you send it again";

fn failed_over_money(status: StatusCode) -> Fault {
    Fault::new(FaultKind::Upstream, OVER_MONEY).detail(format!("it answered {status}"))
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
