//! The tool calls of a stream that is read, of which providers send pieces in many ways.

use super::PartNumbers;
use crate::chat::response_reader::made_id;
use crate::escaped_text::EscapedText;
use crate::superset::StreamPiece;
use std::collections::HashMap;

/// What ids and names of calls may take in memory, in bytes: 16 MiB.
const STORED_BYTES_MAX: usize = 16 << 20;
/// What a call takes besides its texts.
const CALL_BYTES: usize = 128;

/// What a delta says of a call besides more of its arguments.
#[derive(Debug)]
pub(super) struct CallHead<'e> {
    pub index: u64,
    pub id: Option<EscapedText<'e>>,
    pub name: Option<EscapedText<'e>>,
}

/// More of what a call gives to its tool.
#[derive(Debug)]
pub(super) enum CallDelta<'e> {
    Arguments(EscapedText<'e>),
    FreeText(EscapedText<'e>),
}

/// The calls by the index that the provider gives them.
#[derive(Debug, Default)]
pub(super) struct StreamedCalls {
    calls: HashMap<u64, StreamedCall>,
    /// The call that may get more of its name, since nothing else has come since.
    waiting: Option<u64>,
    stored_bytes: usize,
}

/// A tool call that comes in pieces.
#[derive(Debug, Default)]
struct StreamedCall {
    /// `None` until its name is complete.
    part: Option<u32>,
    /// As it is written; empty if the provider gives none.
    id: String,
    /// As it is written.
    name: String,
}

impl StreamedCalls {
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds what a delta says of a call.
    ///
    /// # Errors
    /// The call has no name, or there are too many calls.
    pub fn add<'e>(
        &mut self,
        head: CallHead<'e>,
        delta: Option<CallDelta<'e>>,
        parts: &mut PartNumbers,
        pieces: &mut Vec<StreamPiece<'e>>,
    ) -> Result<(), String> {
        if self.waiting.is_some_and(|waiting| waiting != head.index) {
            self.announce_waiting(parts, pieces);
        }
        let known = self.calls.get(&head.index);
        if known.is_some_and(|known| known.is_followed_by(&head)) {
            self.announce_waiting(parts, pieces);
            let followed = self.calls.remove(&head.index);
            let part = followed.and_then(|followed| followed.part);
            pieces.extend(part.map(|part| StreamPiece::PartEnd { part }));
        }
        let call = self.calls.entry(head.index).or_insert_with(|| {
            self.stored_bytes += CALL_BYTES;
            StreamedCall::default()
        });
        self.stored_bytes += call.complete(&head);
        if self.stored_bytes > STORED_BYTES_MAX {
            return Err("there are too many tool calls".into());
        }
        if call.part.is_none() && !call.name.is_empty() {
            self.waiting = Some(head.index);
        }
        let Some(delta) = delta else {
            return Ok(());
        };
        if self.waiting == Some(head.index) {
            self.announce_waiting(parts, pieces);
        }
        let part = self.calls.get(&head.index).and_then(|call| call.part);
        let part = part.ok_or("a tool call has arguments before its name")?;
        pieces.push(match delta {
            CallDelta::Arguments(json) => StreamPiece::Arguments { part, json },
            CallDelta::FreeText(text) => StreamPiece::FreeText { part, text },
        });
        Ok(())
    }

    /// Adds the call whose name waits.
    pub fn announce_waiting(&mut self, parts: &mut PartNumbers, pieces: &mut Vec<StreamPiece<'_>>) {
        let waiting = self.waiting.take();
        let Some(call) = waiting.and_then(|index| self.calls.get_mut(&index)) else {
            return;
        };
        let part = parts.next();
        let id = match call.id.is_empty() {
            true => made_id(part as usize),
            false => EscapedText::from_written(call.id.clone()),
        };
        let name = EscapedText::from_written(call.name.clone());
        pieces.push(StreamPiece::ToolCall { part, id, name });
        call.part = Some(part);
    }
}

impl StreamedCall {
    /// Whether a delta at its index begins another call: some providers give all calls the same index, and some give a
    /// call another id with each delta, without its name.
    fn is_followed_by(&self, head: &CallHead<'_>) -> bool {
        let Some(name) = &head.name else {
            return false;
        };
        match &head.id {
            Some(id) if !self.id.is_empty() => self.id != id.as_written(),
            Some(_) | None => self.part.is_some() && self.name != name.as_written(),
        }
    }

    /// Takes over an id, and a name that comes in pieces or again with each delta. How many bytes more it takes.
    fn complete(&mut self, head: &CallHead<'_>) -> usize {
        let before = self.id.len() + self.name.len();
        if let Some(id) = head.id.as_ref().filter(|_| self.id.is_empty()) {
            id.as_written().clone_into(&mut self.id);
        }
        if let Some(name) = head.name.as_ref().filter(|_| self.part.is_none()) {
            if name.as_written().starts_with(&self.name) {
                name.as_written().clone_into(&mut self.name);
            } else {
                self.name.push_str(name.as_written());
            }
        }
        self.id.len() + self.name.len() - before
    }
}
