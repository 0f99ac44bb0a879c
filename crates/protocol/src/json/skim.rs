//! Finds a value in a provider's JSON without parsing the rest.
//!
//! Only what is needed to find the value is checked. If the bytes are not valid JSON, the result may be nothing or a
//! wrong range of the same bytes, but never a panic.

use super::string_block::SmallBlock;
use std::ops::Range;

/// The value at a path of keys; keys that are written with escapes do not match.
pub fn find(json: &[u8], path: &[&str]) -> Option<Range<usize>> {
    let mut range = 0..json.len();
    for key in path {
        let mut members = members(json, range);
        range = members.find(|(name, _)| *name == key.as_bytes())?.1;
    }
    Some(range)
}

/// The members of the object at `range`: raw keys without quotes, and the ranges of the values.
pub fn members(json: &[u8], range: Range<usize>) -> RawMembers<'_> {
    RawMembers(RawCursor::new(json, range, b'{'))
}

/// The ranges of the elements of the array at `range`.
pub fn elements(json: &[u8], range: Range<usize>) -> RawElements<'_> {
    RawElements(RawCursor::new(json, range, b'['))
}

/// The value of the member whose key ends at `key_end`, if it is a member of the whole document's object and only few
/// members follow it: those are walked to the end of the document.
pub fn trailing_member(json: &[u8], key_end: usize) -> Option<Range<usize>> {
    let mut cursor = RawCursor { json, at: key_end };
    if !cursor.skip(b':') {
        return None;
    }
    let value = cursor.value()?;
    cursor.skip(b',');
    let mut rest = RawMembers(cursor);
    while rest.next().is_some() {}
    let RawMembers(mut cursor) = rest;
    let is_closed = cursor.skip(b'}');
    cursor.skip_white_space();
    (is_closed && cursor.at == json.len()).then_some(value)
}

/// The text between the quotes, if the value is a string without escapes.
pub fn plain_string(json: &[u8], range: Range<usize>) -> Option<&str> {
    let content = json[range].strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let text = std::str::from_utf8(content).ok()?;
    (!text.contains('\\')).then_some(text)
}

pub struct RawMembers<'a>(RawCursor<'a>);

pub struct RawElements<'a>(RawCursor<'a>);

struct RawCursor<'a> {
    json: &'a [u8],
    at: usize,
}

impl<'a> Iterator for RawMembers<'a> {
    type Item = (&'a [u8], Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.0.value()?;
        let name = self.0.json[key].strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        self.0.skip(b':');
        let value = self.0.value()?;
        self.0.skip(b',');
        Some((name, value))
    }
}

impl Iterator for RawElements<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = self.0.value()?;
        self.0.skip(b',');
        Some(value)
    }
}

impl<'a> RawCursor<'a> {
    /// Enters the container with this bracket; an empty cursor if there is none.
    fn new(json: &'a [u8], range: Range<usize>, bracket: u8) -> Self {
        let json = &json[..range.end];
        let mut walk = Self {
            json,
            at: range.start,
        };
        if !walk.skip(bracket) {
            walk.at = json.len();
        }
        walk
    }

    fn value(&mut self) -> Option<Range<usize>> {
        self.skip_white_space();
        let start = self.at;
        self.at = match self.json.get(start)? {
            b'"' => string_end(self.json, start)?,
            b'{' | b'[' => container_end(self.json, start)?,
            b'}' | b']' | b',' | b':' => return None,
            _ => scalar_end(self.json, start),
        };
        Some(start..self.at)
    }

    fn skip(&mut self, byte: u8) -> bool {
        self.skip_white_space();
        let found = self.json.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn skip_white_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.json.get(self.at) {
            self.at += 1;
        }
    }
}

/// The offset after the closing quote of the string that begins at `start`.
fn string_end(json: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    'blocks: while at < json.len() {
        let mut specials = SmallBlock::at(json, at).specials;
        while specials != 0 {
            let special = at + specials.trailing_zeros() as usize;
            match json.get(special)? {
                b'"' => return Some(special + 1),
                b'\\' => {
                    at = special + 2;
                    continue 'blocks;
                }
                _ => specials &= specials - 1,
            }
        }
        at += SmallBlock::BYTES;
    }
    None
}

/// The offset after the closing bracket of the container that begins at `start`.
fn container_end(json: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0;
    let mut at = start;
    loop {
        match json.get(at)? {
            b'"' => {
                at = string_end(json, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return Some(at + 1),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

fn scalar_end(json: &[u8], start: usize) -> usize {
    let ends = |byte: &u8| ENDS_SCALAR[usize::from(*byte)];
    let length = json[start..].iter().position(ends);
    length.map_or(json.len(), |length| start + length)
}

/// For each byte: whether it cannot be part of a number, `true`, `false` or `null`.
const ENDS_SCALAR: [bool; 256] = {
    let mut table = [false; 256];
    let mut rest: &[u8] = b",:]} \n\r\t\"[{";
    while let [byte, after @ ..] = rest {
        table[*byte as usize] = true;
        rest = after;
    }
    table
};

#[cfg(test)]
mod tests;
