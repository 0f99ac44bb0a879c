//! Relays a provider's event stream to the caller, and shows its events to filters.

mod held;
mod held_events;
mod next_chunk;
mod relayed_stream;

use super::Exchange;
use super::keep_alive::KeepAliveCommentTimer;
use super::relay::is_channel_fault;
use super::response_transcoder::ResponseTranscoder;
use crate::reply;
use crate::upstream::response::UpstreamResponse;
use bytes::{Bytes, BytesMut};
use headgate_channel::retry_policy::AttemptFailureClass;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::ResponseBodyAccess;
use headgate_core::filter::output_check::RouteOutputChecks;
use headgate_core::filter::stream_info::SINGLE_TOKEN_EVENT_BYTES;
use headgate_core::filter::view::{EventAction, EventView};
use headgate_protocol::ChannelProtocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::sse::SseEvent;
use headgate_protocol::stream::{MessageStartCompleter, StreamProgress};
use http::{HeaderMap, Method, StatusCode, header};
use next_chunk::StreamWaits;
use relayed_stream::RelayedStream;
use std::pin::pin;

/// How the events of the messages protocol begin that only keep a connection alive.
const PING: &[u8] = b"event: ping";
/// Events above this many bytes pass without being shown to filters.
const EVENT_BYTES_MAX: usize = 16 << 20;

impl Exchange<'_> {
    /// Relays a stream. Each chunk is sent before filters see its events, unless events are converted, or a filter may
    /// change them or end the stream between them.
    pub(super) async fn relay_stream(
        &mut self,
        response: &mut UpstreamResponse,
        mut headers: HeaderMap,
        candidate: &Candidate,
        transcoder: &mut ResponseTranscoder,
    ) -> Result<(), Fault> {
        let route = self.route.clone();
        let checks = match route.response.output_checks() {
            RouteOutputChecks::None => None,
            RouteOutputChecks::WholeBodies => return Err(self.unchecked_fault("it is a stream")),
            RouteOutputChecks::Streams(checks) => Some(checks),
        };
        headers.remove(header::CONTENT_LENGTH);
        if candidate.protocol.is_some() {
            response.sniff_coding();
        }
        let status = self.caller_status(response);
        self.downstream.write_head(status, headers).await?;
        let is_guarded = self.is_stream_guarded();
        let rewritten = is_guarded
            || !transcoder.passes_bytes()
            || self.route.response.event_access() == ResponseBodyAccess::Replace;
        if let Some(checks) = checks {
            // Boxed, so that streams that are not held do not take its memory.
            let relaying = self.relay_held_stream(response, candidate, checks, transcoder);
            return Box::pin(relaying).await;
        }
        let mut stream =
            RelayedStream::new(self.progress(response, candidate.protocol), transcoder);
        // A recorded trace has the messages of the request.
        if !route.response.reads_body_during_stream() && self.record.trace.is_none() {
            self.request.body.free();
        }
        let mut start = start_completion(candidate.protocol);
        let keep_alive = KeepAliveCommentTimer::new(self.route.response.heartbeat(), rewritten);
        loop {
            let heartbeat = keep_alive.current_interval(&stream.decoder, stream.is_over());
            // Pinned in place, since a move of this future copies kilobytes for each event.
            let next = match (heartbeat, is_guarded && !stream.is_over()) {
                (None, false) => pin!(self.next_chunk(response)).await,
                (heartbeat, is_guarded) => {
                    let waits = StreamWaits {
                        heartbeat,
                        is_guarded,
                        until: None,
                    };
                    let next = pin!(self.next_stream_chunk(response, waits)).await;
                    next.map(Result::unwrap_or_default)
                }
            };
            match next {
                Ok(Some(chunk)) => {
                    let chunk = match &mut start {
                        None => chunk,
                        Some(completion) => completion.complete(chunk),
                    };
                    if chunk.is_empty() {
                        continue;
                    }
                    if rewritten {
                        stream.decoder.push(&chunk);
                        let mut events = Vec::new();
                        let rewritten = self.rewrite_events(&mut stream, candidate, &mut events);
                        let rewritten = rewritten.await;
                        // Also those before one at which the stream ends.
                        self.downstream.write(joined(events), false).await?;
                        if let Err(fault) = rewritten {
                            return self.break_off(fault, &stream, None, true).await;
                        }
                    } else {
                        // Before they are sent: the caller's next request may name what the filters record.
                        stream.decoder.push(&chunk);
                        self.observe_events(&mut stream, candidate).await?;
                        self.downstream.write(chunk, false).await?;
                    }
                    // Providers may keep the response open after its last event: the caller does not wait for that.
                    if stream.is_terminated() {
                        self.request.info.is_stream_whole =
                            self.request.info.stream_error.is_none();
                        return self.end_stream(&stream, Bytes::new(), candidate).await;
                    }
                    if is_guarded && let Err(fault) = self.check_stream(&stream) {
                        return self.break_off(fault, &stream, None, true).await;
                    }
                }
                Ok(None) => {
                    if let Some(rest) = start.as_mut().and_then(MessageStartCompleter::take_rest) {
                        stream.decoder.push(&rest);
                        if !rewritten {
                            self.downstream.write(rest, false).await?;
                        }
                    }
                    let partial = stream.decoder.finish();
                    if !stream.is_whole(partial.as_ref()) {
                        return self
                            .break_off(ended_early(), &stream, partial, rewritten)
                            .await;
                    }
                    let info = &mut self.request.info;
                    info.is_stream_whole = info.stream_error.is_none();
                    info.ends_in_partial_event = partial.is_some();
                    let rest = match partial {
                        Some(partial) if rewritten => {
                            self.last_events(&mut stream, Some(partial), candidate)
                                .await
                        }
                        None if rewritten => self.last_events(&mut stream, None, candidate).await,
                        Some(_) | None => Ok(Bytes::new()),
                    };
                    return match rest {
                        Ok(rest) => self.end_stream(&stream, rest, candidate).await,
                        Err(fault) => self.break_off(fault, &stream, None, true).await,
                    };
                }
                // The stream is complete: providers, and proxies in front of them, may close the connection as they
                // like.
                Err(fault) if is_channel_fault(&fault) && stream.has_ended() => {
                    self.request.info.is_stream_whole = true;
                    return self.end_stream(&stream, Bytes::new(), candidate).await;
                }
                Err(fault) => {
                    let partial = stream.decoder.finish();
                    return self.break_off(fault, &stream, partial, rewritten).await;
                }
            }
        }
    }

    /// Tracks the progress of the provider's stream; `None` without a protocol or without a body.
    fn progress(
        &self,
        response: &UpstreamResponse,
        protocol: Option<ChannelProtocol>,
    ) -> Option<StreamProgress> {
        let is_bodiless =
            self.request.method == Method::HEAD || response.status == StatusCode::NO_CONTENT;
        let protocol = protocol.filter(|_| !is_bodiless)?;
        let body = self.request.body.document();
        let choices = body.and_then(|body| body.root().get("n")?.as_u64());
        Some(StreamProgress::new(
            &protocol.descriptor().streams,
            choices.unwrap_or(1),
        ))
    }

    /// Ends an incomplete stream without a clean end, after an error event if the provider did not send one.
    async fn break_off(
        &mut self,
        fault: Fault,
        stream: &RelayedStream<'_>,
        partial: Option<SseEvent>,
        rewritten: bool,
    ) -> Result<(), Fault> {
        let fault = match is_channel_fault(&fault) {
            true => self
                .retry_policy
                .decision(AttemptFailureClass::CutShort)
                .fault(fault),
            false => fault,
        };
        // After a partial event, the caller could not parse an error event.
        let between_events = partial.is_none_or(|partial| rewritten && !partial.is_oversize());
        let is_read = !matches!(fault.kind, FaultKind::ClientGone | FaultKind::WriteTimeout);
        if is_read && between_events && !stream.is_over() {
            self.send_error_event(&fault, stream).await;
        }
        Err(fault)
    }

    /// Ends a stream that is complete: with `rest`, and what the filters add to it.
    async fn end_stream(
        &mut self,
        stream: &RelayedStream<'_>,
        rest: Bytes,
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        self.release_permits();
        match self.added_at_end(candidate).await {
            Ok(added) => self.end_response(joined(vec![rest, added])).await,
            Err(fault) => {
                self.downstream.write(rest, false).await?;
                self.break_off(fault, stream, None, true).await
            }
        }
    }

    /// What the filters add to a stream that is complete.
    async fn added_at_end(&mut self, candidate: &Candidate) -> Result<Bytes, Fault> {
        let chain = &self.route.response;
        let request = &mut self.request;
        chain.on_stream_end(request, Some(candidate)).await
    }

    async fn observe_events(
        &mut self,
        stream: &mut RelayedStream<'_>,
        candidate: &Candidate,
    ) -> Result<(), Fault> {
        let is_filtered = self.route.response.has_event_filters();
        while let Some(received) = stream.decoder.next() {
            self.observe_received(stream, &received, candidate);
            if is_filtered {
                for event in stream.transcoder.events(&received)? {
                    self.filtered_event(event, candidate).await?;
                }
            }
        }
        Ok(())
    }

    /// Adds what the caller gets for the events that have arrived.
    ///
    /// # Errors
    /// A filter ends the stream, or an event cannot be converted. Events before it were added.
    async fn rewrite_events(
        &mut self,
        stream: &mut RelayedStream<'_>,
        candidate: &Candidate,
        out: &mut Vec<Bytes>,
    ) -> Result<(), Fault> {
        while let Some(received) = stream.decoder.next() {
            self.observe_received(stream, &received, candidate);
            for event in stream.transcoder.events(&received)? {
                out.extend(self.filtered_event(event, candidate).await?);
            }
        }
        Ok(())
    }

    /// What a stream ends with that is whole for its provider: an event without its blank line, as it is unless it is
    /// translated, and what the translation adds.
    async fn last_events(
        &mut self,
        stream: &mut RelayedStream<'_>,
        partial: Option<SseEvent>,
        candidate: &Candidate,
    ) -> Result<Bytes, Fault> {
        if stream.transcoder.passes_bytes() {
            return Ok(partial.map_or_else(Bytes::new, |partial| partial.raw));
        }
        let mut out: Vec<Bytes> = Vec::new();
        if let Some(partial) = partial {
            for event in stream.transcoder.events(&partial)? {
                out.extend(self.filtered_event(event, candidate).await?);
            }
        }
        for event in stream.transcoder.last_events()? {
            out.extend(self.filtered_event(event, candidate).await?);
        }
        Ok(joined(out))
    }

    /// Shows an event of the caller's side to the filters. What is sent in its place; `None` if a filter drops it.
    ///
    /// # Errors
    /// A filter ends the stream.
    async fn filtered_event(
        &mut self,
        event: &SseEvent,
        candidate: &Candidate,
    ) -> Result<Option<Bytes>, Fault> {
        let mut view = EventView {
            request: &mut self.request,
            candidate: Some(candidate),
            event,
            action: EventAction::Pass,
        };
        self.route.response.on_event(&mut view).await?;
        Ok(match view.action {
            EventAction::Pass => Some(event.raw.clone()),
            EventAction::Replace(bytes) => Some(bytes),
            EventAction::Drop => None,
        })
    }

    /// Counts an event of the provider's side, and shows it to the filters that read that. Records an error event, which is
    /// too late for another channel.
    fn observe_received(
        &mut self,
        stream: &mut RelayedStream<'_>,
        event: &SseEvent,
        candidate: &Candidate,
    ) {
        let info = &mut self.request.info;
        info.events += 1;
        let is_idle = event.data().is_empty() || event.raw.starts_with(PING);
        info.idle_events = info.idle_events.saturating_add(is_idle.into());
        let large = event.raw.len().saturating_sub(SINGLE_TOKEN_EVENT_BYTES);
        info.large_event_bytes = info.large_event_bytes.saturating_add(large as u32);
        if stream.note(event) {
            info.stream_error = Some(candidate.channel.errors.classify_event(event.data()));
        }
        let mut view = EventView {
            request: &mut self.request,
            candidate: Some(candidate),
            event,
            action: EventAction::Pass,
        };
        self.route.response.observe_event(&mut view);
    }

    async fn send_error_event(&mut self, fault: &Fault, stream: &RelayedStream<'_>) {
        self.release_permits();
        let event = reply::event_from_fault(
            self.request.protocol,
            fault,
            &self.request.id,
            stream.events_for_caller(self.request.info.events),
        );
        if let Some(event) = event {
            // The exchange fails in any case; if the caller is gone, it needs no event.
            let _ = self.downstream.write(event, false).await;
        }
    }
}

/// What adds members to the first event of a provider's stream; `None` if nothing does.
fn start_completion(protocol: Option<ChannelProtocol>) -> Option<MessageStartCompleter> {
    MessageStartCompleter::for_stream(&protocol?.descriptor().streams)
}

fn ended_early() -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider's stream ended before its last event; try again",
    )
    .detail("no final event of the protocol")
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
