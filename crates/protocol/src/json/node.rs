//! Access to the values of a document, in place.

use std::borrow::Cow;
use std::ops::Range;
use std::{fmt, iter};

use crate::digits::parse_digits;

use super::pointer_token::{array_index, unescaped};
use super::tape::{TapeEntry, TapeEntryKind};
use super::undecoded_string::UndecodedString;
use super::{JsonDocument, keys, text};

/// What a path shows of a key.
const PATH_KEY_BYTES: usize = 64;

/// A value of a document.
#[derive(Clone, Copy)]
pub struct DocumentNode<'a> {
    document: &'a JsonDocument,
    index: u32,
}

/// The six types of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl<'a> DocumentNode<'a> {
    pub(super) fn new(document: &'a JsonDocument, index: usize) -> Self {
        Self {
            document,
            index: index as u32,
        }
    }

    #[inline]
    pub fn kind(self) -> ValueKind {
        match self.entry().shape {
            TapeEntryKind::Null => ValueKind::Null,
            TapeEntryKind::True | TapeEntryKind::False => ValueKind::Bool,
            TapeEntryKind::Number => ValueKind::Number,
            TapeEntryKind::String(_) | TapeEntryKind::Key(_) => ValueKind::String,
            TapeEntryKind::Array => ValueKind::Array,
            TapeEntryKind::Object => ValueKind::Object,
        }
    }

    /// Its type as messages name it: `a string`, `an empty string`, `null`.
    pub fn type_name(self) -> &'static str {
        match self.kind() {
            ValueKind::Null => "null",
            ValueKind::Bool => "a boolean",
            ValueKind::Number => "a number",
            ValueKind::String if self.str_len() == Some(0) => "an empty string",
            ValueKind::String => "a string",
            ValueKind::Array => "an array",
            ValueKind::Object => "an object",
        }
    }

    /// Whether it is the outermost value.
    pub fn is_root(self) -> bool {
        self.index == 0
    }

    pub fn is_null(self) -> bool {
        self.entry().shape == TapeEntryKind::Null
    }

    /// The decoded text of a string; borrowed if it has no escapes.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let entry = self.entry();
        let spelling = entry.spelling()?;
        Some(text::decode(entry.content(&self.document.body), spelling))
    }

    /// The start of a string's decoded text, of at most `max` bytes as written: for strings of any size.
    pub fn text_start(self, max: usize) -> Option<Cow<'a, str>> {
        let entry = self.entry();
        let spelling = entry.spelling()?;
        let content = entry.content(&self.document.body);
        let start = text::content_prefix(content, spelling, max);
        Some(text::decode(start, spelling))
    }

    /// Whether a string has nothing but white space in its first 4 KiB.
    pub fn is_blank(self) -> bool {
        self.text_start(4 << 10)
            .is_some_and(|text| text.trim_ascii().is_empty())
    }

    pub fn as_bool(self) -> Option<bool> {
        match self.entry().shape {
            TapeEntryKind::True => Some(true),
            TapeEntryKind::False => Some(false),
            _ => None,
        }
    }

    /// The value of a number without fraction or exponent, if it fits.
    pub fn as_i64(self) -> Option<i64> {
        self.number_text()?.parse().ok()
    }

    /// The value of a number without sign, fraction or exponent, if it fits.
    pub fn as_u64(self) -> Option<u64> {
        (self.entry().shape == TapeEntryKind::Number).then(|| parse_digits(self.raw()))?
    }

    /// The nearest double; `None` for a number beyond the range of doubles, such as 1e400.
    pub fn as_f64(self) -> Option<f64> {
        let number: f64 = self.number_text()?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// The text of a number as written.
    pub fn number_text(self) -> Option<&'a str> {
        let ascii = |bytes| std::str::from_utf8(bytes).expect("numbers are ASCII");
        (self.entry().shape == TapeEntryKind::Number).then(|| ascii(self.raw()))
    }

    /// The number of code points of a string.
    pub fn str_len(self) -> Option<usize> {
        let entry = self.entry();
        let spelling = entry.spelling()?;
        let content = entry.content(&self.document.body);
        Some(text::code_points(content, spelling))
    }

    /// The number of members of an object or elements of an array; 0 for other values.
    #[inline]
    pub fn len(self) -> usize {
        self.entry().count as usize
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The value of an object's member.
    pub fn get(self, key: &str) -> Option<DocumentNode<'a>> {
        let (mut members, body) = (self.members(), &self.document.body);
        let mut steps = iter::from_fn(|| members.step());
        let found = steps.find(|(name, _)| keys::position(body, name, &[key], 0).is_some());
        found.map(|(_, value)| value)
    }

    /// The values of several of an object's members, in one pass over them.
    pub fn get_each<const N: usize>(self, names: [&str; N]) -> [Option<DocumentNode<'a>>; N] {
        let mut found = [None; N];
        let (mut members, mut next) = (self.members(), 0);
        while let Some((name, value)) = members.step() {
            if let Some(at) = keys::position(&self.document.body, name, &names, next) {
                found[at] = Some(value);
                next = at + 1;
            }
        }
        found
    }

    /// The first key of an object that equals `name` but for the case of its letters.
    pub fn key_in_other_case(self, name: &str) -> Option<Cow<'a, str>> {
        let mut members = self.members();
        while let Some((key, _)) = members.step() {
            let (content, spelling) = (key.content(&self.document.body), key.spelling()?);
            // An escape is never shorter than the bytes it decodes to.
            let may_match = match spelling.escaped {
                true => content.len() > name.len(),
                false => content.eq_ignore_ascii_case(name.as_bytes()),
            };
            if !may_match || content == name.as_bytes() {
                continue;
            }
            let key = text::decode(content, spelling);
            if *key != *name && key.eq_ignore_ascii_case(name) {
                return Some(key);
            }
        }
        None
    }

    /// The members of an object in the order of the body; empty for other values.
    #[inline]
    pub fn members(self) -> ObjectMembers<'a> {
        let is_object = self.entry().shape == TapeEntryKind::Object;
        ObjectMembers(self.children(is_object))
    }

    /// The values of an object's members; empty for other values.
    pub fn values(self) -> impl Iterator<Item = DocumentNode<'a>> {
        let mut members = self.members();
        std::iter::from_fn(move || members.step().map(|(_, value)| value))
    }

    /// The text of a string as written; `None` for other values.
    #[inline]
    pub fn raw_text(self) -> Option<UndecodedString<'a>> {
        UndecodedString::from_entry(self.entry(), &self.document.body)
    }

    /// The elements of an array; empty for other values.
    #[inline]
    pub fn elements(self) -> ArrayElements<'a> {
        let is_array = self.entry().shape == TapeEntryKind::Array;
        ArrayElements(self.children(is_array))
    }

    /// The value at an RFC 6901 pointer relative to this value; the empty pointer is this value.
    pub fn pointer(self, pointer: &str) -> Option<DocumentNode<'a>> {
        if pointer.is_empty() {
            return Some(self);
        }
        let tokens = pointer.strip_prefix('/')?.split('/');
        tokens
            .map(unescaped)
            .try_fold(self, |node, token| match node.kind() {
                ValueKind::Object => node.get(&token),
                ValueKind::Array => node.elements().nth(array_index(&token)?),
                _ => None,
            })
    }

    /// The range of the value in the body.
    pub fn span(self) -> Range<usize> {
        self.entry().span()
    }

    /// The range of the member's key with its quotes; `None` for values that are not members.
    pub fn key_span(self) -> Option<Range<usize>> {
        let before = (self.index as usize).checked_sub(1)?;
        let entry = &self.document.tape[before];
        matches!(entry.shape, TapeEntryKind::Key(_)).then(|| entry.span())
    }

    /// The bytes of the value.
    pub fn raw(self) -> &'a [u8] {
        &self.document.body[self.span()]
    }

    /// The object or array that directly contains this value. Walks down from the root.
    pub fn parent(self) -> Option<DocumentNode<'a>> {
        let mut around = self.document.root();
        if around.index == self.index {
            return None;
        }
        loop {
            let is_object = around.entry().shape == TapeEntryKind::Object;
            let mut children = around.children(true);
            let holder = children.find_holder(is_object, self.index)?;
            if holder.index == self.index {
                return Some(around);
            }
            around = holder;
        }
    }

    /// Where the value is in the document, such as `input.media[0].url`. Walks down from the root.
    pub fn path(self) -> String {
        let (mut path, mut around) = (String::new(), self.document.root());
        while around.index != self.index {
            let is_object = around.entry().shape == TapeEntryKind::Object;
            let mut children = around.children(true);
            let mut position = 0;
            let holder = loop {
                let Some(child) = children.step(usize::from(is_object)) else {
                    return path;
                };
                if self.index < children.next as u32 {
                    break child;
                }
                position += 1;
            };
            match holder.key_span().filter(|_| is_object) {
                Some(span) => {
                    let key = &self.document.body[span.start + 1..span.end - 1];
                    path.push_str(if path.is_empty() { "" } else { "." });
                    path.push_str(&String::from_utf8_lossy(
                        &key[..key.len().min(PATH_KEY_BYTES)],
                    ));
                }
                None => path += &format!("[{position}]"),
            }
            around = holder;
        }
        path
    }

    /// An identity that is unique in this process: the document's address and the index in its tape.
    pub(super) fn identity(self) -> (usize, u32) {
        (std::ptr::from_ref(self.document) as usize, self.index)
    }

    #[inline]
    fn entry(self) -> &'a TapeEntry {
        &self.document.tape[self.index as usize]
    }

    #[inline]
    fn children(self, wanted: bool) -> ContainerChildren<'a> {
        ContainerChildren {
            document: self.document,
            next: self.index as usize + 1,
            left: if wanted { self.len() } else { 0 },
        }
    }
}

impl fmt::Debug for DocumentNode<'_> {
    /// Prints only kind and span: values are the caller's content and must not be logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}", self.kind(), self.span())
    }
}

/// The members of an object, each with its decoded key.
#[derive(Clone)]
pub struct ObjectMembers<'a>(ContainerChildren<'a>);

/// The elements of an array.
#[derive(Clone)]
pub struct ArrayElements<'a>(ContainerChildren<'a>);

#[derive(Clone)]
struct ContainerChildren<'a> {
    document: &'a JsonDocument,
    next: usize,
    left: usize,
}

impl<'a> ObjectMembers<'a> {
    /// The next member, with its key as written.
    #[inline]
    pub fn next_raw(&mut self) -> Option<(UndecodedString<'a>, DocumentNode<'a>)> {
        let (key, value) = self.step()?;
        let key = UndecodedString::from_entry(key, &value.document.body);
        Some((key.expect("a key stands before a member's value"), value))
    }

    #[inline]
    fn step(&mut self) -> Option<(&'a TapeEntry, DocumentNode<'a>)> {
        let key = self.0.next;
        let value = self.0.step(1)?;
        Some((&self.0.document.tape[key], value))
    }
}

impl<'a> Iterator for ObjectMembers<'a> {
    type Item = (Cow<'a, str>, DocumentNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.next_raw()?;
        Some((key.decode(), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.left, Some(self.0.left))
    }
}

impl<'a> Iterator for ArrayElements<'a> {
    type Item = DocumentNode<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.step(0)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.left, Some(self.0.left))
    }
}

impl<'a> ContainerChildren<'a> {
    /// The next child, after skipping `keys` entries for its key.
    #[inline]
    fn step(&mut self, keys: usize) -> Option<DocumentNode<'a>> {
        self.left = self.left.checked_sub(1)?;
        let index = self.next + keys;
        self.next = keys::after(&self.document.tape, index);
        Some(DocumentNode::new(self.document, index))
    }

    /// The child that is or contains the entry at `index`.
    fn find_holder(&mut self, in_object: bool, index: u32) -> Option<DocumentNode<'a>> {
        loop {
            let child = self.step(usize::from(in_object))?;
            if index < self.next as u32 {
                return Some(child);
            }
        }
    }
}
