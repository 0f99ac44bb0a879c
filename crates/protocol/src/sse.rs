//! Parses server-sent events from chunks that may be cut anywhere, and preserves every byte.

mod fields;

#[cfg(test)]
mod tests;

pub use fields::{SseEvent, encode_event};

use bytes::Bytes;

/// The events of a complete text; the last one may lack its blank line. `event_bytes_max` is as in [`SseDecoder::new`].
pub fn decode_events(text: &Bytes, event_bytes_max: usize) -> Vec<SseEvent> {
    let mut decoder = SseDecoder::new(event_bytes_max);
    decoder.push(text);
    let mut events: Vec<SseEvent> = std::iter::from_fn(|| decoder.next()).collect();
    events.extend(decoder.finish());
    events
}

/// How a line of a stream begins: the fields that there are, and a comment.
const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];

/// Whether a body begins like an event stream, whatever its media type is.
pub fn is_event_stream_start(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let start = start.trim_ascii_start();
    FIELDS.iter().any(|field| start.starts_with(field))
}

/// Whether a body of which `start` has arrived may turn out to be an event stream.
pub fn may_become_event_stream(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    FIELDS.iter().any(|field| field.starts_with(start))
}

/// Splits a stream into events.
///
/// Push a chunk, then call `next` until it returns `None`. The `raw` bytes of all events, in order and followed by the
/// result of `finish`, are the stream byte for byte: comments, blank lines and a byte order mark are returned as events
/// without data. An event within one chunk is a slice of it; any other event is copied once.
#[derive(Clone, Debug)]
pub struct SseDecoder {
    event_bytes_max: usize,
    /// The rest of the last chunk.
    chunk: Bytes,
    /// The event's bytes from earlier chunks.
    carried: Vec<u8>,
    /// Whether the current line is empty so far.
    at_line_start: bool,
    /// Whether the last byte was a CR, so that an LF directly after it belongs to the same line end.
    after_cr: bool,
    /// Whether the current event exceeds `event_bytes_max` and is returned in pieces.
    in_oversize: bool,
    at_stream_start: bool,
}

impl SseDecoder {
    /// `event_bytes_max` is the maximum size of an event with its blank line, in bytes.
    ///
    /// A longer event is returned in pieces that are flagged as oversize and have no data.
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

    /// The next event, or a piece of an oversize one; `None` if more bytes are needed.
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

    /// Ends the stream; returns the last event if it has no blank line.
    ///
    /// Clients differ on such an event: the standard discards it, some clients do not. If the event was oversize and
    /// all its pieces were returned, there may be no bytes left.
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

    /// Whether the bytes so far end with an event. Call it after all events were taken.
    pub fn is_between_events(&self) -> bool {
        self.carried.is_empty() && !self.in_oversize
    }

    /// Whether pieces of an oversize event were returned, and the event has not ended.
    pub fn is_in_oversize(&self) -> bool {
        self.in_oversize
    }

    /// The offset after the blank line that ends the event, if the chunk contains it.
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
        // The LF of the last CR LF may be returned as a separate blank, so it is not counted.
        let length = raw
            .strip_suffix(b"\r\n")
            .map_or(raw.len(), |rest| rest.len() + 1);
        if std::mem::take(&mut self.in_oversize) || length > self.event_bytes_max {
            SseEvent::oversize(raw)
        } else {
            SseEvent::parse(raw, is_first)
        }
    }

    /// Buffers the chunk until its event ends, unless the event becomes oversize.
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
