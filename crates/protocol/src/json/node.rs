//! Values of a document, read in place.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::tape::{Entry, Shape};
use super::{Document, keys, text};

/// One value of a document.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    document: &'a Document,
    index: u32,
}

/// The six types of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl<'a> Node<'a> {
    pub(super) fn new(document: &'a Document, index: usize) -> Self {
        Self {
            document,
            index: index as u32,
        }
    }

    pub fn kind(self) -> Kind {
        match self.entry().shape {
            Shape::Null => Kind::Null,
            Shape::True | Shape::False => Kind::Bool,
            Shape::Number => Kind::Number,
            Shape::String(_) | Shape::Key(_) => Kind::String,
            Shape::Array => Kind::Array,
            Shape::Object => Kind::Object,
        }
    }

    pub fn is_null(self) -> bool {
        self.entry().shape == Shape::Null
    }

    /// The decoded text of a string; borrowed when it holds no escape.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let entry = self.entry();
        let spelling = entry.spelling()?;
        Some(text::decode(entry.content(&self.document.body), spelling))
    }

    pub fn as_bool(self) -> Option<bool> {
        match self.entry().shape {
            Shape::True => Some(true),
            Shape::False => Some(false),
            _ => None,
        }
    }

    /// A number written without fraction or exponent that fits.
    pub fn as_i64(self) -> Option<i64> {
        self.number_text()?.parse().ok()
    }

    /// A number written without sign, fraction or exponent that fits.
    pub fn as_u64(self) -> Option<u64> {
        self.number_text()?.parse().ok()
    }

    /// The nearest double; none for a number beyond all doubles, such as 1e400.
    pub fn as_f64(self) -> Option<f64> {
        let number: f64 = self.number_text()?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// A number as it was written.
    pub fn number_text(self) -> Option<&'a str> {
        let ascii = |bytes| std::str::from_utf8(bytes).expect("numbers are ASCII");
        (self.entry().shape == Shape::Number).then(|| ascii(self.raw()))
    }

    /// Code points of a string.
    pub fn str_len(self) -> Option<usize> {
        let entry = self.entry();
        let spelling = entry.spelling()?;
        let content = entry.content(&self.document.body);
        Some(text::code_points(content, spelling))
    }

    /// Members of an object or elements of an array; 0 for all else.
    pub fn len(self) -> usize {
        self.entry().count as usize
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The value of an object's member.
    pub fn get(self, key: &str) -> Option<Node<'a>> {
        let mut members = self.members();
        while let Some((name, value)) = members.step() {
            if keys::means(&self.document.body, name, key) {
                return Some(value);
            }
        }
        None
    }

    /// The members of an object in the order of the body; none for all else.
    pub fn members(self) -> Members<'a> {
        let is_object = self.entry().shape == Shape::Object;
        Members(self.children(is_object))
    }

    /// The elements of an array; none for all else.
    pub fn elements(self) -> Elements<'a> {
        let is_array = self.entry().shape == Shape::Array;
        Elements(self.children(is_array))
    }

    /// The value at an RFC 6901 pointer below this one; the empty pointer is this value.
    pub fn pointer(self, pointer: &str) -> Option<Node<'a>> {
        if pointer.is_empty() {
            return Some(self);
        }
        let tokens = pointer.strip_prefix('/')?.split('/');
        tokens
            .map(unescaped)
            .try_fold(self, |node, token| match node.kind() {
                Kind::Object => node.get(&token),
                Kind::Array => node.elements().nth(array_index(&token)?),
                _ => None,
            })
    }

    /// Where the value lies in the body.
    pub fn span(self) -> Range<usize> {
        self.entry().span()
    }

    /// Where the key of this member lies, quotes included; none for values that are no members.
    pub fn key_span(self) -> Option<Range<usize>> {
        let before = (self.index as usize).checked_sub(1)?;
        let entry = &self.document.tape[before];
        matches!(entry.shape, Shape::Key(_)).then(|| entry.span())
    }

    /// The bytes of the value.
    pub fn raw(self) -> &'a [u8] {
        &self.document.body[self.span()]
    }

    /// The object or array directly around this value. Walks down from the root.
    pub fn parent(self) -> Option<Node<'a>> {
        let mut around = self.document.root();
        if around.index == self.index {
            return None;
        }
        loop {
            let is_object = around.entry().shape == Shape::Object;
            let mut children = around.children(true);
            let holder = children.find_holder(is_object, self.index)?;
            if holder.index == self.index {
                return Some(around);
            }
            around = holder;
        }
    }

    /// Tells nodes of one process apart: where the document is, and the place in its tape.
    pub(super) fn identity(self) -> (usize, u32) {
        (std::ptr::from_ref(self.document) as usize, self.index)
    }

    fn entry(self) -> &'a Entry {
        &self.document.tape[self.index as usize]
    }

    fn children(self, wanted: bool) -> Children<'a> {
        Children {
            document: self.document,
            next: self.index as usize + 1,
            left: if wanted { self.len() } else { 0 },
        }
    }
}

impl fmt::Debug for Node<'_> {
    /// Names kind and place only: values are the caller's and stay out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}", self.kind(), self.span())
    }
}

/// The members of an object, each with its decoded key.
#[derive(Clone)]
pub struct Members<'a>(Children<'a>);

/// The elements of an array.
#[derive(Clone)]
pub struct Elements<'a>(Children<'a>);

#[derive(Clone)]
struct Children<'a> {
    document: &'a Document,
    next: usize,
    left: usize,
}

impl<'a> Members<'a> {
    fn step(&mut self) -> Option<(&'a Entry, Node<'a>)> {
        let key = self.0.next;
        let value = self.0.step(1)?;
        Some((&self.0.document.tape[key], value))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, Node<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.step()?;
        let spelling = key
            .spelling()
            .expect("a key stands before a member's value");
        let content = key.content(&value.document.body);
        Some((text::decode(content, spelling), value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.left, Some(self.0.left))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.step(0)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.left, Some(self.0.left))
    }
}

impl<'a> Children<'a> {
    /// The next child, after as many entries for its key.
    fn step(&mut self, keys: usize) -> Option<Node<'a>> {
        self.left = self.left.checked_sub(1)?;
        let index = self.next + keys;
        self.next = keys::after(&self.document.tape, index);
        Some(Node::new(self.document, index))
    }

    /// The child that is, or contains, the entry at `index`.
    fn find_holder(&mut self, in_object: bool, index: u32) -> Option<Node<'a>> {
        loop {
            let child = self.step(usize::from(in_object))?;
            if index < self.next as u32 {
                return Some(child);
            }
        }
    }
}

fn unescaped(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(token)
    }
}

fn array_index(token: &str) -> Option<usize> {
    let is_plain = token == "0" || !token.starts_with(['0', '+']);
    is_plain.then(|| token.parse().ok())?
}
