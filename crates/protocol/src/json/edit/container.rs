//! The edits of one object or array: its children that are removed or renamed, and those that are added.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;
use smallvec::SmallVec;

use super::super::{DocumentNode, ValueKind, pointer_token, quoted};
use super::SpanReplacement;

/// Members of an object, or elements of an array.
#[derive(Clone, Debug)]
pub(super) struct ContainerEdit {
    pub span: Range<usize>,
    /// The range of each original child, from its key or the start of an element to the end of the value.
    children: Vec<Range<u32>>,
    /// Indices of removed children.
    removed: BTreeSet<usize>,
    /// The key's range and its new text, by the index of the child.
    renamed: BTreeMap<usize, (Range<usize>, String)>,
    /// Elements before all others of an array.
    first: Vec<AddedChild>,
    /// Children after all others.
    last: Vec<AddedChild>,
}

#[derive(Clone, Debug)]
struct AddedChild {
    /// `None` for an element of an array.
    key: Option<String>,
    value: Bytes,
}

/// A child of a container, as the edits leave it.
#[derive(Clone, Copy, Debug)]
pub(in crate::json) enum EditedChild<'d> {
    /// A child of the original, which may have a new value or key.
    Original(DocumentNode<'d>),
    /// Index among the elements that were added before all others.
    First(usize),
    /// Index among the children that were added after all others.
    Last(usize),
}

impl ContainerEdit {
    pub fn new(container: DocumentNode<'_>) -> Self {
        let range = |value: DocumentNode<'_>| {
            let start = value.key_span().unwrap_or_else(|| value.span()).start;
            start as u32..value.span().end as u32
        };
        let members = container.values();
        Self {
            span: container.span(),
            children: members.chain(container.elements()).map(range).collect(),
            removed: BTreeSet::new(),
            renamed: BTreeMap::new(),
            first: Vec::new(),
            last: Vec::new(),
        }
    }

    /// The child that a step of a pointer names. `container` is the value that the edits are for.
    pub fn child<'d>(&self, container: DocumentNode<'d>, step: &str) -> Option<EditedChild<'d>> {
        match container.kind() {
            ValueKind::Object => self.member(container, step),
            _ => self.element(container, pointer_token::array_index(step)?),
        }
    }

    /// The number of children.
    pub fn len(&self) -> usize {
        self.first.len() + self.children.len() - self.removed.len() + self.last.len()
    }

    pub fn remove(&mut self, child: EditedChild<'_>) {
        match child {
            EditedChild::Original(value) => {
                if let Some(index) = self.child_index(value) {
                    self.removed.insert(index);
                }
            }
            EditedChild::First(index) => drop(self.first.remove(index)),
            EditedChild::Last(index) => drop(self.last.remove(index)),
        }
    }

    pub fn rename(&mut self, child: EditedChild<'_>, name: &str) {
        match child {
            EditedChild::Original(value) => {
                if let (Some(index), Some(key)) = (self.child_index(value), value.key_span()) {
                    self.renamed.insert(index, (key, name.to_owned()));
                }
            }
            EditedChild::Last(index) => self.last[index].key = Some(name.to_owned()),
            // An element of an array.
            EditedChild::First(_) => {}
        }
    }

    /// Adds a member, or an element if it has no key, after all others.
    pub fn add_last(&mut self, key: Option<&str>, value: Bytes) {
        let key = key.map(str::to_owned);
        self.last.push(AddedChild { key, value });
    }

    /// Adds an element of an array before all others.
    pub fn add_first(&mut self, value: Bytes) {
        self.first.insert(0, AddedChild { key: None, value });
    }

    /// The value of a child that was added; `None` for original children.
    pub fn added(&self, child: EditedChild<'_>) -> Option<&Bytes> {
        let added = match child {
            EditedChild::Original(_) => None,
            EditedChild::First(index) => self.first.get(index),
            EditedChild::Last(index) => self.last.get(index),
        };
        added.map(|added| &added.value)
    }

    /// Sets the value of a child that was added.
    pub fn set_added(&mut self, child: EditedChild<'_>, value: Bytes) {
        match child {
            EditedChild::Original(_) => {}
            EditedChild::First(index) => self.first[index].value = value,
            EditedChild::Last(index) => self.last[index].value = value,
        }
    }

    /// Appends the replacements of spans that these edits amount to.
    pub fn changes(&self, changes: &mut SmallVec<[SpanReplacement; 1]>) {
        let mut last_kept: Option<usize> = None;
        for (index, child) in self.children.iter().enumerate() {
            if !self.removed.contains(&index) {
                last_kept = Some(child.end as usize);
                continue;
            }
            // One comma is removed with each child: the one before it, or, if no earlier child is kept, the one after
            // it.
            let from = match index.checked_sub(1) {
                Some(before) if last_kept.is_some() => self.children[before].end,
                _ => child.start,
            };
            let to = match self.children.get(index + 1) {
                Some(after) if last_kept.is_none() => after.start,
                _ => child.end,
            };
            changes.push(SpanReplacement {
                range: from as usize..to as usize,
                with: Bytes::new(),
            });
        }
        for (index, (key, name)) in &self.renamed {
            if !self.removed.contains(index) {
                changes.push(SpanReplacement {
                    range: key.clone(),
                    with: quoted(name),
                });
            }
        }
        self.insertions(last_kept, changes);
    }

    /// `last_kept` is the end of the last original child that is not removed.
    fn insertions(&self, last_kept: Option<usize>, changes: &mut SmallVec<[SpanReplacement; 1]>) {
        let mut insert = |at: usize, with: Vec<u8>| {
            if !with.is_empty() {
                let with = with.into();
                changes.push(SpanReplacement {
                    range: at..at,
                    with,
                });
            }
        };
        let inner = self.span.start + 1;
        match last_kept {
            Some(end) => {
                let mut first = joined(&self.first);
                if !first.is_empty() {
                    first.push(b',');
                }
                insert(inner, first);
                let mut last = joined(&self.last);
                if !last.is_empty() {
                    last.insert(0, b',');
                }
                insert(end, last);
            }
            None => insert(inner, joined(self.first.iter().chain(&self.last))),
        }
    }

    fn member<'d>(&self, object: DocumentNode<'d>, name: &str) -> Option<EditedChild<'d>> {
        let original = object.members().enumerate().find(|(index, (key, _))| {
            let key = self
                .renamed
                .get(index)
                .map_or(&**key, |(_, name)| name.as_str());
            key == name && !self.removed.contains(index)
        });
        if let Some((_, (_, value))) = original {
            return Some(EditedChild::Original(value));
        }
        let mut added = self.last.iter();
        let index = added.position(|added| added.key.as_deref() == Some(name))?;
        Some(EditedChild::Last(index))
    }

    fn element<'d>(&self, array: DocumentNode<'d>, index: usize) -> Option<EditedChild<'d>> {
        let Some(index) = index.checked_sub(self.first.len()) else {
            return Some(EditedChild::First(index));
        };
        let kept = self.children.len() - self.removed.len();
        if let Some(index) = index.checked_sub(kept) {
            return (index < self.last.len()).then_some(EditedChild::Last(index));
        }
        let elements = array.elements().enumerate();
        let mut kept = elements.filter(|(index, _)| !self.removed.contains(index));
        let (_, value) = kept.nth(index)?;
        Some(EditedChild::Original(value))
    }

    /// The index of an original child.
    fn child_index(&self, value: DocumentNode<'_>) -> Option<usize> {
        let end = value.span().end;
        let children = &self.children;
        let found = children.binary_search_by_key(&end, |child| child.end as usize);
        found.ok()
    }
}

/// The children with a comma between each two.
fn joined<'a>(children: impl IntoIterator<Item = &'a AddedChild>) -> Vec<u8> {
    let mut text = Vec::new();
    for child in children {
        if !text.is_empty() {
            text.push(b',');
        }
        if let Some(key) = &child.key {
            text.extend_from_slice(&quoted(key));
            text.push(b':');
        }
        text.extend_from_slice(&child.value);
    }
    text
}
