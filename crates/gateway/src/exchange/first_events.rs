//! Reads the first events of a good response, while it can still be given up for another channel.

use super::attempts::AttemptLoop;
use crate::upstream::response::{ChunkReadError, UpstreamResponse};
use headgate_channel::lease::ChannelLease;
use headgate_config::snapshot::failover::FirstEventBufferLimits;
use headgate_core::filter::view::ResponseBodyKind;
use headgate_protocol::ChannelProtocol;
use headgate_protocol::error_class::{ErrorClassification, ErrorClassifier};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::sse::{SseDecoder, SseEvent};
use headgate_protocol::stream::EventClass;
use headgate_protocol::usage::StreamUsageMeter;
use std::pin::pin;
use tokio::time::Instant;

/// Result of reading the first events of a stream.
pub(super) enum FirstEventsResult {
    Content,
    Error(ErrorClassification),
}

impl AttemptLoop<'_> {
    /// Waits for the first content of a good response, while it can still be given up for another channel.
    pub(super) async fn wait_for_first_event(
        &mut self,
        response: &mut UpstreamResponse,
        kind: ResponseBodyKind,
        lease: &ChannelLease,
    ) -> Result<FirstEventsResult, Fault> {
        let protocol = lease.candidate.protocol;
        match (kind, self.route.failover.buffer_first_events, protocol) {
            _ if !self.has_other_candidate(lease) && !self.has_fallback() => {
                Ok(FirstEventsResult::Content)
            }
            (ResponseBodyKind::Stream, Some(limits), Some(protocol)) => {
                let candidate = &lease.candidate;
                let shape = protocol.usage_at(&candidate.channel.origin.host);
                // Boxed, so that they do not enlarge the future of every exchange.
                let mut meter = Box::new(StreamUsageMeter::new(shape));
                let inspector = (protocol, &candidate.channel.errors, &mut *meter);
                let first = Box::pin(self.buffer_first_events(response, limits, inspector)).await;
                if !matches!(first, Ok(FirstEventsResult::Content))
                    && let Some(usage) = meter.usage()
                {
                    self.note_usage(candidate, Some(usage));
                }
                first
            }
            // A response that breaks off before the first byte of its body can still be replaced.
            (ResponseBodyKind::Json, _, Some(_)) => {
                let peeking = pin!(response.peek_chunk());
                let first = self.wait_times.upstream(peeking, |_| true).await;
                first.map(|_| FirstEventsResult::Content)
            }
            _ => Ok(FirstEventsResult::Content),
        }
    }

    /// Reads the first events of a stream until one of them is content or an error, or a bound is reached.
    async fn buffer_first_events(
        &mut self,
        response: &mut UpstreamResponse,
        limits: FirstEventBufferLimits,
        (protocol, errors, meter): (ChannelProtocol, &ErrorClassifier, &mut StreamUsageMeter),
    ) -> Result<FirstEventsResult, Fault> {
        response.sniff_coding();
        // A heartbeat can be sent only after the head.
        let heartbeat = self.route.response.heartbeat().unwrap_or(limits.time);
        let until = Instant::now() + limits.time.min(heartbeat);
        let mut framer = SseDecoder::new(limits.bytes);
        let (mut buffered, mut is_first) = (0, true);
        let mut peeked = response.peeked_chunks();
        loop {
            let max_wait = until.saturating_duration_since(Instant::now());
            let ends_wait = |read: &_| !matches!(read, Err(ChunkReadError::TimedOut));
            let read = match peeked.pop_front() {
                Some(chunk) => Ok(Some(chunk)),
                None => {
                    let peeking = pin!(response.peek_chunk_within(max_wait));
                    self.wait_times.upstream(peeking, ends_wait).await
                }
            };
            let chunk = match read {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Err(ended_early()),
                Err(ChunkReadError::TimedOut) => return Ok(FirstEventsResult::Content),
                Err(ChunkReadError::Broken(fault)) => return Err(fault),
            };
            framer.push(&chunk);
            buffered += chunk.len();
            while let Some(event) = framer.next() {
                if is_first && is_bare_end(protocol, &event) {
                    return Err(ended_early());
                }
                is_first &= event.data().is_empty();
                meter.event(event.name(), event.data());
                if let Some(seen) = classify_first_event(protocol, &event, errors) {
                    return Ok(seen);
                }
            }
            if buffered >= limits.bytes {
                return Ok(FirstEventsResult::Content);
            }
        }
    }
}

/// Whether an event ends a stream without having anything of it.
fn is_bare_end(protocol: ChannelProtocol, event: &SseEvent) -> bool {
    let streams = &protocol.descriptor().streams;
    !streams.last_event_has_response
        && streams.event_class(event.name(), event.data()) == EventClass::Terminal { failed: false }
}

/// Classifies an event; `None` if it only frames the stream.
fn classify_first_event(
    protocol: ChannelProtocol,
    event: &SseEvent,
    errors: &ErrorClassifier,
) -> Option<FirstEventsResult> {
    let streams = &protocol.descriptor().streams;
    match streams.event_class(event.name(), event.data()) {
        EventClass::Framing | EventClass::Ping => None,
        EventClass::Error | EventClass::Terminal { failed: true } => Some(
            FirstEventsResult::Error(errors.classify_event(event.data())),
        ),
        EventClass::Content
            if event.name().is_none() && protocol.success().is_failed_event(event.data()) =>
        {
            Some(FirstEventsResult::Error(
                errors.classify_event(event.data()),
            ))
        }
        EventClass::Content | EventClass::Terminal { failed: false } => {
            Some(FirstEventsResult::Content)
        }
    }
}

fn ended_early() -> Fault {
    Fault::new(
        FaultKind::Upstream,
        "the provider's stream ended before its first content; try again",
    )
    .detail("the stream ended before an event with content")
}
