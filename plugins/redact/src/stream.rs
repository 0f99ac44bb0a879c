//! Restores the data in a stream of events, in which a placeholder may be split across the deltas of several events.
//!
//! The end of a delta that may be the start of a placeholder is held back until the next delta of the same string. If
//! none comes, an event with the held text is inserted before the event that ends the string.

mod delta;
mod held;

use crate::event_reader::EventReader;
use crate::placeholder::PlaceholderTable;
use crate::restore::{Notation, edits_of_string, notation};
use delta::{EventValues, StringId};
use held::HeldText;
use json_text::{Edit, apply};
use std::ops::Range;
use std::str;

/// The stream of one response.
#[derive(Debug)]
pub struct StreamRestorer {
    table: PlaceholderTable,
    reader: EventReader,
    held: Vec<HeldText>,
}

impl StreamRestorer {
    pub fn new(table: PlaceholderTable) -> Self {
        Self {
            table,
            reader: EventReader::default(),
            held: Vec::new(),
        }
    }

    /// Takes the next bytes of the stream and returns what can be sent.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut sent = Vec::with_capacity(bytes.len());
        for event in self.reader.push(bytes) {
            self.event(&event, &mut sent);
        }
        sent
    }

    /// What is left at the end of the stream.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut sent = Vec::new();
        let rest = self.reader.finish();
        self.event(&rest, &mut sent);
        self.release(|_| true, &mut sent);
        sent
    }

    fn event(&mut self, event: &[u8], sent: &mut Vec<u8>) {
        let text = str::from_utf8(event).unwrap_or_default();
        let Some(data) = place_of_data(text) else {
            sent.extend_from_slice(event);
            return;
        };
        let event = text;
        let json = &event[data.clone()];
        if json == "[DONE]" {
            self.release(|_| true, sent);
        }
        if self.held.is_empty() && !delta::may_have_placeholder(json) {
            sent.extend_from_slice(event.as_bytes());
            return;
        }
        let Some(values) = EventValues::read(json) else {
            sent.extend_from_slice(event.as_bytes());
            return;
        };
        let strings = values.strings();
        let deltas: Vec<_> = strings
            .iter()
            .filter_map(|string| string.id.clone())
            .collect();
        let is_ended = |held: &HeldText| values.ends(&held.id) && !deltas.contains(&held.id);
        self.release(is_ended, sent);
        let mut edits = Vec::new();
        for string in &strings {
            match &string.id {
                Some(id) => {
                    let place = (event, data.clone());
                    edits.extend(self.delta(&values, string, id, place));
                }
                None => {
                    let notation = notation(string.path);
                    edits.extend(edits_of_string(
                        &self.table,
                        json,
                        string.range.clone(),
                        notation,
                    ));
                }
            }
        }
        sent.extend_from_slice(&event.as_bytes()[..data.start]);
        sent.extend_from_slice(apply(json, &edits).as_bytes());
        sent.extend_from_slice(&event.as_bytes()[data.end..]);
    }

    /// The edits of a delta, after which its end may be held.
    fn delta(
        &mut self,
        values: &EventValues,
        string: &delta::EventString,
        id: &StringId,
        (event, data): (&str, Range<usize>),
    ) -> Vec<Edit> {
        let json = &event[data.clone()];
        let place = self.held.iter().position(|held| held.id == *id);
        let before = place
            .map(|place| self.held.remove(place).text)
            .unwrap_or_default();
        let edited = delta::restore_delta(&self.table, json, string, &before, !values.ends(id));
        if let Some(text) = edited.rest {
            let (head, tail) = values.template(string);
            self.held.push(HeldText {
                id: id.clone(),
                text,
                head: format!("{}{head}", &event[..data.start]),
                tail: format!("{tail}{}", &event[data.end..]),
            });
        }
        edited.edits
    }

    /// Sends held texts in events of their own.
    fn release(&mut self, is_ended: impl Fn(&HeldText) -> bool, sent: &mut Vec<u8>) {
        self.held.retain(|held| {
            let ended = is_ended(held);
            if ended {
                held.write(sent);
            }
            !ended
        });
    }
}

/// The place of the data of an event that has one line of it. JSON is never split into several.
fn place_of_data(event: &str) -> Option<Range<usize>> {
    let mut found = None;
    let mut start = 0;
    for line in event.split_inclusive(['\n', '\r']) {
        if let Some(data) = line.strip_prefix("data:") {
            let data = data.strip_prefix(' ').unwrap_or(data);
            let end = start + line.trim_end_matches(['\n', '\r']).len();
            let begin = (start + line.len() - data.len()).min(end);
            if found.replace(begin..end).is_some() {
                return None;
            }
        }
        start += line.len();
    }
    found
}

/// The notation of a delta, which depends on the event where the member does not tell.
fn notation_of_delta(id: &StringId, string: &delta::EventString) -> Notation {
    if id.is_of_arguments() {
        Notation::Json
    } else {
        notation(string.path)
    }
}

#[cfg(test)]
mod tests;
