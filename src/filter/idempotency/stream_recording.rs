//! Records a streamed response as its caller gets it.

use super::recorded_response::{ResponseBodyStore, recorded_headers};
use crate::filter::view::{EventAction, ResponseBodyKind, ResponseView};
use crate::journal::{CreateEnd, JournalEntry, RecordedBody, RecordedResponse};
use crate::protocol::sse::SseEvent;
use bytes::BytesMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Largest stream that is recorded, in bytes. It is in memory until its end. Three images of 8 MB in base64 fit.
const STREAM_BYTES_MAX: usize = 32 << 20;

/// Largest size of all recordings of a route together, in bytes. A stream beyond it is not kept.
const RECORDINGS_BYTES_MAX: usize = 512 << 20;

/// The events of a stream so far.
pub(super) struct StreamRecording {
    response: RecordedResponse,
    events: BytesMut,
    memory: RecordingMemory,
    is_too_large: bool,
}

/// The memory of all recordings of a route.
pub(super) type RecordingsMemory = Arc<AtomicUsize>;

/// The share of one recording, until it is dropped.
struct RecordingMemory {
    all: RecordingsMemory,
    bytes: usize,
}

impl StreamRecording {
    /// Begins to record a successful stream.
    pub(super) fn begin(response: &mut ResponseView<'_>, all: &RecordingsMemory) {
        let is_stream = response.kind == ResponseBodyKind::Stream && response.status.is_success();
        let entry = response.request.state.get::<JournalEntry>();
        let Some(has_key) = entry.filter(|_| is_stream).map(JournalEntry::has_key) else {
            return;
        };
        // They are added to the response's after this hook.
        let mut headers = response.headers.clone();
        headers.extend(response.request.response_headers.clone());
        let recording = Self {
            response: RecordedResponse {
                status: response.status.as_u16(),
                headers: recorded_headers(&headers),
                body: RecordedBody::default(),
            },
            events: BytesMut::new(),
            memory: RecordingMemory {
                all: all.clone(),
                bytes: 0,
            },
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

    /// Ends the entry once the recorded response is stored; until then its duplicates wait.
    pub(super) fn end(
        self,
        entry: JournalEntry,
        response_id: Option<String>,
        is_delivered: bool,
        store: ResponseBodyStore,
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
                false => store.keep(response, events.freeze()).await,
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

impl RecordingMemory {
    /// Returns whether there is as much memory left.
    fn reserve(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.all.fetch_add(bytes, Ordering::Relaxed) + bytes <= RECORDINGS_BYTES_MAX
    }

    fn release(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = 0;
    }
}

impl Drop for RecordingMemory {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_share_their_memory() {
        let all = RecordingsMemory::default();
        let share = || RecordingMemory {
            all: all.clone(),
            bytes: 0,
        };
        let (mut first, mut second) = (share(), share());
        assert!(first.reserve(RECORDINGS_BYTES_MAX / 2));
        assert!(second.reserve(RECORDINGS_BYTES_MAX / 2));
        assert!(!second.reserve(1));
        second.release();
        assert!(first.reserve(1));
        drop((first, second));
        assert_eq!(all.load(Ordering::Relaxed), 0);
    }
}
