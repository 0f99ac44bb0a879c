//! Records a streamed answer as its caller gets it.

use super::recorded_headers;
use crate::filter::view::{EventAction, ResponseBodyKind, ResponseView};
use crate::journal::{ANSWER_BYTES_MAX, JournalEntry, RecordedAnswer};
use crate::protocol::sse::SseEvent;
use bytes::BytesMut;

/// The events of a stream so far.
pub(super) struct StreamRecording {
    answer: RecordedAnswer,
    events: BytesMut,
    is_too_large: bool,
}

impl StreamRecording {
    /// Begins to record a successful stream.
    pub(super) fn begin(response: &mut ResponseView<'_>) {
        let is_stream = response.kind == ResponseBodyKind::Stream && response.status.is_success();
        let entry = response.request.state.get::<JournalEntry>();
        let Some(has_key) = entry.filter(|_| is_stream).map(JournalEntry::has_key) else {
            return;
        };
        // They are added to the response's after this hook.
        let mut headers = response.headers.clone();
        headers.extend(response.request.response_headers.clone());
        let recording = Self {
            answer: RecordedAnswer {
                status: response.status.as_u16(),
                headers: recorded_headers(&headers),
                body: bytes::Bytes::new(),
            },
            events: BytesMut::new(),
            // Without a key nobody asks for it again.
            is_too_large: !has_key,
        };
        response.request.state.set(recording);
    }

    pub(super) fn append(&mut self, event: &SseEvent, action: &EventAction) {
        let bytes = match action {
            EventAction::Pass => &event.raw,
            EventAction::Replace(bytes) => bytes,
            EventAction::Drop => return,
        };
        self.is_too_large |= self.events.len() + bytes.len() > ANSWER_BYTES_MAX;
        match self.is_too_large {
            true => self.events = BytesMut::new(),
            false => self.events.extend_from_slice(bytes),
        }
    }

    /// The recorded answer, unless it is too large to be kept.
    pub(super) fn into_answer(self) -> Option<RecordedAnswer> {
        let body = self.events.freeze();
        (!self.is_too_large).then_some(RecordedAnswer {
            body,
            ..self.answer
        })
    }
}
