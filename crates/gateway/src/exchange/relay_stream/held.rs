//! Relays a stream whose events are held until filters have decided about them, a window at a time.

use super::held_events::HeldEvents;
use super::next_chunk::StreamWaits;
use super::{EVENT_BYTES_MAX, RelayedStream, ended_early, joined, start_completion};
use crate::deadline::DeadlineElapsed;
use crate::exchange::Exchange;
use crate::exchange::keep_alive::{KEEP_ALIVE_COMMENT, KeepAliveCommentTimer};
use crate::exchange::relay::is_channel_fault;
use crate::exchange::response_fault::unchecked_response_fault;
use crate::exchange::response_transcoder::ResponseTranscoder;
use crate::reply;
use crate::upstream::response::UpstreamResponse;
use bytes::Bytes;
use headgate_channel::retry_policy::AttemptFailureClass;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::output_check::StreamChecks;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::sse::{self, SseEvent};
use headgate_protocol::stream::MessageStartCompleter;
use std::pin::pin;
use std::time::Duration;

/// A stream that is held: who decides about its events, and those of the current window.
struct HeldStream<'c> {
    checks: &'c StreamChecks,
    events: HeldEvents,
}

impl Exchange<'_> {
    /// Relays a stream whose head was sent. Events that no filter waits for pass at once, unless others are held before
    /// them.
    pub(super) async fn relay_held_stream(
        &mut self,
        response: &mut UpstreamResponse,
        candidate: &Candidate,
        checks: &StreamChecks,
        transcoder: &mut ResponseTranscoder,
    ) -> Result<(), Fault> {
        let mut stream =
            RelayedStream::new(self.progress(response, candidate.protocol), transcoder);
        let mut held = HeldStream {
            checks,
            events: HeldEvents::new(checks.window),
        };
        let mut start = start_completion(candidate.protocol);
        let is_guarded = self.is_stream_guarded();
        let keep_alive = KeepAliveCommentTimer::new(self.route.response.heartbeat(), true);
        loop {
            let heartbeat = keep_alive.current_interval(&stream.decoder, stream.is_over());
            let waits = StreamWaits {
                heartbeat,
                is_guarded: is_guarded && !stream.is_over(),
                until: held.events.deadline,
            };
            match self.next_stream_chunk(response, waits).await {
                Ok(Ok(Some(chunk))) => {
                    let chunk = match &mut start {
                        None => chunk,
                        Some(completion) => completion.complete(chunk),
                    };
                    stream.decoder.push(&chunk);
                    self.hold_events(&mut stream, &mut held, candidate, heartbeat)
                        .await?;
                    if stream.is_terminated() {
                        return self.end_held(stream, held, candidate).await;
                    }
                    if is_guarded && let Err(fault) = self.check_stream(&stream) {
                        return self.break_off_held(fault, stream, held).await;
                    }
                }
                Ok(Err(DeadlineElapsed)) => self.release(&mut held, heartbeat).await?,
                Ok(Ok(None)) => {
                    if let Some(rest) = start.as_mut().and_then(MessageStartCompleter::take_rest) {
                        stream.decoder.push(&rest);
                    }
                    return self.end_held(stream, held, candidate).await;
                }
                Err(fault) if is_channel_fault(&fault) && stream.has_ended() => {
                    self.release_permits();
                    self.hold_added(&mut held, candidate).await?;
                    self.release(&mut held, None).await?;
                    self.request.info.is_stream_whole = true;
                    return self.end_response(Bytes::new()).await;
                }
                Err(fault) => return self.break_off_held(fault, stream, held).await,
            }
        }
    }

    /// Ends an incomplete stream, after the events that the filters pass unless the caller is gone.
    async fn break_off_held(
        &mut self,
        fault: Fault,
        mut stream: RelayedStream<'_>,
        mut held: HeldStream<'_>,
    ) -> Result<(), Fault> {
        if is_channel_fault(&fault) || fault.kind == FaultKind::OverBudget {
            self.release(&mut held, None).await?;
        }
        let partial = stream.decoder.finish();
        self.break_off(fault, &stream, partial, true).await
    }

    /// The error for a response that cannot be shown to a filter that must see it.
    pub(in crate::exchange) fn unchecked_fault(&self, reason: &str) -> Fault {
        let decision = self.retry_policy.decision(AttemptFailureClass::Unreadable);
        decision.fault(unchecked_response_fault(reason))
    }

    /// Ends a stream whose last chunk has arrived.
    async fn end_held(
        &mut self,
        mut stream: RelayedStream<'_>,
        mut held: HeldStream<'_>,
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        self.release_permits();
        let partial = stream.decoder.finish();
        let is_whole = stream.is_whole(partial.as_ref());
        // Some clients read a last event without its blank line.
        if let Some(partial) = partial.as_ref().filter(|_| is_whole) {
            for event in stream.transcoder.events(partial)? {
                self.hold_event(event, event.raw.clone(), &mut held).await?;
            }
        }
        if is_whole {
            for event in stream.transcoder.last_events()? {
                self.hold_event(event, event.raw.clone(), &mut held).await?;
            }
        }
        if is_whole {
            self.hold_added(&mut held, candidate).await?;
        }
        self.release(&mut held, None).await?;
        if !is_whole {
            return self.break_off(ended_early(), &stream, partial, true).await;
        }
        let info = &mut self.request.info;
        info.is_stream_whole = info.stream_error.is_none();
        info.ends_in_partial_event = partial.is_some();
        self.end_response(Bytes::new()).await
    }

    /// Passes the complete events of the last chunk, as far as no filter waits for them.
    async fn hold_events(
        &mut self,
        stream: &mut RelayedStream<'_>,
        held: &mut HeldStream<'_>,
        candidate: &Candidate,
        heartbeat: Option<Duration>,
    ) -> Result<(), Fault> {
        let mut passing: Vec<Bytes> = Vec::new();
        while let Some(received) = stream.decoder.next() {
            self.observe_received(stream, &received, candidate);
            let events = match stream.transcoder.events(&received) {
                Ok(events) => events,
                Err(fault) => {
                    self.pass(&mut passing).await?;
                    return Err(self.refused(fault, held).await);
                }
            };
            for event in events {
                let sent = match self.filtered_event(event, candidate).await {
                    Ok(Some(sent)) => sent,
                    Ok(None) => continue,
                    Err(fault) => {
                        self.pass(&mut passing).await?;
                        return Err(self.refused(fault, held).await);
                    }
                };
                if event.is_oversize() {
                    self.pass(&mut passing).await?;
                    return Err(self.end_at_oversize_event(held, heartbeat).await);
                }
                let waits = self.shows_to_checks(event, &sent, held.checks);
                match waits || !held.events.is_empty() {
                    true => held.events.push(sent),
                    false => {
                        held.events.sent += 1;
                        passing.push(sent);
                    }
                }
                if held.events.is_full() {
                    self.pass(&mut passing).await?;
                    self.release(held, heartbeat).await?;
                }
            }
        }
        self.pass(&mut passing).await
    }

    async fn hold_event(
        &mut self,
        event: &SseEvent,
        sent: Bytes,
        held: &mut HeldStream<'_>,
    ) -> Result<(), Fault> {
        if event.is_oversize() {
            return Err(self.end_at_oversize_event(held, None).await);
        }
        self.shows_to_checks(event, &sent, held.checks);
        held.events.push(sent);
        Ok(())
    }

    /// Ends a stream at an event that cannot be shown to the filters: they still decide about the events before it.
    async fn end_at_oversize_event(
        &mut self,
        held: &mut HeldStream<'_>,
        heartbeat: Option<Duration>,
    ) -> Fault {
        if let Err(fault) = self.release(held, heartbeat).await {
            return fault;
        }
        let fault = self.unchecked_fault("an event of the stream is too large");
        self.refused(fault, held).await
    }

    /// Holds what the filters add to a stream that is complete.
    async fn hold_added(
        &mut self,
        held: &mut HeldStream<'_>,
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        let added = match self.added_at_end(candidate).await {
            Ok(added) => added,
            Err(fault) => return Err(self.refused(fault, held).await),
        };
        for event in sse::decode_events(&added, EVENT_BYTES_MAX) {
            self.hold_event(&event, event.raw.clone(), held).await?;
        }
        Ok(())
    }

    /// Shows what is sent in place of an event to the filters that check it.
    fn shows_to_checks(&mut self, event: &SseEvent, sent: &Bytes, checks: &StreamChecks) -> bool {
        if event.raw == *sent {
            return checks.on_held_event(&mut self.request, event);
        }
        let mut waits = false;
        for event in sse::decode_events(sent, EVENT_BYTES_MAX) {
            waits |= checks.on_held_event(&mut self.request, &event);
        }
        waits
    }

    async fn pass(&mut self, events: &mut Vec<Bytes>) -> Result<(), Fault> {
        match events.is_empty() {
            true => Ok(()),
            false => {
                let events = joined(std::mem::take(events));
                self.downstream.write(events, false).await
            }
        }
    }

    /// Has the filters decide about the held events, and sends them.
    async fn release(
        &mut self,
        held: &mut HeldStream<'_>,
        heartbeat: Option<Duration>,
    ) -> Result<(), Fault> {
        if held.events.is_empty() {
            return Ok(());
        }
        match self.decide(held.checks, heartbeat).await? {
            Ok(()) => {
                let events = joined(held.events.take());
                self.downstream.write(events, false).await
            }
            Err(fault) => {
                let decision = self.retry_policy.decision(AttemptFailureClass::Unreadable);
                Err(self.refused(decision.fault(fault), held).await)
            }
        }
    }

    /// What the filters decide about the held events. Keep-alive comments continue meanwhile.
    async fn decide(
        &mut self,
        checks: &StreamChecks,
        heartbeat: Option<Duration>,
    ) -> Result<Result<(), Fault>, Fault> {
        let mut deciding = pin!(checks.on_window(&mut self.request));
        loop {
            let Some(every) = heartbeat else {
                return Ok(self.downstream.until_client_gone(deciding.as_mut()).await?);
            };
            let waited = self
                .downstream
                .until_client_gone_within(every, deciding.as_mut());
            match waited.await? {
                Ok(decided) => return Ok(decided),
                Err(DeadlineElapsed) => {
                    let comment = Bytes::from_static(KEEP_ALIVE_COMMENT);
                    self.downstream.write(comment, false).await?;
                }
            }
        }
    }

    /// Ends a stream with an error event in place of the held events.
    async fn refused(&mut self, fault: Fault, held: &HeldStream<'_>) -> Fault {
        self.release_permits();
        let (protocol, id) = (self.request.protocol, &self.request.id);
        if let Some(event) = reply::event_from_fault(protocol, &fault, id, held.events.sent) {
            // The exchange fails in any case; if the caller is gone, it needs no event.
            let _ = self.downstream.write(event, false).await;
        }
        fault
    }
}
