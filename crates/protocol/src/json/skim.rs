//! Finds a value in a provider's JSON without parsing the rest.
//!
//! Only what is needed to find the value is checked. If the bytes are not valid JSON, the result may be nothing or a
//! wrong range of the same bytes, but never a panic.

use super::byte_set::byte_set;
use super::string_block::{BlockClassifier, SmallBlocks, specials_at};
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

/// The span of a member of the document's object, from its key to its value, with one of the commas around it, so that
/// the document without it is valid. White space after the comma belongs to it.
pub fn member_span(json: &[u8], name: &str) -> Option<Range<usize>> {
    let mut cursor = RawCursor::new(json, 0..json.len(), b'{');
    let mut comma = None;
    loop {
        cursor.skip_white_space();
        let start = cursor.at;
        let key = cursor.key()?;
        cursor.value()?;
        let value_end = cursor.at;
        let has_next = cursor.skip(b',');
        if key == name.as_bytes() {
            cursor.skip_white_space();
            return Some(match (has_next, comma) {
                (true, _) => start..cursor.at,
                (false, Some(comma)) => comma..value_end,
                (false, None) => start..value_end,
            });
        }
        comma = has_next.then_some(value_end);
    }
}

/// Steps through the members of the document's object, so that the start of a value can be seen before the value is
/// passed over.
pub fn member_walk(json: &[u8]) -> RawMemberCursor<'_> {
    RawMemberCursor(RawCursor::new(json, 0..json.len(), b'{'))
}

/// The ranges of the elements of the array at `range`.
pub fn elements(json: &[u8], range: Range<usize>) -> RawElements<'_> {
    RawElements(RawCursor::new(json, range, b'['))
}

/// The members of the object at `range`, and those of the objects in it.
pub fn nested_members(json: &[u8], range: Range<usize>) -> TwoLevelMembers<'_> {
    TwoLevelMembers {
        cursor: RawCursor::new(json, range, b'{'),
        object: None,
    }
}

/// Reads the object that is the value of the member whose key ends at `key_end`, if it is a member of the whole document's
/// object and only few members follow it: those are walked to the end of the document.
pub fn trailing_object<T>(
    json: &[u8],
    key_end: usize,
    read: impl FnOnce(&mut TwoLevelMembers<'_>) -> T,
) -> Option<T> {
    let mut cursor = RawCursor { json, at: key_end };
    if !cursor.skip(b':') {
        return None;
    }
    let mut members = nested_members(json, cursor.at..json.len());
    let read = read(&mut members);
    let TwoLevelMembers {
        mut cursor,
        object: None,
    } = members
    else {
        return None;
    };
    if !cursor.skip(b'}') {
        return None;
    }
    cursor.skip(b',');
    let mut rest = RawMembers(cursor);
    while rest.next().is_some() {}
    let RawMembers(mut cursor) = rest;
    let is_closed = cursor.skip(b'}');
    cursor.skip_white_space();
    (is_closed && cursor.at == json.len()).then_some(read)
}

/// The text of a member, if it is a string without escapes; `path` leads to it through objects.
pub fn find_string<'j>(json: &'j [u8], path: &[&str]) -> Option<&'j str> {
    plain_string(json, find(json, path)?)
}

/// The text between the quotes, if the value is a string without escapes.
pub fn plain_string(json: &[u8], range: Range<usize>) -> Option<&str> {
    let content = json[range].strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let text = std::str::from_utf8(content).ok()?;
    (!text.contains('\\')).then_some(text)
}

pub struct RawMembers<'a>(RawCursor<'a>);

pub struct RawElements<'a>(RawCursor<'a>);

/// The members of an object, one level of objects in it included.
pub struct TwoLevelMembers<'a> {
    cursor: RawCursor<'a>,
    /// The key of the inner object in which the cursor is.
    object: Option<&'a [u8]>,
}

/// A member of an object, or of an object in it.
pub struct TwoLevelMember<'a> {
    /// The key of the inner object that has the member; empty for a member of the outer one.
    pub object: &'a [u8],
    /// Without quotes.
    pub key: &'a [u8],
    pub value: Range<usize>,
}

/// The members of an object, one at a time: a key with [`Self::next_key`], then its value with [`Self::skip_value`].
pub struct RawMemberCursor<'a>(RawCursor<'a>);

impl<'a> RawMemberCursor<'a> {
    /// The next key without quotes; `None` at the end of the object, and where a key is missing or cut off.
    pub fn next_key(&mut self) -> Option<&'a [u8]> {
        self.0.skip(b',');
        let key = self.0.key()?;
        self.0.skip_white_space();
        Some(key)
    }

    /// The document from the value of the last key on.
    pub fn value_start(&self) -> &'a [u8] {
        &self.0.json[self.0.at.min(self.0.json.len())..]
    }

    /// Passes over the value of the last key; `None` if it is cut off.
    pub fn skip_value(&mut self) -> Option<Range<usize>> {
        self.0.value()
    }

    /// Whether the object ends here, and the document with it. Call it after [`Self::next_key`] found no key.
    pub fn is_closed(mut self) -> bool {
        let is_closed = self.0.skip(b'}');
        self.0.skip_white_space();
        is_closed && self.0.at == self.0.json.len()
    }
}

struct RawCursor<'a> {
    json: &'a [u8],
    at: usize,
}

impl<'a> Iterator for RawMembers<'a> {
    type Item = (&'a [u8], Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let name = self.0.key()?;
        let value = self.0.value()?;
        self.0.skip(b',');
        Some((name, value))
    }
}

impl<'a> Iterator for TwoLevelMembers<'a> {
    type Item = TwoLevelMember<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let cursor = &mut self.cursor;
        loop {
            if self.object.is_some() && cursor.skip(b'}') {
                cursor.skip(b',');
                self.object = None;
            }
            let key = cursor.key()?;
            if self.object.is_none() && cursor.skip(b'{') {
                self.object = Some(key);
                continue;
            }
            let value = cursor.value()?;
            cursor.skip(b',');
            let object = self.object.unwrap_or_default();
            return Some(TwoLevelMember { object, key, value });
        }
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

    /// The key of a member, without quotes, and its colon.
    fn key(&mut self) -> Option<&'a [u8]> {
        self.skip_white_space();
        let start = self.at;
        if *self.json.get(start)? != b'"' {
            return None;
        }
        self.at = string_end(self.json, start)?;
        let name = &self.json[start + 1..self.at - 1];
        self.skip(b':');
        Some(name)
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

    /// Passes over white space, and over `byte` if it comes next.
    #[inline]
    fn skip(&mut self, byte: u8) -> bool {
        if self.json.get(self.at).is_some_and(|next| *next <= b' ') {
            self.skip_white_space();
        }
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
        let mut specials = specials_at::<SmallBlocks>(json, at);
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
        at += SmallBlocks::BYTES;
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
const ENDS_SCALAR: [bool; 256] = byte_set(b",:]} \n\r\t\"[{");

#[cfg(test)]
mod tests;
