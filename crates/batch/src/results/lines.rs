//! Lines of a body that arrives in pieces, each mapped as soon as it is complete, with bounded memory.

use bytes::{Bytes, BytesMut};

/// Reads the lines of a body that arrives in pieces.
pub struct LineReader {
    /// The start of a line whose end has not arrived.
    kept: BytesMut,
    /// Longest line that is mapped, with its end.
    line_max: usize,
    /// Whether the line is longer, and passes as it arrives.
    is_passing: bool,
    /// The number of lines that passed so.
    pub passed: u64,
}

impl LineReader {
    pub fn new(line_max: usize) -> Self {
        Self {
            kept: BytesMut::new(),
            line_max,
            is_passing: false,
            passed: 0,
        }
    }

    /// What is sent in place of a piece: `map` writes each line that is complete, with its end.
    pub fn read(
        &mut self,
        piece: &[u8],
        is_last: bool,
        mut map: impl FnMut(&[u8], &mut BytesMut),
    ) -> Bytes {
        let mut mapped = BytesMut::with_capacity(piece.len() + self.kept.len());
        let mut rest = piece;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end + 1);
            self.end_line(line, &mut mapped, &mut map);
            rest = after;
        }
        self.keep(rest, &mut mapped);
        if is_last && !self.kept.is_empty() {
            self.end_line(&[], &mut mapped, &mut map);
        }
        mapped.freeze()
    }

    fn end_line(
        &mut self,
        end: &[u8],
        mapped: &mut BytesMut,
        map: &mut impl FnMut(&[u8], &mut BytesMut),
    ) {
        let is_long = self.kept.len() + end.len() > self.line_max;
        if self.is_passing || is_long {
            self.passed += u64::from(!self.is_passing);
            mapped.extend_from_slice(&self.kept);
            mapped.extend_from_slice(end);
        } else if self.kept.is_empty() {
            map(end, mapped);
        } else {
            self.kept.extend_from_slice(end);
            map(&self.kept, mapped);
        }
        self.is_passing = false;
        self.kept.clear();
    }

    fn keep(&mut self, start: &[u8], mapped: &mut BytesMut) {
        let is_long = self.kept.len() + start.len() > self.line_max;
        if !self.is_passing && !is_long {
            self.kept.extend_from_slice(start);
            return;
        }
        self.passed += u64::from(!self.is_passing);
        self.is_passing = true;
        mapped.extend_from_slice(&self.kept);
        mapped.extend_from_slice(start);
        self.kept.clear();
    }
}
