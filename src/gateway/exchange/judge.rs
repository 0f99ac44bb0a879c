//! Whether an answer is kept: by its status, by the words of an error, and by the first events of a stream.
//!
//! A stream is committed when its first event with content comes. Events before it only frame the
//! answer, and an error often comes right behind them: while another channel is left they are held,
//! for a bounded time and size, so that such an error is not the caller's.

use super::answer_kind::kind_for;
use super::attempts::{AttemptResult, Attempts, KeptResponse, LastAttempt};
use super::retry_policy::{AttemptEnd, Next, Verdict};
use crate::channel::lease::Lease;
use crate::channel::outcome::{Outcome, Why};
use crate::filter::view::AnswerKind;
use crate::gateway::upstream::bounded_body::BodyEnd;
use crate::gateway::upstream::client::{Progress, SendError};
use crate::gateway::upstream::response::{ReadError, UpstreamResponse};
use crate::protocol::Protocol;
use crate::protocol::blame::{self, Blame};
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::json::{Document, Limits};
use crate::protocol::retry_after;
use crate::protocol::sse::Framer;
use crate::protocol::stream::{EventClass, classify};
use crate::protocol::upstream_request_id;
use crate::snapshot::failover::Hold;
use bytes::Bytes;
use std::pin::pin;
use std::time::SystemTime;
use tokio::time::Instant;

/// An error's body beyond this is neither read for its words nor passed on.
pub(in crate::gateway) const ERROR_BYTES_MAX: usize = 1 << 20;

/// What the first events of a stream showed.
enum Seen {
    Content,
    Error(Blame),
}

impl Attempts<'_> {
    /// Keeps `response`, or gives it up for another channel.
    pub(super) async fn judge(
        &mut self,
        mut response: UpstreamResponse,
        mut lease: Lease,
    ) -> AttemptResult {
        let status = response.status;
        let kind = kind_for(self.request.protocol, response.headers());
        if status.is_client_error() || status.is_server_error() {
            return self.judge_error(response, lease).await;
        }
        let end = match (status.is_success(), kind) {
            (false, _) => Some(AttemptEnd::Redirect),
            (true, AnswerKind::Foreign) if self.request.protocol.is_some() => {
                Some(AttemptEnd::ForeignBody)
            }
            (true, _) => None,
        };
        if let Some(end) = end {
            let outcome = Outcome::failed(Why::ProviderError);
            lease.tell(outcome);
            self.log_failure(&lease, "no_answer_of_its_protocol", None);
            return attempted(response, lease, self.policy.verdict(end), outcome);
        }
        match self.first_of(&mut response, kind, &lease).await {
            Ok(Seen::Content) => {
                lease.tell_committed();
                let channel = &lease.candidate.channel.name;
                self.gateway.metrics.attempt(channel, "answered");
                keep(response, lease)
            }
            Ok(Seen::Error(blame)) => {
                let outcome = Outcome::of(blame, None);
                lease.tell(outcome);
                self.log_failure(&lease, blame.name(), Some("as the first event"));
                match blame {
                    // A stream like any other.
                    Blame::Caller => keep(response, lease),
                    _ => {
                        let verdict = self.policy.verdict(AttemptEnd::ErrorEvent(blame));
                        attempted(response, lease, verdict, outcome)
                    }
                }
            }
            Err(fault) => {
                response.discard().await;
                let error = SendError {
                    fault,
                    progress: Progress::Sent,
                };
                self.failed(error, &mut lease)
            }
        }
    }

    /// An error is read whole before it is known whose fault it is.
    async fn judge_error(
        &mut self,
        mut response: UpstreamResponse,
        mut lease: Lease,
    ) -> AttemptResult {
        let reading = response.read_bounded(ERROR_BYTES_MAX);
        let body = self.waits.upstream(pin!(reading), |_| true).await;
        if let BodyEnd::Broken(fault) = &body.end {
            tracing::debug!(
                id = &*self.request.id,
                detail = fault.detail,
                "half an error"
            );
        }
        response.put_back(&body);
        let (status, body) = (response.status, body.bytes);
        if self.record.upstream_request_id.is_none() {
            self.note_upstream_id(upstream_request_id::of_body(&body), &lease);
        }
        let blame = match blame::of_answer(status.as_u16(), &body) {
            Blame::Caller if is_refused_here(&lease, &body) => Blame::NotHere,
            blame => blame,
        };
        let retry_after = retry_after::asked(response.headers(), SystemTime::now());
        let outcome = Outcome::of(blame, retry_after);
        lease.tell(outcome);
        let verdict = self.policy.verdict(AttemptEnd::of_error(status, blame));
        match verdict.next {
            Next::Candidate => self.log_failure(&lease, blame.name(), Some(status.as_str())),
            Next::FreshConnection | Next::Stop => {
                let channel = &lease.candidate.channel.name;
                self.gateway.metrics.attempt(channel, "answered");
            }
        }
        attempted(response, lease, verdict, outcome)
    }

    /// What a good response begins with, where it may still be given up for another channel.
    async fn first_of(
        &mut self,
        response: &mut UpstreamResponse,
        kind: AnswerKind,
        lease: &Lease,
    ) -> Result<Seen, Fault> {
        match (kind, self.route.failover.hold, self.request.protocol) {
            _ if !self.another_is_left(lease) => Ok(Seen::Content),
            (AnswerKind::Stream, Some(hold), Some(protocol)) => {
                self.hold(response, hold, protocol).await
            }
            // Until the first byte of its body nothing is lost if the response breaks off.
            (AnswerKind::Json, _, Some(_)) => {
                let peeking = pin!(response.peek_chunk());
                let first = self.waits.upstream(peeking, |_| true).await;
                first.map(|_| Seen::Content)
            }
            _ => Ok(Seen::Content),
        }
    }

    /// Reads a stream's first events until one tells what it is, or the bounds are reached.
    async fn hold(
        &mut self,
        response: &mut UpstreamResponse,
        hold: Hold,
        protocol: Protocol,
    ) -> Result<Seen, Fault> {
        // A heartbeat needs the head before it.
        let heartbeat = self.route.response.heartbeat().unwrap_or(hold.time);
        let until = Instant::now() + hold.time.min(heartbeat);
        let mut framer = Framer::new(hold.bytes);
        let mut held = 0;
        loop {
            let patience = until.saturating_duration_since(Instant::now());
            let peeking = response.peek_chunk_within(patience);
            let ends_silence = |read: &_| !matches!(read, Err(ReadError::TimedOut));
            let chunk = match self.waits.upstream(pin!(peeking), ends_silence).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Err(ended_early()),
                Err(ReadError::TimedOut) => return Ok(Seen::Content),
                Err(ReadError::Broken(fault)) => return Err(fault),
            };
            framer.push(&chunk);
            held += chunk.len();
            while let Some(event) = framer.next() {
                if let Some(seen) = seen(protocol, event.name(), event.data()) {
                    return Ok(seen);
                }
            }
            if held >= hold.bytes {
                return Ok(Seen::Content);
            }
        }
    }
}

/// What an event says of the stream; none while it only frames it.
fn seen(protocol: Protocol, name: Option<&[u8]>, data: &[u8]) -> Option<Seen> {
    match classify(protocol, name, data) {
        EventClass::Framing | EventClass::Ping => None,
        EventClass::Error | EventClass::Terminal { failed: true } => {
            Some(Seen::Error(blame::of_event(data)))
        }
        EventClass::Content | EventClass::Terminal { failed: false } => Some(Seen::Content),
    }
}

/// Whether the channel's family knows the error as one of the account's or of the moment.
fn is_refused_here(lease: &Lease, body: &Bytes) -> bool {
    let Some(family) = &lease.candidate.channel.family else {
        return false;
    };
    let document = Document::parse(body.clone(), &Limits::default());
    let error = document.ok().and_then(|document| family.error(&document));
    let code = error.and_then(|error| error.code);
    code.is_some_and(|code| family.may_go_elsewhere(&code))
}

/// A response that serves.
fn keep(response: UpstreamResponse, lease: Lease) -> AttemptResult {
    AttemptResult::Keep(Box::new(KeptResponse {
        response,
        lease,
        verdict: None,
        why: None,
    }))
}

/// A response that does not.
fn attempted(
    response: UpstreamResponse,
    lease: Lease,
    verdict: Verdict,
    outcome: Outcome,
) -> AttemptResult {
    let kept = Box::new(KeptResponse {
        response,
        lease,
        verdict: Some(verdict),
        why: match outcome {
            Outcome::Failed { why, .. } => Some(why),
            Outcome::Well => None,
        },
    });
    match verdict.next {
        Next::Candidate => AttemptResult::Next(LastAttempt::Responded(kept)),
        Next::FreshConnection | Next::Stop => AttemptResult::Keep(kept),
    }
}

fn ended_early() -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider's answer ended before it began; try again",
    )
    .detail("the stream ended before any event with content")
}
