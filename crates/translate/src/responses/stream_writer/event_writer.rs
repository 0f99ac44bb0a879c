//! Numbers the events of a stream and adds them to a list.

use crate::json_writer::JsonWriter;
use headgate_protocol::sse::SseEvent;

#[derive(Debug)]
pub(super) struct EventWriter<'e> {
    events: &'e mut Vec<SseEvent>,
    sequence: u64,
}

impl<'e> EventWriter<'e> {
    /// `sequence` is the number of the next event.
    pub(super) fn new(events: &'e mut Vec<SseEvent>, sequence: u64) -> Self {
        Self { events, sequence }
    }

    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Adds an event. `members` writes what it has besides its type and number.
    pub(super) fn write(&mut self, name: &'static str, members: impl FnOnce(&mut JsonWriter)) {
        let mut json = JsonWriter::with_capacity(256);
        json.begin_object().key("type").literal(name);
        json.key("sequence_number").number(self.sequence);
        members(&mut json);
        json.end_object();
        self.sequence += 1;
        let event = SseEvent::encoded(Some(name), json.as_bytes());
        self.events.push(event);
    }
}
