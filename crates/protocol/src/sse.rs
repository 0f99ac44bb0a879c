//! Server-sent events out of chunks cut anywhere, with every byte kept in its place.

mod fields;

#[cfg(test)]
mod tests;

pub use fields::{SseEvent, encode_event};

use bytes::Bytes;

/// Cuts a stream into events.
///
/// Push a chunk, then take events until there are none. The `raw` of all events, joined in order
/// and followed by what `finish` gives, is the stream byte for byte: comments, blank lines and
/// byte order mark come out as events without data. An event that lies within one chunk is a
/// slice of it; one that does not is copied once.
#[derive(Clone, Debug)]
pub struct SseDecoder {
    event_bytes_max: usize,
    /// What is left of the chunk pushed last.
    chunk: Bytes,
    /// The event's bytes from earlier chunks.
    carried: Vec<u8>,
    /// Whether the line that the scan stands in has no bytes so far.
    at_line_start: bool,
    /// Whether the last byte was a CR, so that a LF right now still belongs to it.
    after_cr: bool,
    /// Whether the event turned out longer than `event_bytes_max` and comes out in pieces.
    in_oversize: bool,
    at_stream_start: bool,
}

impl SseDecoder {
    /// `event_bytes_max` is the most bytes an event may have, with its blank line, to be kept whole.
    ///
    /// A longer one comes out as pieces that are flagged oversize and have no data.
    pub fn new(event_bytes_max: usize) -> Self {
        Self {
            event_bytes_max,
            chunk: Bytes::new(),
            carried: Vec::new(),
            at_line_start: true,
            after_cr: false,
            in_oversize: false,
            at_stream_start: true,
        }
    }

    /// Adds the next bytes of the stream. Take all events before the next push, or bytes are copied.
    pub fn push(&mut self, chunk: &Bytes) {
        if self.chunk.is_empty() {
            self.chunk = chunk.clone();
        } else {
            self.chunk = [&self.chunk[..], chunk].concat().into();
        }
    }

    /// The next event, or a piece of an oversize one; none when more bytes are needed.
    #[allow(clippy::should_implement_trait, reason = "more may come after none")]
    pub fn next(&mut self) -> Option<SseEvent> {
        if self.chunk.is_empty() {
            return None;
        }
        if self.is_between_events() && self.after_cr && self.chunk[0] == b'\n' {
            self.after_cr = false;
            return Some(SseEvent::blank(self.chunk.split_to(1)));
        }
        match self.event_end() {
            Some(end) => Some(self.take_event(end)),
            None => self.keep_partial(),
        }
    }

    /// Ends the stream; returns the event that no blank line ended.
    ///
    /// Readers differ on such an event: the standard drops it, some clients do not. Of an
    /// oversize one whose pieces are all out there may be no bytes left.
    pub fn finish(&mut self) -> Option<SseEvent> {
        if self.is_between_events() && self.chunk.is_empty() {
            return None;
        }
        let mut raw = std::mem::take(&mut self.carried);
        raw.extend_from_slice(&std::mem::take(&mut self.chunk));
        Some(match std::mem::take(&mut self.in_oversize) {
            true => SseEvent::oversize(raw.into()),
            false => SseEvent::parse(raw.into(), self.at_stream_start),
        })
    }

    /// Whether the bytes so far end with an event. Asked when all events were taken.
    pub fn is_between_events(&self) -> bool {
        self.carried.is_empty() && !self.in_oversize
    }

    /// Whether pieces of an event came out that was too long to be kept, and its end did not come yet.
    pub fn is_in_oversize(&self) -> bool {
        self.in_oversize
    }

    /// One past the blank line that ends the event, if the chunk holds it.
    fn event_end(&mut self) -> Option<usize> {
        let chunk = &self.chunk[..];
        let mut at = 0;
        if std::mem::take(&mut self.after_cr) && chunk[0] == b'\n' {
            at = 1;
        }
        while let Some(length) = memchr::memchr2(b'\n', b'\r', &chunk[at..]) {
            let is_blank = self.at_line_start && length == 0;
            let is_cr = chunk[at + length] == b'\r';
            at += length + 1;
            if is_cr {
                match chunk.get(at) {
                    Some(b'\n') => at += 1,
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            self.at_line_start = true;
            if is_blank {
                return Some(at);
            }
        }
        self.at_line_start &= at == chunk.len();
        None
    }

    fn take_event(&mut self, end: usize) -> SseEvent {
        let tail = self.chunk.split_to(end);
        let raw = if self.carried.is_empty() {
            tail
        } else {
            self.carried.extend_from_slice(&tail);
            Bytes::from(std::mem::take(&mut self.carried))
        };
        let is_first = std::mem::take(&mut self.at_stream_start);
        // The LF of a last CR LF may come as a blank of its own, so that it never counts.
        let length = raw
            .strip_suffix(b"\r\n")
            .map_or(raw.len(), |rest| rest.len() + 1);
        if std::mem::take(&mut self.in_oversize) || length > self.event_bytes_max {
            SseEvent::oversize(raw)
        } else {
            SseEvent::parse(raw, is_first)
        }
    }

    /// Keeps the chunk until its event ends, unless the event is too long to be kept.
    fn keep_partial(&mut self) -> Option<SseEvent> {
        let chunk = std::mem::take(&mut self.chunk);
        if !self.in_oversize && self.carried.len() + chunk.len() <= self.event_bytes_max {
            self.carried.extend_from_slice(&chunk);
            return None;
        }
        self.in_oversize = true;
        if self.carried.is_empty() {
            return Some(SseEvent::oversize(chunk));
        }
        self.carried.extend_from_slice(&chunk);
        Some(SseEvent::oversize(std::mem::take(&mut self.carried).into()))
    }
}
