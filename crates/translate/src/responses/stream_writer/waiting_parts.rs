//! Parts that wait until the call before them is complete.
//!
//! A provider may send several calls at once. Clients expect the items of a response one after the other.

use crate::escaped_text::EscapedText;
use crate::superset::StreamPiece;
use std::collections::{HashMap, VecDeque};

/// What a piece takes besides its text.
const PIECE_BYTES: usize = 128;

/// The call that is open, and the parts that came meanwhile.
#[derive(Debug, Default)]
pub(super) struct WaitingParts {
    open: Option<u32>,
    waiting: VecDeque<WaitingPart>,
    /// How many parts no longer wait.
    begun: usize,
    /// Parts that wait, with the number of parts that began to wait before them.
    places: HashMap<u32, usize>,
    bytes: usize,
}

#[derive(Debug)]
struct WaitingPart {
    part: u32,
    pieces: Vec<StreamPiece<'static>>,
    is_call: bool,
    has_ended: bool,
}

impl WaitingParts {
    /// What waits in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether a piece is written now. Otherwise it waits.
    pub fn admit(&mut self, piece: &StreamPiece<'_>) -> bool {
        let Some(part) = part_number(piece) else {
            return true;
        };
        let is_call = matches!(piece, StreamPiece::ToolCall { .. });
        let is_end = matches!(piece, StreamPiece::PartEnd { .. });
        match self.open {
            None if is_call => self.open = Some(part),
            Some(open) if open == part && is_end => self.open = None,
            Some(open) if open != part => match self.places.get(&part) {
                Some(place) => {
                    self.bytes += self.waiting[place - self.begun].add(piece);
                    return false;
                }
                // The end of a part that was written before the call.
                None if is_end => {}
                None => {
                    self.wait(part, is_call, piece);
                    return false;
                }
            },
            None | Some(_) => {}
        }
        true
    }

    /// The pieces of the next part, unless a call is open.
    pub fn next(&mut self) -> Option<Vec<StreamPiece<'static>>> {
        if self.open.is_some() {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.begun += 1;
        self.places.remove(&next.part);
        self.bytes -= next.pieces.iter().map(piece_bytes).sum::<usize>();
        if next.is_call && !next.has_ended {
            self.open = Some(next.part);
        }
        Some(next.pieces)
    }

    /// The pieces of the next part, also if the call before it is not complete: the response ends.
    pub fn next_at_end(&mut self) -> Option<Vec<StreamPiece<'static>>> {
        self.open = None;
        self.next()
    }

    fn wait(&mut self, part: u32, is_call: bool, piece: &StreamPiece<'_>) {
        let mut waiting = WaitingPart {
            part,
            pieces: Vec::new(),
            is_call,
            has_ended: false,
        };
        self.bytes += waiting.add(piece);
        self.places.insert(part, self.begun + self.waiting.len());
        self.waiting.push_back(waiting);
    }
}

impl WaitingPart {
    /// Adds a piece, to the last one if both are of one text; returns what it takes.
    fn add(&mut self, piece: &StreamPiece<'_>) -> usize {
        let before = self.pieces.last().map_or(0, piece_bytes);
        match (self.pieces.last_mut(), piece) {
            (
                Some(StreamPiece::Arguments { json: text, .. }),
                StreamPiece::Arguments { json: more, .. },
            )
            | (
                Some(StreamPiece::FreeText { text, .. }),
                StreamPiece::FreeText { text: more, .. },
            )
            | (Some(StreamPiece::Text { text, .. }), StreamPiece::Text { text: more, .. })
            | (
                Some(StreamPiece::Thinking { text, .. }),
                StreamPiece::Thinking { text: more, .. },
            ) => {
                text.push(more);
                return self.pieces.last().map_or(0, piece_bytes) - before;
            }
            (_, StreamPiece::PartEnd { .. }) => self.has_ended = true,
            (_, _) => {}
        }
        self.pieces.push(owned(piece));
        piece_bytes(piece)
    }
}

fn part_number(piece: &StreamPiece<'_>) -> Option<u32> {
    match piece {
        StreamPiece::Text { part, .. }
        | StreamPiece::Refusal { part, .. }
        | StreamPiece::Thinking { part, .. }
        | StreamPiece::Signature { part, .. }
        | StreamPiece::SealedThinking { part, .. }
        | StreamPiece::ToolCall { part, .. }
        | StreamPiece::Arguments { part, .. }
        | StreamPiece::FreeText { part, .. }
        | StreamPiece::PartEnd { part } => Some(*part),
        StreamPiece::Start { .. }
        | StreamPiece::Finish { .. }
        | StreamPiece::Usage(_)
        | StreamPiece::End
        | StreamPiece::Error { .. } => None,
    }
}

fn piece_bytes(piece: &StreamPiece<'_>) -> usize {
    let text = match piece {
        StreamPiece::Text { text, .. }
        | StreamPiece::Refusal { text, .. }
        | StreamPiece::Thinking { text, .. }
        | StreamPiece::FreeText { text, .. }
        | StreamPiece::Signature {
            signature: text, ..
        }
        | StreamPiece::SealedThinking { data: text, .. }
        | StreamPiece::Arguments { json: text, .. } => text.as_written().len(),
        StreamPiece::ToolCall { id, name, .. } => id.as_written().len() + name.as_written().len(),
        StreamPiece::PartEnd { .. }
        | StreamPiece::Start { .. }
        | StreamPiece::Finish { .. }
        | StreamPiece::Usage(_)
        | StreamPiece::End
        | StreamPiece::Error { .. } => 0,
    };
    PIECE_BYTES + text
}

/// A piece of a part without what it borrows.
fn owned(piece: &StreamPiece<'_>) -> StreamPiece<'static> {
    let own = |text: &EscapedText<'_>| text.clone().into_owned();
    match piece {
        StreamPiece::Text { part, text } => StreamPiece::Text {
            part: *part,
            text: own(text),
        },
        StreamPiece::Refusal { part, text } => StreamPiece::Refusal {
            part: *part,
            text: own(text),
        },
        StreamPiece::Thinking { part, text } => StreamPiece::Thinking {
            part: *part,
            text: own(text),
        },
        StreamPiece::Signature { part, signature } => StreamPiece::Signature {
            part: *part,
            signature: own(signature),
        },
        StreamPiece::SealedThinking { part, data } => StreamPiece::SealedThinking {
            part: *part,
            data: own(data),
        },
        StreamPiece::ToolCall { part, id, name } => StreamPiece::ToolCall {
            part: *part,
            id: own(id),
            name: own(name),
        },
        StreamPiece::Arguments { part, json } => StreamPiece::Arguments {
            part: *part,
            json: own(json),
        },
        StreamPiece::FreeText { part, text } => StreamPiece::FreeText {
            part: *part,
            text: own(text),
        },
        StreamPiece::PartEnd { part } => StreamPiece::PartEnd { part: *part },
        StreamPiece::Start { .. }
        | StreamPiece::Finish { .. }
        | StreamPiece::Usage(_)
        | StreamPiece::End
        | StreamPiece::Error { .. } => StreamPiece::End,
    }
}
