//! The children of a container: the members of an object, and the elements of an array.

use std::borrow::Cow;

use super::tape::{StringFlags, TapeEntry};
use super::{DocumentNode, JsonDocument, keys, text};

/// The members of an object, each with its decoded key.
#[derive(Clone)]
pub struct ObjectMembers<'a>(ContainerChildren<'a>);

/// The elements of an array.
#[derive(Clone)]
pub struct ArrayElements<'a>(ContainerChildren<'a>);

/// The text of a string or key as it is written, between its quotes.
#[derive(Clone, Copy)]
pub(crate) struct RawText<'a> {
    pub bytes: &'a [u8],
    spelling: StringFlags,
}

/// The children of a container; of an object, its values.
#[derive(Clone)]
pub(super) struct ContainerChildren<'a> {
    document: &'a JsonDocument,
    next: usize,
    left: usize,
}

impl<'a> RawText<'a> {
    #[inline]
    pub(super) fn of(entry: &TapeEntry, body: &'a [u8]) -> Option<Self> {
        let spelling = entry.spelling()?;
        let bytes = entry.content(body);
        Some(Self { bytes, spelling })
    }

    /// Whether the bytes must be decoded before they are compared.
    #[inline]
    pub fn is_escaped(self) -> bool {
        self.spelling.escaped
    }

    pub fn decode(self) -> Cow<'a, str> {
        text::decode(self.bytes, self.spelling)
    }
}

impl<'a> ObjectMembers<'a> {
    #[inline]
    pub(super) fn of(children: ContainerChildren<'a>) -> Self {
        Self(children)
    }

    /// The next member, with its key as written.
    #[inline]
    pub(crate) fn next_raw(&mut self) -> Option<(RawText<'a>, DocumentNode<'a>)> {
        let (key, value) = self.step()?;
        let key = RawText::of(key, &self.0.document.body);
        Some((key.expect("a key stands before a member's value"), value))
    }

    #[inline]
    pub(super) fn step(&mut self) -> Option<(&'a TapeEntry, DocumentNode<'a>)> {
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

impl<'a> ArrayElements<'a> {
    #[inline]
    pub(super) fn of(children: ContainerChildren<'a>) -> Self {
        Self(children)
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
    /// The `count` children from the tape index `next` on.
    #[inline]
    pub fn new(document: &'a JsonDocument, next: usize, count: usize) -> Self {
        Self {
            document,
            next,
            left: count,
        }
    }

    /// The tape index after the last child.
    pub fn next_index(&self) -> u32 {
        self.next as u32
    }

    /// The next child, after skipping `keys` entries for its key.
    #[inline]
    pub fn step(&mut self, keys: usize) -> Option<DocumentNode<'a>> {
        self.left = self.left.checked_sub(1)?;
        let index = self.next + keys;
        self.next = keys::after(&self.document.tape, index);
        Some(DocumentNode::new(self.document, index))
    }

    /// The child that is or contains the entry at `index`.
    pub fn find_holder(&mut self, in_object: bool, index: u32) -> Option<DocumentNode<'a>> {
        loop {
            let child = self.step(usize::from(in_object))?;
            if index < self.next as u32 {
                return Some(child);
            }
        }
    }
}
