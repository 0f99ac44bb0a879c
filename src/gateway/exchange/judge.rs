//! Whether an answer is kept: by its status, by the words of an error, and by the first events of a stream.
//!
//! A stream is committed when its first event with content comes. Events before it only frame the
//! answer, and an error often comes right behind them: while another channel is left they are held,
//! for a bounded time and size, so that such an error is not the caller's.

use super::Exchange;
use super::answer_kind::kind_for;
use super::attempt::{Answer, Failed};
use super::attempts::{Attempted, Ended, Kept, Search};
use crate::channel::lease::Lease;
use crate::channel::outcome::{Outcome, Why};
use crate::filter::view::AnswerKind;
use crate::gateway::downstream::Interrupted;
use crate::gateway::fault_from;
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
use std::time::SystemTime;
use tokio::time::Instant;

/// An error's body beyond this is neither read for its words nor passed on.
pub(in crate::gateway) const ERROR_BYTES_MAX: usize = 1 << 20;

/// What the first events of a stream showed.
enum Seen {
    Content,
    Error(Blame),
}

impl Exchange<'_> {
    /// Keeps `answer`, or gives it up for another channel.
    ///
    /// # Errors
    /// The caller left, or the answer broke off and no other channel may be tried.
    pub(super) async fn judge(
        &mut self,
        mut answer: Answer,
        mut lease: Lease,
        search: &Search,
    ) -> Result<Attempted, Fault> {
        let status = answer.status;
        let kind = kind_for(self.request.protocol, &answer.head().headers);
        let is_ours = self.request.protocol.is_some();
        if status.is_client_error() || status.is_server_error() {
            return self.judge_error(answer, lease, search).await;
        }
        if !status.is_success() || kind == AnswerKind::Foreign && is_ours {
            lease.tell(Outcome::failed(Why::ProviderError));
            self.tell_attempt(&lease, "no_answer_of_its_protocol", None);
            let elsewhere = search.replay.may_follow_answer(status, Blame::Provider);
            return Ok(match elsewhere {
                true => next(answer, lease, Blame::Provider),
                false => keep(answer, lease, Some(Blame::Provider)),
            });
        }
        let seen = match (kind, self.route.failover.hold, self.request.protocol) {
            _ if !self.another_is_left(search, &lease) => Ok(Seen::Content),
            (AnswerKind::Stream, Some(hold), Some(protocol)) => {
                self.hold(&mut answer, hold, protocol).await
            }
            // Until the first byte of its body nothing is lost if the answer breaks off.
            (AnswerKind::Json, _, Some(_)) => self.hold_one(&mut answer).await,
            _ => Ok(Seen::Content),
        };
        match seen {
            Ok(Seen::Content) => {
                lease.tell_committed();
                let channel = &lease.candidate.channel.name;
                self.gateway.metrics.attempt(channel, "answered");
                Ok(keep(answer, lease, None))
            }
            Ok(Seen::Error(blame)) => {
                lease.tell(Outcome::of(blame, None));
                self.tell_attempt(&lease, blame.name(), Some("as the first event"));
                match search.replay.may_follow_answer(status, blame) {
                    true => Ok(next(answer, lease, blame)),
                    false => {
                        let blame = (blame != Blame::Caller).then_some(blame);
                        Ok(keep(answer, lease, blame))
                    }
                }
            }
            Err(fault) => {
                self.gateway.upstream.discard(answer.connection).await;
                let failed = Failed {
                    fault,
                    untouched: false,
                };
                let fault = self.failed(failed, &mut lease, search)?;
                Ok(Attempted::Next(Ended::Failed(fault)))
            }
        }
    }

    /// An error is read whole before it is known whose fault it is.
    async fn judge_error(
        &mut self,
        mut answer: Answer,
        mut lease: Lease,
        search: &Search,
    ) -> Result<Attempted, Fault> {
        if let Err(fault) = self.read_held(&mut answer, ERROR_BYTES_MAX).await {
            if fault.kind == FaultKind::ClientGone {
                return Err(fault);
            }
            tracing::debug!(
                id = &*self.request.id,
                detail = fault.detail,
                "half an error"
            );
        }
        let body = answer.held_bytes();
        if self.record.upstream_request_id.is_none() {
            self.note_upstream_id(upstream_request_id::of_body(&body), &lease);
        }
        let blame = match blame::of_answer(answer.status.as_u16(), &body) {
            Blame::Caller if is_refused_here(&lease, &body) => Blame::NotHere,
            blame => blame,
        };
        let retry_after = retry_after::asked(&answer.head().headers, SystemTime::now());
        lease.tell(Outcome::of(blame, retry_after));
        if !search.replay.may_follow_answer(answer.status, blame) {
            let channel = &lease.candidate.channel.name;
            self.gateway.metrics.attempt(channel, "answered");
            return Ok(keep(answer, lease, Some(blame)));
        }
        let status = answer.status.as_str().to_owned();
        self.tell_attempt(&lease, blame.name(), Some(&status));
        Ok(next(answer, lease, blame))
    }

    /// Reads a stream's first events until one tells what it is, or the bounds are reached.
    async fn hold(
        &mut self,
        answer: &mut Answer,
        hold: Hold,
        protocol: Protocol,
    ) -> Result<Seen, Fault> {
        // A heartbeat needs the head before it.
        let heartbeat = self.route.response.heartbeat().unwrap_or(hold.time);
        let until = Instant::now() + hold.time.min(heartbeat);
        let mut framer = Framer::new(hold.bytes);
        loop {
            let within = until.min(answer.deadline);
            let read = self
                .downstream
                .unless_gone(within, answer.connection.session.read_response_body())
                .await;
            let chunk = match read {
                Err(Interrupted::ClientGone) => return Err(fault_from::gone()),
                Err(Interrupted::Ending) => return Err(fault_from::ending()),
                Err(Interrupted::TimedOut) => return Ok(Seen::Content),
                Ok(chunk) => answer.mask(chunk.map_err(fault_from::upstream)?),
            };
            let Some(chunk) = chunk else {
                return Err(ended_early());
            };
            framer.push(&chunk);
            answer.hold(chunk);
            while let Some(event) = framer.next() {
                if let Some(seen) = seen(protocol, event.name(), event.data()) {
                    return Ok(seen);
                }
            }
            if answer.held_len() >= hold.bytes {
                return Ok(Seen::Content);
            }
        }
    }

    /// Waits for the first piece of a body.
    async fn hold_one(&mut self, answer: &mut Answer) -> Result<Seen, Fault> {
        match self.read_chunk(answer).await? {
            Some(chunk) => answer.hold(chunk),
            None => answer.hold_end(),
        }
        Ok(Seen::Content)
    }

    /// Reads a body to its end, up to about `bytes_max`, and holds it.
    async fn read_held(&mut self, answer: &mut Answer, bytes_max: usize) -> Result<(), Fault> {
        while answer.held_len() <= bytes_max {
            match self.read_chunk(answer).await? {
                Some(chunk) => answer.hold(chunk),
                None => {
                    answer.hold_end();
                    break;
                }
            }
        }
        Ok(())
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

fn keep(answer: Answer, lease: Lease, blame: Option<Blame>) -> Attempted {
    Attempted::Keep(Box::new(Kept {
        answer,
        lease,
        blame,
    }))
}

fn next(answer: Answer, lease: Lease, blame: Blame) -> Attempted {
    Attempted::Next(Ended::Answered(Box::new(Kept {
        answer,
        lease,
        blame: Some(blame),
    })))
}

fn ended_early() -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider's answer ended before it began; try again",
    )
    .detail("the stream ended before any event with content")
}
