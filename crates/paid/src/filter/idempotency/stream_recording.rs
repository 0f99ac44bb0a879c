//! Records a streamed response as its caller gets it.

use super::recorded_response::{CreateResponseBodyStore, recorded_headers};
use crate::journal::{
    CreateEnd, CreateJournal, JournalEntryHandle, RecordedBody, RecordedResponse,
    RecordingMemoryShare,
};
use bytes::BytesMut;
use headgate_core::filter::view::{EventAction, ResponseBodyKind, ResponseView};
use headgate_core::large_bodies::BodyStoreRetryPolicy;
use headgate_protocol::sse::SseEvent;

/// Largest stream that is recorded, in bytes. It is in memory until its end. Three images of 8 MB in base64 fit.
const STREAM_BYTES_MAX: usize = 32 << 20;

/// The events of a stream so far.
pub(super) struct StreamRecording {
    response: RecordedResponse,
    events: BytesMut,
    memory: RecordingMemoryShare,
    is_too_large: bool,
}

impl StreamRecording {
    /// Begins to record a successful stream.
    pub(super) fn begin(response: &mut ResponseView<'_>, journal: &CreateJournal) {
        let is_stream = response.kind == ResponseBodyKind::Stream && response.status.is_success();
        let entry = response.request.state.get::<JournalEntryHandle>();
        let Some(has_key) = entry.filter(|_| is_stream).map(JournalEntryHandle::has_key) else {
            return;
        };
        // The headers of other filters are added after this hook.
        let mut headers = response.headers.clone();
        response.request.add_response_headers(&mut headers);
        let recording = Self {
            response: RecordedResponse {
                status: response.status.as_u16(),
                headers: recorded_headers(&headers),
                body: RecordedBody::default(),
            },
            events: BytesMut::new(),
            memory: journal.recording_memory(),
            // Without a key, no duplicate asks for the response.
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
        self.is_too_large |=
            self.events.len() + bytes.len() > STREAM_BYTES_MAX || !self.memory.reserve(bytes.len());
        match self.is_too_large {
            true => {
                self.events = BytesMut::new();
                self.memory.release();
            }
            false => self.events.extend_from_slice(bytes),
        }
    }

    /// Ends the entry once the recorded response is stored; until then the duplicates of its create wait.
    pub(super) fn end(
        self,
        entry: JournalEntryHandle,
        response_id: Option<String>,
        is_delivered: bool,
        store: CreateResponseBodyStore,
    ) {
        let Self {
            response,
            events,
            memory,
            is_too_large,
        } = self;
        entry.end_after(async move {
            let response = match is_too_large {
                true => None,
                false => {
                    let deadline = BodyStoreRetryPolicy::AFTER_DELIVERY;
                    store.keep(response, events.freeze(), deadline).await
                }
            };
            drop(memory);
            CreateEnd::Accepted {
                response,
                response_id,
                is_delivered,
            }
        });
    }
}
