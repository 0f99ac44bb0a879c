//! Decodes HPACK (RFC 7541) as far as the inspection needs it: the kind and size of each field, not its text.

use super::field::{FieldBlockTotals, FieldNameKind, HeaderFieldSummary, inspect};
use super::huffman;
use super::static_table::STATIC_TABLE;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// Maximum size of the client's dynamic table: the default, which the gateway's SETTINGS do not change.
const TABLE_BYTES_MAX: usize = 4096;
/// Longer strings are skipped. Even with the longest Huffman codes, their text is larger than the table.
const STRING_BYTES_MIN: usize = 32 << 10;

static STATIC_FIELDS: LazyLock<Vec<HeaderFieldSummary>> = LazyLock::new(|| {
    STATIC_TABLE
        .iter()
        .map(|(name, value)| {
            inspect(
                FieldNameKind::classify(name.as_bytes()),
                name.len(),
                value.as_bytes(),
            )
        })
        .collect()
});

/// A header block is malformed, so that the connection cannot continue.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CompressionError;

/// Decodes the header blocks of one connection in order, in fragments of any size.
#[derive(Debug)]
pub(super) struct HpackFieldInspector {
    table: VecDeque<HeaderFieldSummary>,
    table_bytes: usize,
    table_bytes_max: usize,
    /// Position in a representation where the next fragment continues.
    next: HpackPosition,
    /// The start of a string or an integer that a fragment cut.
    tail: Vec<u8>,
    /// Number of bytes left of a string that is skipped.
    skip: usize,
    string_bytes_max: usize,
    text: Vec<u8>,
}

/// The next element of a representation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HpackPosition {
    Representation,
    Name {
        indexed: bool,
    },
    Value {
        indexed: bool,
        name: FieldNameKind,
        name_bytes: usize,
    },
}

/// A string, or the number of its bytes to skip.
enum HpackStringResult {
    Decoded,
    Skipped(usize),
}

impl HpackFieldInspector {
    /// Header lists above `list_bytes_max` bytes are rejected in any case.
    pub fn new(list_bytes_max: usize) -> Self {
        Self {
            table: VecDeque::new(),
            table_bytes: 0,
            table_bytes_max: TABLE_BYTES_MAX,
            next: HpackPosition::Representation,
            tail: Vec::new(),
            skip: 0,
            string_bytes_max: list_bytes_max.max(STRING_BYTES_MIN),
            text: Vec::new(),
        }
    }

    /// Adds the fields of a fragment to `list`.
    pub fn decode(
        &mut self,
        fragment: &[u8],
        list: &mut FieldBlockTotals,
    ) -> Result<(), CompressionError> {
        if self.tail.is_empty() {
            let used = self.decode_all(fragment, list)?;
            self.tail.extend_from_slice(&fragment[used..]);
            return Ok(());
        }
        let mut whole = std::mem::take(&mut self.tail);
        whole.extend_from_slice(fragment);
        let used = self.decode_all(&whole, list)?;
        self.tail.extend_from_slice(&whole[used..]);
        Ok(())
    }

    /// Ends a header block.
    pub fn finish(&mut self) -> Result<(), CompressionError> {
        let whole =
            self.tail.is_empty() && self.skip == 0 && self.next == HpackPosition::Representation;
        whole.then_some(()).ok_or(CompressionError)
    }

    /// Returns the number of bytes of `input` that were used; the rest is an incomplete element.
    fn decode_all(
        &mut self,
        input: &[u8],
        list: &mut FieldBlockTotals,
    ) -> Result<usize, CompressionError> {
        let mut rest = input;
        loop {
            let skipped = self.skip.min(rest.len());
            self.skip -= skipped;
            rest = &rest[skipped..];
            if rest.is_empty() {
                return Ok(input.len());
            }
            let before = rest;
            if self.decode_one(&mut rest, list)?.is_none() {
                return Ok(input.len() - before.len());
            }
        }
    }

    /// Decodes one element; `None` if it is incomplete.
    fn decode_one(
        &mut self,
        rest: &mut &[u8],
        list: &mut FieldBlockTotals,
    ) -> Result<Option<()>, CompressionError> {
        match self.next {
            HpackPosition::Representation => self.representation(rest, list),
            HpackPosition::Name { indexed } => {
                let Some(text) = self.string(rest)? else {
                    return Ok(None);
                };
                let (name, name_bytes) = match text {
                    HpackStringResult::Decoded => {
                        (FieldNameKind::classify(&self.text), self.text.len())
                    }
                    HpackStringResult::Skipped(bytes) => (FieldNameKind::Regular, bytes),
                };
                self.next = HpackPosition::Value {
                    indexed,
                    name,
                    name_bytes,
                };
                Ok(Some(()))
            }
            HpackPosition::Value {
                indexed,
                name,
                name_bytes,
            } => {
                let Some(text) = self.string(rest)? else {
                    return Ok(None);
                };
                let field = match text {
                    HpackStringResult::Decoded => inspect(name, name_bytes, &self.text),
                    HpackStringResult::Skipped(bytes) => {
                        HeaderFieldSummary::skipped(name, name_bytes, bytes)
                    }
                };
                list.add(&field);
                if indexed {
                    self.insert(field);
                }
                self.next = HpackPosition::Representation;
                Ok(Some(()))
            }
        }
    }

    fn representation(
        &mut self,
        rest: &mut &[u8],
        list: &mut FieldBlockTotals,
    ) -> Result<Option<()>, CompressionError> {
        let Some(first) = rest.first() else {
            return Ok(None);
        };
        let prefix = match first {
            0x80.. => 7,
            0x40.. => 6,
            0x20.. => 5,
            _ => 4,
        };
        let Some(value) = integer(rest, prefix)? else {
            return Ok(None);
        };
        match prefix {
            7 => list.add(self.field(value)?),
            5 => {
                // A table size update is allowed only at the start of a block.
                if list.fields > 0 || value > TABLE_BYTES_MAX {
                    return Err(CompressionError);
                }
                self.table_bytes_max = value;
                self.evict(0);
            }
            _ => {
                let indexed = prefix == 6;
                self.next = match value {
                    0 => HpackPosition::Name { indexed },
                    index => {
                        let field = self.field(index)?;
                        HpackPosition::Value {
                            indexed,
                            name: field.name,
                            name_bytes: field.name_bytes,
                        }
                    }
                };
            }
        }
        Ok(Some(()))
    }

    fn field(&self, index: usize) -> Result<&HeaderFieldSummary, CompressionError> {
        let field = match index.checked_sub(1 + STATIC_TABLE.len()) {
            Some(at) => self.table.get(at),
            None => index.checked_sub(1).and_then(|at| STATIC_FIELDS.get(at)),
        };
        field.ok_or(CompressionError)
    }

    fn insert(&mut self, field: HeaderFieldSummary) {
        self.evict(field.bytes);
        if self.table_bytes + field.bytes <= self.table_bytes_max {
            self.table_bytes += field.bytes;
            self.table.push_front(field);
        }
    }

    /// Evicts the oldest fields until `bytes` more fit, or the table is empty.
    fn evict(&mut self, bytes: usize) {
        while self.table_bytes + bytes > self.table_bytes_max
            && let Some(oldest) = self.table.pop_back()
        {
            self.table_bytes -= oldest.bytes;
        }
    }

    /// Decodes the next string into `self.text`; `None` if it is incomplete.
    fn string(&mut self, rest: &mut &[u8]) -> Result<Option<HpackStringResult>, CompressionError> {
        let mut after = *rest;
        let Some(first) = after.first() else {
            return Ok(None);
        };
        let is_huffman = first & 0x80 != 0;
        let Some(length) = integer(&mut after, 7)? else {
            return Ok(None);
        };
        if length > self.string_bytes_max {
            self.skip = length;
            *rest = after;
            return Ok(Some(HpackStringResult::Skipped(length)));
        }
        let Some((encoded, after)) = after.split_at_checked(length) else {
            return Ok(None);
        };
        self.text.clear();
        match is_huffman {
            true => huffman::decode(encoded, &mut self.text).ok_or(CompressionError)?,
            false => self.text.extend_from_slice(encoded),
        }
        *rest = after;
        Ok(Some(HpackStringResult::Decoded))
    }
}

/// Decodes an integer with a prefix of `prefix` bits; `None` if it is incomplete.
fn integer(rest: &mut &[u8], prefix: u32) -> Result<Option<usize>, CompressionError> {
    /// The limit of the HTTP/2 library.
    const BYTES_MAX: usize = 5;
    let Some(first) = rest.first() else {
        return Ok(None);
    };
    let mask = (1_usize << prefix) - 1;
    let mut value = usize::from(*first) & mask;
    if value < mask {
        *rest = &rest[1..];
        return Ok(Some(value));
    }
    for at in 1..BYTES_MAX {
        let Some(byte) = rest.get(at) else {
            return Ok(None);
        };
        value += usize::from(byte & 0x7f) << (7 * (at - 1));
        if byte & 0x80 == 0 {
            *rest = &rest[at + 1..];
            return Ok(Some(value));
        }
    }
    Err(CompressionError)
}
