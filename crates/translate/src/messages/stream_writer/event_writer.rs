//! Writes an event with its type.

use crate::json_writer::JsonWriter;
use headgate_protocol::sse::SseEvent;

/// Adds an event of this type, with the members that `write` adds.
pub(super) fn write_event(
    name: &'static str,
    events: &mut Vec<SseEvent>,
    write: impl FnOnce(&mut JsonWriter),
) {
    let mut json = JsonWriter::with_capacity(256);
    json.begin_object().key("type").literal(name);
    write(&mut json);
    json.end_object();
    events.push(SseEvent::encoded(Some(name), json.as_bytes()));
}
