//! The scan: validates a body against RFC 8259 and the gateway's stricter rules, and writes the tape.

use super::error::{ExpectedToken, JsonError, JsonErrorKind};
use super::tape::{StringFlags, TapeEntry, TapeEntryKind};
use super::{JsonLimits, keys, number, string_scan, text};

/// Scans the whole body; the first entry of the tape is the outermost value.
pub(super) fn scan(body: &[u8], limits: &JsonLimits) -> Result<Vec<TapeEntry>, JsonError> {
    let mut scanner = JsonTapeBuilder {
        body,
        at: 0,
        tape: Vec::with_capacity((body.len() / BYTES_PER_ENTRY).clamp(ENTRIES_MIN, FIRST_ENTRIES)),
        innermost: NONE,
        depth: 0,
        values: 0,
        limits,
    };
    scanner.refuse_other_encodings()?;
    scanner.document()?;
    Ok(scanner.tape)
}

/// The approximate number of bytes of a value and its key in requests with many short ones.
const BYTES_PER_ENTRY: usize = 16;
/// The minimum initial capacity of the tape, which most events of streams do not exceed.
const ENTRIES_MIN: usize = 32;
/// The maximum initial capacity of the tape: a large body may contain only one long string.
const FIRST_ENTRIES: usize = 1024;

/// The maximum number of entries from one value to the next: that of the value, and that of a key.
const ENTRIES_PER_VALUE: usize = 2;

/// No container is open.
const NONE: u32 = u32::MAX;

struct JsonTapeBuilder<'a> {
    body: &'a [u8],
    at: usize,
    tape: Vec<TapeEntry>,
    /// The tape index of the innermost open container.
    innermost: u32,
    depth: usize,
    values: usize,
    limits: &'a JsonLimits,
}

impl JsonTapeBuilder<'_> {
    fn refuse_other_encodings(&self) -> Result<(), JsonError> {
        let reason = match self.body {
            [] => JsonErrorKind::Empty,
            [0xEF, 0xBB, 0xBF, ..] => JsonErrorKind::ByteOrderMark,
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, _, 0, ..] | [_, 0, _, 0, ..] => {
                JsonErrorKind::Utf16
            }
            // The largest index is reserved for `NONE`.
            _ if self.body.len() >= u32::MAX as usize => JsonErrorKind::TooLong,
            _ => return Ok(()),
        };
        Err(self.malformed(0, reason))
    }

    fn document(&mut self) -> Result<(), JsonError> {
        while !self.value()? || self.another_value_is_due()? {}
        match self.next_byte() {
            None => Ok(()),
            Some(_) => Err(self.malformed(self.at, JsonErrorKind::TrailingBytes)),
        }
    }

    /// Reads closing brackets up to a comma; returns false when the outermost value has ended.
    fn another_value_is_due(&mut self) -> Result<bool, JsonError> {
        while self.innermost != NONE {
            if self.separator()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads a value; returns false when it opened a container that is not empty, whose first value comes next.
    fn value(&mut self) -> Result<bool, JsonError> {
        let Some(byte) = self.next_byte() else {
            let reason = match self.tape.is_empty() {
                true => JsonErrorKind::Empty,
                false => JsonErrorKind::UnexpectedEnd(ExpectedToken::Value),
            };
            return Err(self.malformed(self.at, reason));
        };
        self.count_value()?;
        match byte {
            b'"' => self.string(TapeEntryKind::String).map(|()| true),
            b'{' => self.open(TapeEntryKind::Object),
            b'[' => self.open(TapeEntryKind::Array),
            b'-' | b'0'..=b'9' => self.number().map(|()| true),
            b't' => self.literal(b"true", TapeEntryKind::True).map(|()| true),
            b'f' => self.literal(b"false", TapeEntryKind::False).map(|()| true),
            b'n' => self.literal(b"null", TapeEntryKind::Null).map(|()| true),
            found => Err(self.unexpected(ExpectedToken::Value, found)),
        }
    }

    /// Reads what follows a value in a container; returns true when another value must follow.
    fn separator(&mut self) -> Result<bool, JsonError> {
        let in_object = self.in_object();
        match self.next_byte() {
            Some(b',') => {
                self.at += 1;
                if in_object {
                    self.key()?;
                }
                Ok(true)
            }
            Some(b'}') if in_object => self.close().map(|()| false),
            Some(b']') if !in_object => self.close().map(|()| false),
            found => {
                let wanted = match in_object {
                    true => ExpectedToken::CommaOrBrace,
                    false => ExpectedToken::CommaOrBracket,
                };
                Err(self.missing(wanted, found))
            }
        }
    }

    fn key(&mut self) -> Result<(), JsonError> {
        match self.next_byte() {
            Some(b'"') => self.string(TapeEntryKind::Key)?,
            found => return Err(self.missing(ExpectedToken::Key, found)),
        }
        match self.next_byte() {
            Some(b':') => self.at += 1,
            found => return Err(self.missing(ExpectedToken::Colon, found)),
        }
        Ok(())
    }

    // Called for each key and each string; by itself, the compiler decides by what else is in this file.
    #[inline(always)]
    fn string(&mut self, shape: fn(StringFlags) -> TapeEntryKind) -> Result<(), JsonError> {
        let start = self.at;
        let (end, flags) = match string_scan::end_of_plain(self.body, start) {
            Some(end) => (end, StringFlags::PLAIN),
            None => string_scan::scan(self.body, start)
                .map_err(|(offset, reason)| self.malformed(offset, reason))?,
        };
        self.push(start, end, shape(flags));
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        match number::length(&self.body[self.at..]) {
            Some(length) => {
                self.push(self.at, self.at + length, TapeEntryKind::Number);
                Ok(())
            }
            None => Err(self.malformed(self.at, JsonErrorKind::BadNumber)),
        }
    }

    fn literal(&mut self, word: &[u8], shape: TapeEntryKind) -> Result<(), JsonError> {
        if !self.body[self.at..].starts_with(word) {
            return Err(self.malformed(self.at, JsonErrorKind::BadLiteral));
        }
        self.push(self.at, self.at + word.len(), shape);
        Ok(())
    }

    /// Opens a container; returns true when it is empty and thus closed again.
    fn open(&mut self, shape: TapeEntryKind) -> Result<bool, JsonError> {
        if self.depth == self.limits.depth {
            return Err(self.malformed(self.at, JsonErrorKind::TooDeep(self.limits.depth)));
        }
        self.depth += 1;
        let around = self.innermost;
        let index = self.tape.len() as u32;
        self.push(self.at, self.at + 1, shape);
        self.tape[index as usize].next = around;
        self.innermost = index;
        let next = self.next_byte();
        match (shape, next) {
            (TapeEntryKind::Object, Some(b'}')) | (TapeEntryKind::Array, Some(b']')) => {
                self.close().map(|()| true)
            }
            (TapeEntryKind::Object, _) => self.key().map(|()| false),
            _ => Ok(false),
        }
    }

    fn close(&mut self) -> Result<(), JsonError> {
        let index = self.innermost as usize;
        if self.tape[index].shape == TapeEntryKind::Object
            && let Some(key) = keys::duplicate(self.body, &self.tape, index)
        {
            return Err(self.duplicate(key));
        }
        self.at += 1;
        self.depth -= 1;
        let next = self.tape.len() as u32;
        let container = &mut self.tape[index];
        self.innermost = container.next;
        container.next = next;
        container.end = self.at as u32;
        Ok(())
    }

    fn push(&mut self, start: usize, end: usize, shape: TapeEntryKind) {
        self.tape.push(TapeEntry {
            start: start as u32,
            end: end as u32,
            next: NONE,
            count: 0,
            shape,
        });
        self.at = end;
    }

    /// Reserves entries for the rest of the body, as many for each byte as so far. Doubling would leave half of a large
    /// tape unused, and hold the smaller tape beside it while it is copied.
    #[cold]
    fn reserve_for_rest(&mut self) {
        let scanned = self.at.max(1);
        let rest = self.body.len() - self.at;
        let estimate = (self.tape.len() as u64 * rest as u64 / scanned as u64) as usize;
        let with_margin = estimate + estimate / 16;
        let entries = with_margin.max(self.tape.len() / 2 + ENTRIES_PER_VALUE);
        let values_left = self.limits.values.saturating_sub(self.values) + 1;
        let entries_max = values_left.saturating_mul(ENTRIES_PER_VALUE);
        self.tape.reserve_exact(entries.min(entries_max));
    }

    fn count_value(&mut self) -> Result<(), JsonError> {
        if self.values == self.limits.values {
            let reason = JsonErrorKind::TooManyValues(self.limits.values);
            return Err(self.malformed(self.at, reason));
        }
        self.values += 1;
        if self.tape.capacity() - self.tape.len() < ENTRIES_PER_VALUE {
            self.reserve_for_rest();
        }
        if let Some(container) = self.tape.get_mut(self.innermost as usize) {
            container.count += 1;
        }
        Ok(())
    }

    fn in_object(&self) -> bool {
        self.tape[self.innermost as usize].shape == TapeEntryKind::Object
    }

    /// Skips white space and peeks at the byte after it.
    fn next_byte(&mut self) -> Option<u8> {
        loop {
            match self.body.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other.copied(),
            }
        }
    }
}

/// Builds errors, with the pointer that follows from the tape.
impl JsonTapeBuilder<'_> {
    fn missing(&self, wanted: ExpectedToken, found: Option<u8>) -> JsonError {
        match found {
            Some(found) => self.unexpected(wanted, found),
            None => self.malformed(self.at, JsonErrorKind::UnexpectedEnd(wanted)),
        }
    }

    fn unexpected(&self, wanted: ExpectedToken, found: u8) -> JsonError {
        let closes = matches!(found, b'}' | b']');
        let reason = match wanted {
            ExpectedToken::Key | ExpectedToken::Value if closes && self.follows_comma() => {
                JsonErrorKind::TrailingComma
            }
            ExpectedToken::Value if found.is_ascii_alphabetic() => JsonErrorKind::BadLiteral,
            _ if found >= 0x80 => match std::str::from_utf8(&self.body[self.at..]) {
                Err(error) if error.valid_up_to() == 0 => JsonErrorKind::InvalidUtf8,
                _ => JsonErrorKind::Unexpected { wanted, found },
            },
            _ => JsonErrorKind::Unexpected { wanted, found },
        };
        self.malformed(self.at, reason)
    }

    fn follows_comma(&self) -> bool {
        self.body[..self.at].trim_ascii_end().ends_with(b",")
    }

    fn duplicate(&self, key: usize) -> JsonError {
        let key = &self.tape[key];
        let spelling = key.spelling().expect("a key is spelled");
        let name = text::decode(key.content(self.body), spelling).into_owned();
        self.malformed(key.start as usize, JsonErrorKind::DuplicateKey(name))
    }

    fn malformed(&self, offset: usize, reason: JsonErrorKind) -> JsonError {
        JsonError::at(self.body, offset, self.pointer(), reason)
    }

    /// The JSON pointer of the innermost open container.
    fn pointer(&self) -> String {
        let mut tokens = Vec::new();
        let mut child = self.innermost;
        while child != NONE {
            let parent = self.tape[child as usize].next;
            if parent != NONE {
                tokens.push(self.token(parent as usize, child as usize));
            }
            child = parent;
        }
        tokens
            .iter()
            .rev()
            .fold(String::new(), |path, token| path + "/" + token)
    }

    fn token(&self, parent: usize, child: usize) -> String {
        let parent = &self.tape[parent];
        if parent.shape == TapeEntryKind::Array {
            return (parent.count - 1).to_string();
        }
        let key = &self.tape[child - 1];
        let spelling = key
            .spelling()
            .expect("a key stands before a member's value");
        text::decode(key.content(self.body), spelling)
            .replace('~', "~0")
            .replace('/', "~1")
    }
}
