//! A provider's stream on its way to the caller: bytes first, then those who look at its events.

use super::Exchange;
use super::attempt::Answer;
use super::pulse::Pulse;
use crate::catalog::model::Candidate;
use crate::filter::AnswerNeed;
use crate::filter::view::{FrameView, Verdict};
use crate::gateway::reply;
use crate::protocol::blame;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::sse::{Event, Framer};
use crate::protocol::stream::tells_failure;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};

/// Events larger than this pass unseen by filters.
const EVENT_BYTES_MAX: usize = 16 << 20;

impl Exchange<'_> {
    /// A stream: each piece goes out before anybody looks at it, unless a filter may change events.
    pub(super) async fn relay_stream(
        &mut self,
        answer: &mut Answer,
        mut headers: HeaderMap,
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        headers.remove(header::CONTENT_LENGTH);
        self.downstream.write_head(answer.status, headers).await?;
        let rewritten = self.route.response.frame_need() == AnswerNeed::Replace;
        let mut framer = Framer::new(EVENT_BYTES_MAX);
        let every = self.route.response.heartbeat();
        let mut pulse = Pulse::new(every, self.request.protocol, rewritten);
        loop {
            match self.next_chunk_with(answer, pulse.now(&framer)).await {
                Ok(Some(chunk)) if rewritten => {
                    framer.push(&chunk);
                    let events = self.rewritten_events(&mut framer, &mut pulse, candidate);
                    self.downstream.write(events, false).await?;
                }
                Ok(Some(chunk)) => {
                    self.downstream.write(chunk.clone(), false).await?;
                    framer.push(&chunk);
                    self.look_at_events(&mut framer, &mut pulse, candidate);
                }
                Ok(None) => {
                    let rest = match framer.finish() {
                        Some(partial) if rewritten => partial.raw,
                        _ => Bytes::new(),
                    };
                    return self.downstream.write(rest, true).await;
                }
                Err(fault) => {
                    let fault = self.in_words_for_money(fault);
                    // Half an event cannot be taken back: behind it an error event would be unreadable.
                    let between_events = match framer.finish() {
                        None => true,
                        Some(partial) => rewritten && !partial.is_oversize(),
                    };
                    if fault.kind != FaultKind::ClientGone && between_events {
                        self.send_error_event(&fault).await;
                    }
                    return Err(fault);
                }
            }
        }
    }

    fn look_at_events(&mut self, framer: &mut Framer, pulse: &mut Pulse, candidate: &Candidate) {
        while let Some(event) = framer.next() {
            pulse.saw(&event);
            self.count(&event);
            self.route.response.on_frame(&mut FrameView {
                request: &mut self.request,
                candidate: Some(candidate),
                event: &event,
                verdict: Verdict::Pass,
            });
        }
    }

    fn rewritten_events(
        &mut self,
        framer: &mut Framer,
        pulse: &mut Pulse,
        candidate: &Candidate,
    ) -> Bytes {
        let mut out: Vec<Bytes> = Vec::new();
        while let Some(event) = framer.next() {
            pulse.saw(&event);
            self.count(&event);
            let mut frame = FrameView {
                request: &mut self.request,
                candidate: Some(candidate),
                event: &event,
                verdict: Verdict::Pass,
            };
            self.route.response.on_frame(&mut frame);
            match frame.verdict {
                Verdict::Pass => out.push(event.raw.clone()),
                Verdict::Replace(bytes) => out.push(bytes),
                Verdict::Drop => {}
            }
        }
        joined(out)
    }

    /// Counts an event, and notes an error that comes too late for another channel.
    fn count(&mut self, event: &Event) {
        let facts = &mut self.request.facts;
        facts.events += 1;
        if let Some(protocol) = self.request.protocol
            && facts.stream_error.is_none()
            && tells_failure(protocol, event.name(), event.data())
        {
            facts.stream_error = Some(blame::of_event(event.data()));
        }
    }

    async fn send_error_event(&mut self, fault: &Fault) {
        let event = reply::event_from_fault(
            self.request.protocol,
            fault,
            &self.request.id,
            self.request.facts.events,
        );
        if let Some(event) = event {
            // The exchange fails either way; a caller that is gone too needs no event.
            let _ = self.downstream.write(event, false).await;
        }
    }
}

fn joined(mut pieces: Vec<Bytes>) -> Bytes {
    match pieces.len() {
        0 => Bytes::new(),
        1 => pieces.remove(0),
        _ => {
            let mut whole = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
            for piece in &pieces {
                whole.extend_from_slice(piece);
            }
            whole.freeze()
        }
    }
}
