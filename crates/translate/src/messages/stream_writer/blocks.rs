//! The content blocks of a stream: one is open at a time, and none is opened again.
//!
//! Other protocols may send several tool calls at once. All but the first one wait until it is complete.

mod arguments_scan;
mod block;

use super::event_writer::write_event;
use crate::escaped_text::EscapedText;
use crate::superset::StreamPiece;
use block::{BlockStart, OpenBlock, WaitingBlock};
use headgate_protocol::sse::SseEvent;
use std::collections::{HashMap, VecDeque};

/// What waiting blocks may take in memory, in bytes: 16 MiB.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Why a piece cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockError {
    /// Blocks that wait take more memory than they may.
    TooManyWaiting,
    /// It belongs to a call that is complete.
    ClosedCall,
}

/// The blocks that were written, and those that wait.
#[derive(Debug, Default)]
pub(super) struct ContentBlocks {
    next_index: u64,
    open: Option<OpenBlock>,
    waiting: VecDeque<WaitingBlock>,
    /// How many blocks no longer wait.
    begun: usize,
    /// Parts of waiting blocks, with the number of blocks that began to wait before them.
    places: HashMap<u32, usize>,
    waiting_bytes: usize,
    /// The name of the first call whose arguments are no whole object.
    broken_call: Option<EscapedText<'static>>,
}

impl ContentBlocks {
    /// Writes a piece of content.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(
        &mut self,
        piece: &StreamPiece<'_>,
        events: &mut Vec<SseEvent>,
    ) -> Result<(), BlockError> {
        match piece {
            StreamPiece::Text { part, text } | StreamPiece::Refusal { part, text } => {
                self.begin(*part, BlockStart::Text, events)?;
                self.add(*part, text, events)
            }
            StreamPiece::Thinking { part, text } => {
                self.begin(*part, BlockStart::Thinking, events)?;
                self.add(*part, text, events)
            }
            StreamPiece::Signature { part, signature } => {
                self.begin(*part, BlockStart::Thinking, events)?;
                self.add_signature(*part, signature, events)
            }
            StreamPiece::SealedThinking { part, data } => {
                let data = data.clone().into_owned();
                self.begin(*part, BlockStart::SealedThinking(data), events)
            }
            StreamPiece::ToolCall { part, id, name } => {
                let (id, name) = (id.clone().into_owned(), name.clone().into_owned());
                self.begin(*part, BlockStart::Call { id, name }, events)
            }
            StreamPiece::Arguments { part, json } => self.add(*part, json, events),
            StreamPiece::FreeText { part, text } => {
                let start = match self.begin_free_text(*part) {
                    true => "{\"input\":\"",
                    false => "",
                };
                let json = EscapedText::plain(&format!("{start}{}", text.as_written()));
                self.add(*part, &json, events)
            }
            StreamPiece::PartEnd { part } => {
                self.end(*part, events);
                Ok(())
            }
            StreamPiece::Start { .. }
            | StreamPiece::Finish { .. }
            | StreamPiece::Usage(_)
            | StreamPiece::End
            | StreamPiece::Error { .. } => Ok(()),
        }
    }

    /// Closes the open block, and writes those that wait.
    pub fn close_all(&mut self, events: &mut Vec<SseEvent>) {
        self.close(events);
        while self.open_next(events) {
            self.close(events);
        }
    }

    /// The name of a call that is closed, and whose arguments are no whole object.
    pub fn broken_call(&self) -> Option<&EscapedText<'static>> {
        self.broken_call.as_ref()
    }

    /// Begins the block of a part, unless it has begun.
    fn begin(
        &mut self,
        part: u32,
        start: BlockStart,
        events: &mut Vec<SseEvent>,
    ) -> Result<(), BlockError> {
        if self.is_open(part) || self.places.contains_key(&part) {
            return Ok(());
        }
        let block = WaitingBlock::new(part, start);
        if self.open.is_none() {
            self.open_block(&block, events);
            return Ok(());
        }
        self.waiting_bytes += block.bytes();
        self.places.insert(part, self.begun + self.waiting.len());
        self.waiting.push_back(block);
        self.check()
    }

    fn add(
        &mut self,
        part: u32,
        text: &EscapedText<'_>,
        events: &mut Vec<SseEvent>,
    ) -> Result<(), BlockError> {
        if let Some(open) = self.open.as_mut().filter(|open| open.part == part) {
            open.write_text(text, events);
            return Ok(());
        }
        self.waiting_bytes += text.as_written().len();
        self.waiting_block(part)?.text.push(text);
        self.check()
    }

    fn add_signature(
        &mut self,
        part: u32,
        signature: &EscapedText<'_>,
        events: &mut Vec<SseEvent>,
    ) -> Result<(), BlockError> {
        if let Some(open) = self.open.as_ref().filter(|open| open.part == part) {
            open.write_signature(signature, events);
            return Ok(());
        }
        self.waiting_bytes += signature.as_written().len();
        self.waiting_block(part)?.signature.push(signature);
        self.check()
    }

    /// Whether this is the first free text of a call, which is a member of its arguments.
    fn begin_free_text(&mut self, part: u32) -> bool {
        let has_free_text = match &mut self.open {
            Some(open) if open.part == part => &mut open.has_free_text,
            Some(_) | None => match self.waiting_block(part) {
                Ok(waiting) => &mut waiting.has_free_text,
                Err(_) => return true,
            },
        };
        !std::mem::replace(has_free_text, true)
    }

    fn end(&mut self, part: u32, events: &mut Vec<SseEvent>) {
        if !self.is_open(part) {
            if let Ok(waiting) = self.waiting_block(part) {
                waiting.has_ended = true;
            }
            return;
        }
        self.close(events);
        while self.open_next(events) && self.open.as_ref().is_some_and(|open| open.has_ended) {
            self.close(events);
        }
    }

    /// Opens the block that waits longest. Whether there was one.
    fn open_next(&mut self, events: &mut Vec<SseEvent>) -> bool {
        let Some(block) = self.waiting.pop_front() else {
            return false;
        };
        self.begun += 1;
        self.places.remove(&block.part);
        self.waiting_bytes -= block.bytes();
        self.open_block(&block, events);
        true
    }

    fn open_block(&mut self, block: &WaitingBlock, events: &mut Vec<SseEvent>) {
        let index = self.next_index;
        self.next_index += 1;
        self.open = Some(block.open(index, events));
    }

    fn close(&mut self, events: &mut Vec<SseEvent>) {
        if let Some(mut open) = self.open.take() {
            if open.has_free_text {
                open.write_text(&EscapedText::plain("\"}"), events);
            }
            write_event("content_block_stop", events, |json| {
                json.key("index").number(open.index);
            });
            let broken_call = open.broken_call();
            self.broken_call = self.broken_call.take().or(broken_call);
        }
    }

    fn is_open(&self, part: u32) -> bool {
        self.open.as_ref().is_some_and(|open| open.part == part)
    }

    fn waiting_block(&mut self, part: u32) -> Result<&mut WaitingBlock, BlockError> {
        let place = self.places.get(&part).ok_or(BlockError::ClosedCall)?;
        let block = self.waiting.get_mut(place - self.begun);
        block.ok_or(BlockError::ClosedCall)
    }

    fn check(&self) -> Result<(), BlockError> {
        match self.waiting_bytes > WAITING_BYTES_MAX {
            true => Err(BlockError::TooManyWaiting),
            false => Ok(()),
        }
    }
}
