//! The two sides of a stream that is relayed: as its provider sends it, and as its caller gets it.

use super::EVENT_BYTES_MAX;
use crate::exchange::response_transcoder::ResponseTranscoder;
use headgate_protocol::sse::{SseDecoder, SseEvent};
use headgate_protocol::stream::StreamProgress;

/// State of a stream that is being relayed.
pub(super) struct RelayedStream<'t> {
    /// Frames the events of the provider.
    pub decoder: SseDecoder,
    /// How far the stream has come in the channel's protocol; `None` without a protocol or without a body.
    progress: Option<StreamProgress>,
    pub transcoder: &'t mut ResponseTranscoder,
}

impl<'t> RelayedStream<'t> {
    pub(super) fn new(
        progress: Option<StreamProgress>,
        transcoder: &'t mut ResponseTranscoder,
    ) -> Self {
        Self {
            decoder: SseDecoder::new(EVENT_BYTES_MAX),
            progress,
            transcoder,
        }
    }
}

/// The provider's side.
impl RelayedStream<'_> {
    /// Records an event; returns `true` if it is the first that reports a failure.
    pub(super) fn note(&mut self, event: &SseEvent) -> bool {
        let progress = self.progress.as_mut();
        progress.is_some_and(|progress| progress.note(event, self.decoder.is_in_oversize()))
    }

    /// Whether the last event arrived, and no incomplete event follows it.
    pub(super) fn has_ended(&self) -> bool {
        let progress = self.progress.as_ref();
        let is_good = progress.is_some_and(StreamProgress::has_last_event);
        is_good && self.decoder.is_between_events()
    }

    /// Whether the stream may end here; `partial` is a last event without its blank line.
    pub(super) fn is_whole(&self, partial: Option<&SseEvent>) -> bool {
        let progress = self.progress.as_ref();
        progress.is_none_or(|progress| progress.is_whole(partial))
    }
}

/// The caller's side.
impl RelayedStream<'_> {
    /// Whether the caller has the protocol's last event, or an error in its place.
    pub(super) fn is_over(&self) -> bool {
        let progress = self.progress_for_caller();
        progress.is_some_and(StreamProgress::is_over)
    }

    /// Whether the caller needs nothing more: the protocol's last event was sent, whole.
    pub(super) fn is_terminated(&self) -> bool {
        let progress = self.progress_for_caller();
        progress.is_some_and(StreamProgress::is_terminated) && self.decoder.is_between_events()
    }

    /// How many events the caller's stream has after this number of the provider's.
    pub(super) fn events_for_caller(&self, received: u64) -> u64 {
        let translated = self.transcoder.progress();
        translated.map_or(received, |(_, events)| events)
    }

    /// How far the stream has come in the caller's protocol.
    fn progress_for_caller(&self) -> Option<&StreamProgress> {
        match (&*self.transcoder, self.transcoder.progress()) {
            (ResponseTranscoder::Identity, _) => self.progress.as_ref(),
            (ResponseTranscoder::Translated(_), translated) => {
                translated.map(|(progress, _)| progress)
            }
        }
    }
}
