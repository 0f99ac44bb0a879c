//! A server-sent event: its original bytes, and the name and data in its lines.

use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};

/// An event of a stream, or bytes between events.
#[derive(Clone, Debug)]
pub struct SseEvent {
    /// The original bytes, with the blank line.
    pub raw: Bytes,
    name: Option<Range<usize>>,
    data: EventData,
    oversize: bool,
    /// Whether `raw` begins with a byte order mark that is no part of its first line, as only a stream may.
    has_mark: bool,
}

#[derive(Clone, Debug)]
enum EventData {
    None,
    /// One line, read in place.
    Line(Range<usize>),
    /// Several lines, joined with LF as the standard requires.
    Lines(Vec<u8>),
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
const EVENT_FIELD: &[u8] = b"event: ";

/// Writes an event; `data` with line ends becomes one `data` line for each of its lines.
pub fn encode_event(name: Option<&str>, data: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(data.len() + name.map_or(0, str::len) + 16);
    if let Some(name) = name {
        frame.put_slice(EVENT_FIELD);
        frame.put_slice(name.as_bytes());
        frame.put_u8(b'\n');
    }
    let mut rest = data;
    loop {
        let length = memchr::memchr(b'\n', rest);
        frame.put_slice(b"data: ");
        frame.put_slice(&rest[..length.unwrap_or(rest.len())]);
        frame.put_u8(b'\n');
        match length {
            Some(length) => rest = &rest[length + 1..],
            None => break,
        }
    }
    frame.put_u8(b'\n');
    frame.freeze()
}

impl SseEvent {
    /// An event that the gateway writes, as [`encode_event`] does.
    pub fn encoded(name: Option<&str>, data: &[u8]) -> Self {
        let raw = encode_event(name, data);
        if memchr::memchr2(b'\n', b'\r', data).is_some() {
            return Self::parse(raw, false);
        }
        let name = name.filter(|name| !name.is_empty());
        let name = name.map(|name| EVENT_FIELD.len()..EVENT_FIELD.len() + name.len());
        // Behind the data are two line ends.
        let data = raw.len() - 2 - data.len()..raw.len() - 2;
        Self {
            name,
            data: EventData::Line(data),
            ..Self::blank(raw)
        }
    }

    /// The value of the last `event` line; `None` if there is none or it is empty.
    pub fn name(&self) -> Option<&[u8]> {
        self.name.clone().map(|name| &self.raw[name])
    }

    /// The values of all `data` lines. Empty for comments, blank lines and pieces of oversize events: clients do not
    /// see these as an event.
    pub fn data(&self) -> &[u8] {
        match &self.data {
            EventData::None => &[],
            EventData::Line(range) => &self.raw[range.clone()],
            EventData::Lines(joined) => joined,
        }
    }

    /// The same bytes as [`Self::data`], without a copy if they are on one line.
    pub fn shared_data(&self) -> Bytes {
        match &self.data {
            EventData::None => Bytes::new(),
            EventData::Line(range) => self.raw.slice(range.clone()),
            EventData::Lines(joined) => Bytes::copy_from_slice(joined),
        }
    }

    /// Whether this is an oversize event or a piece of one, of which only the raw bytes are known.
    pub fn is_oversize(&self) -> bool {
        self.oversize
    }

    /// The event's bytes with a range of its data replaced by bytes without line ends.
    ///
    /// If the data is on one line, as providers send it, all other bytes are unchanged.
    pub fn raw_with(&self, range: Range<usize>, with: &[u8]) -> Bytes {
        let (bytes, offset) = match &self.data {
            EventData::None => return self.raw.clone(),
            EventData::Line(line) => (&self.raw[..], line.start),
            EventData::Lines(joined) => (&joined[..], 0),
        };
        let before = &bytes[..offset + range.start];
        let after = &bytes[offset + range.end..];
        let changed = [before, with, after].concat();
        match &self.data {
            EventData::Lines(_) => {
                let name = self.name().and_then(|name| std::str::from_utf8(name).ok());
                encode_event(name, &changed)
            }
            _ => changed.into(),
        }
    }

    /// The event's bytes with other data. All lines but those of the data are unchanged.
    ///
    /// Line ends in `data` separate its lines, as they do between tokens of JSON.
    pub fn with_data(&self, data: &[u8]) -> Bytes {
        let mut changed = BytesMut::with_capacity(self.raw.len() + data.len() + 16);
        let mut is_written = false;
        let mut rest = &self.raw[..];
        while !rest.is_empty() {
            let (line, line_end, after) = split_line(rest);
            rest = after;
            let is_marked = self.has_mark && changed.is_empty();
            let unmarked = line.strip_prefix(BYTE_ORDER_MARK);
            let line_start = unmarked.filter(|_| is_marked).unwrap_or(line);
            let is_data = line_start == b"data" || line_start.starts_with(b"data:");
            if !is_data {
                changed.put_slice(line);
                changed.put_slice(line_end);
            } else if !is_written {
                is_written = true;
                changed.put_slice(&line[..line.len() - line_start.len()]);
                let field: &[u8] = match line_start.starts_with(b"data: ") {
                    true => b"data: ",
                    false => b"data:",
                };
                put_data_lines(&mut changed, field, data, line_end);
            }
        }
        changed.freeze()
    }

    pub(super) fn blank(raw: Bytes) -> Self {
        Self {
            raw,
            name: None,
            data: EventData::None,
            oversize: false,
            has_mark: false,
        }
    }

    pub(super) fn oversize(raw: Bytes) -> Self {
        Self {
            oversize: true,
            ..Self::blank(raw)
        }
    }

    pub(super) fn parse(raw: Bytes, at_stream_start: bool) -> Self {
        let mut event = Self::blank(raw);
        let mut at = 0;
        if at_stream_start && event.raw.starts_with(BYTE_ORDER_MARK) {
            event.has_mark = true;
            at = BYTE_ORDER_MARK.len();
        }
        while at < event.raw.len() {
            let rest = &event.raw[at..];
            let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            event.read_line(at..at + length);
            // The LF of a CR LF reads as one more empty line, which has no effect.
            at += length + 1;
        }
        event
    }

    fn read_line(&mut self, line: Range<usize>) {
        let text = &self.raw[line.clone()];
        let field_length = memchr::memchr(b':', text).unwrap_or(text.len());
        let has_space = text.get(field_length + 1) == Some(&b' ');
        let value_start = line.start + field_length + 1 + usize::from(has_space);
        let value = value_start.min(line.end)..line.end;
        match &text[..field_length] {
            b"data" => self.add_data(value),
            b"event" => self.name = (!value.is_empty()).then_some(value),
            _ => {}
        }
    }

    fn add_data(&mut self, line: Range<usize>) {
        let mut joined = match std::mem::replace(&mut self.data, EventData::None) {
            EventData::None => {
                self.data = EventData::Line(line);
                return;
            }
            EventData::Line(first) => self.raw[first].to_vec(),
            EventData::Lines(joined) => joined,
        };
        joined.push(b'\n');
        joined.extend_from_slice(&self.raw[line]);
        self.data = EventData::Lines(joined);
    }
}

/// The first line, its line end, and the bytes after it.
fn split_line(bytes: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let length = memchr::memchr2(b'\n', b'\r', bytes).unwrap_or(bytes.len());
    let (line, rest) = bytes.split_at(length);
    let end = match rest {
        [b'\r', b'\n', ..] => 2,
        rest => rest.len().min(1),
    };
    let (line_end, after) = rest.split_at(end);
    (line, line_end, after)
}

fn put_data_lines(event: &mut BytesMut, field: &[u8], data: &[u8], line_end: &[u8]) {
    let mut rest = data;
    loop {
        let (line, end, after) = split_line(rest);
        event.put_slice(field);
        event.put_slice(line);
        event.put_slice(line_end);
        if end.is_empty() {
            return;
        }
        rest = after;
    }
}
