//! Records a response as its caller gets it, and ends the wait of equal requests.

use super::CacheFilter;
use crate::response_cache::{
    CacheKey, CachedResponse, CoalescingLeader, CoalescingOutcome, RecordingMemoryReservation,
};
use bytes::{Bytes, BytesMut};
use headgate_core::filter::view::{EventAction, RequestView, ResponseBodyKind};
use headgate_core::state::calendar::unix_ms;
use headgate_protocol::ids::CreatedIds;
use headgate_protocol::json::{JsonDocument, JsonLimits, ValueKind};
use headgate_protocol::sse::SseEvent;
use headgate_protocol::{Protocol, ids};
use http::{HeaderMap, StatusCode, header};
use std::sync::Arc;

/// The recording of one response, from the lookup of its request on.
pub(super) struct ResponseRecording {
    key: CacheKey,
    protocol: Protocol,
    is_stream: bool,
    /// Ends when it is known whether there is a response for others.
    leader: Option<CoalescingLeader>,
    state: RecordingState,
}

/// How far a recording has come.
enum RecordingState {
    /// No response yet.
    Waiting,
    /// A response that may be recorded has begun.
    InProgress {
        headers: HeaderMap,
        /// The events of a stream so far.
        events: BytesMut,
        reservation: Option<RecordingMemoryReservation>,
    },
    /// The response must not be recorded.
    Excluded,
}

impl ResponseRecording {
    pub fn new(key: CacheKey, is_stream: bool, protocol: Protocol) -> Self {
        Self {
            key,
            protocol,
            is_stream,
            leader: None,
            state: RecordingState::Waiting,
        }
    }

    pub fn key(&self) -> CacheKey {
        self.key
    }

    pub fn led_by(self, leader: Option<CoalescingLeader>) -> Self {
        Self { leader, ..self }
    }

    /// Begins with the head of the response that is kept. Only a 200 of the requested kind is recorded.
    pub fn begin(&mut self, status: StatusCode, headers: &HeaderMap, kind: ResponseBodyKind) {
        let expected = match self.is_stream {
            true => ResponseBodyKind::Stream,
            false => ResponseBodyKind::Json,
        };
        if status != StatusCode::OK || kind != expected {
            return self.exclude();
        }
        self.state = RecordingState::InProgress {
            headers: headers_to_record(headers),
            events: BytesMut::new(),
            reservation: None,
        };
    }

    /// Adds an event as the caller gets it.
    pub fn append(&mut self, event: &SseEvent, action: &EventAction, filter: &CacheFilter) {
        let RecordingState::InProgress {
            events,
            reservation,
            ..
        } = &mut self.state
        else {
            return;
        };
        let bytes = match action {
            EventAction::Pass => &event.raw,
            EventAction::Replace(bytes) => bytes,
            EventAction::Drop => return,
        };
        let reserved = reservation.get_or_insert_with(|| filter.responses.recording());
        let fits = events.len() + bytes.len() <= filter.entry_bytes_max
            && reserved.reserve(bytes.len(), filter.bounds.bytes);
        let made = ids::made_in_event(
            self.protocol.descriptor().id_events,
            event.name(),
            event.data(),
        );
        if !fits || event.is_oversize() || has_ids(&made) {
            return self.exclude();
        }
        events.extend_from_slice(bytes);
    }

    /// Ends with a complete body.
    pub fn end_with_body(mut self, body: &Bytes, filter: &CacheFilter) {
        match std::mem::replace(&mut self.state, RecordingState::Excluded) {
            RecordingState::InProgress { headers, .. }
                if !self.is_stream && is_recordable(body, filter.entry_bytes_max) =>
            {
                self.record(headers, body, filter);
            }
            _ => self.finish(CoalescingOutcome::NotRecorded),
        }
    }

    /// Ends with the last event of a stream.
    pub fn end_stream(mut self, filter: &CacheFilter) {
        match std::mem::replace(&mut self.state, RecordingState::Excluded) {
            RecordingState::InProgress {
                headers, events, ..
            } if self.is_stream && !events.is_empty() => {
                self.record(headers, &events, filter);
            }
            _ => self.finish(CoalescingOutcome::NotRecorded),
        }
    }

    /// Gives up the recording of the response to `request`, if there is one.
    pub fn give_up_for(request: &mut RequestView, has_caller_left: bool) {
        if let Some(recording) = request.state.take::<Self>() {
            recording.give_up(has_caller_left);
        }
    }

    /// Ends without a response for others.
    pub fn give_up(mut self, has_caller_left: bool) {
        self.finish(match has_caller_left {
            true => CoalescingOutcome::LeaderLeft,
            false => CoalescingOutcome::NotRecorded,
        });
    }

    fn record(mut self, headers: HeaderMap, body: &[u8], filter: &CacheFilter) {
        let response = Arc::new(CachedResponse {
            headers,
            // A copy of its own, since the buffer that the body was read into may be larger.
            body: Bytes::copy_from_slice(body),
            recorded_ms: unix_ms(),
        });
        let responses = &filter.responses;
        responses.insert(self.key, response.clone(), filter.bounds);
        if let Some(records) = &filter.records {
            records.put(self.key, &response);
        }
        self.finish(CoalescingOutcome::Recorded(response));
    }

    fn exclude(&mut self) {
        self.state = RecordingState::Excluded;
        self.finish(CoalescingOutcome::NotRecorded);
    }

    fn finish(&mut self, outcome: CoalescingOutcome) {
        if let Some(leader) = self.leader.take() {
            leader.finish(outcome);
        }
    }
}

/// Whether a body is a small enough JSON object, no error, and without ids that later requests may refer to.
fn is_recordable(body: &Bytes, bytes_max: usize) -> bool {
    if body.len() > bytes_max || has_ids(&ids::made_in_body(body)) {
        return false;
    }
    let document = JsonDocument::parse(body.clone(), &JsonLimits::default());
    document.is_ok_and(|document| {
        let root = document.root();
        let has_error = root.get("error").is_some_and(|error| !error.is_null());
        root.kind() == ValueKind::Object && !has_error
    })
}

fn has_ids(made: &CreatedIds) -> bool {
    made.own.is_some() || !made.others.is_empty()
}

/// The headers of a response without those of its exchange and its connection.
fn headers_to_record(headers: &HeaderMap) -> HeaderMap {
    let is_of_exchange = |name: &str| {
        matches!(
            name,
            "connection"
                | "content-length"
                | "date"
                | "openai-processing-ms"
                | "request-id"
                | "retry-after"
                | "retry-after-ms"
                | "set-cookie"
                | "transfer-encoding"
                | "x-request-id"
        ) || name.starts_with("x-ratelimit-")
            || name.starts_with("anthropic-ratelimit-")
            || name.starts_with("x-headgate-")
    };
    let mut recorded = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if *name != header::AGE && !is_of_exchange(name.as_str()) {
            recorded.append(name, value.clone());
        }
    }
    recorded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_objects_without_errors_and_ids_are_recorded() {
        for (body, is_recorded) in [
            (r#"{"id":"chatcmpl-1","object":"chat.completion"}"#, true),
            (r#"{"id":"msg_1","type":"message","content":[]}"#, true),
            (
                r#"{"id":"chatcmpl-1","object":"chat.completion","error":null}"#,
                true,
            ),
            (r#"{"id":"resp_1","object":"response"}"#, false),
            (
                r#"{"id":"msg_1","type":"message","container":{"id":"c_1"}}"#,
                false,
            ),
            (r#"{"error":{"message":"no"}}"#, false),
            (r#"{"id":"chatcmpl-1","object":"chat.completion""#, false),
            ("[]", false),
            ("", false),
            (
                r#"{"object":"chat.completion","text":"0123456789 0123456789 0123456789"}"#,
                false,
            ),
        ] {
            let body_bytes = Bytes::copy_from_slice(body.as_bytes());
            assert_eq!(is_recordable(&body_bytes, 64), is_recorded, "{body}");
        }
    }
}
