//! The events of a stream as they are recorded.

use crate::body::BodyRecorder;
use crate::body_redaction::BodyRedaction;
use headgate_core::filter::view::EventAction;
use headgate_protocol::sse::{self, SseEvent};

/// Records what the caller gets for an event.
pub(crate) fn record_event(
    recorder: &mut BodyRecorder,
    event: &SseEvent,
    action: &EventAction,
    redaction: &BodyRedaction,
) {
    match action {
        EventAction::Drop => {}
        EventAction::Pass => record(recorder, event, redaction),
        EventAction::Replace(bytes) => {
            for event in sse::decode_events(bytes, usize::MAX) {
                record(recorder, &event, redaction);
            }
        }
    }
}

fn record(recorder: &mut BodyRecorder, event: &SseEvent, redaction: &BodyRedaction) {
    if redaction.is_empty() {
        return recorder.push(&event.raw);
    }
    // Nothing can be found in a part of an event.
    if event.is_oversize() {
        return recorder.skip(event.raw.len());
    }
    match redaction.apply_to(event.shared_data()) {
        Some(data) => {
            if let Some(name) = event.name() {
                recorder.push(&[b"event: ", name, b"\n"].concat());
            }
            recorder.push(b"data: ");
            // Line breaks of JSON are between its tokens; one would end the field.
            data.for_each(|piece| recorder.push(&without_line_breaks(&piece)));
            recorder.push(b"\n\n");
        }
        None if matches!(event.data(), b"" | b"[DONE]") => recorder.push(&event.raw),
        None => recorder.skip(event.raw.len()),
    }
}

fn without_line_breaks(piece: &[u8]) -> Vec<u8> {
    let bytes = piece.iter().map(|&byte| match byte {
        b'\n' | b'\r' => b' ',
        byte => byte,
    });
    bytes.collect()
}
