//! Edits of a JSON body: only the edited bytes change, all others stay shared with the original.

mod container;

#[cfg(test)]
mod tests;

pub(super) use container::EditedChild;

use std::ops::Range;

use bytes::Bytes;

use smallvec::SmallVec;

use super::{DocumentNode, ValueKind, pointer_token};
use container::ContainerEdit;

/// Edits of one document, separate from it until they are applied.
///
/// Edits may be added in any order. If an edit's range contains that of another, the larger one wins; of several edits
/// of the same range, the last one wins.
#[derive(Clone, Debug, Default)]
pub struct JsonEdits {
    replaced: Vec<SpanReplacement>,
    containers: Vec<ContainerEdit>,
}

/// An edited body in segments, some from the original, some new.
#[derive(Clone, Debug, Default)]
pub struct BodySegments {
    /// What is before the model, the model, and what is after it.
    parts: SmallVec<[Bytes; 3]>,
}

#[derive(Clone, Debug)]
struct SpanReplacement {
    range: Range<usize>,
    with: Bytes,
}

impl JsonEdits {
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty() && self.containers.is_empty()
    }

    /// Whether nothing but the value with this span changes.
    pub fn change_only(&self, value: &Range<usize>) -> bool {
        let mut replaced = self.replaced.iter();
        self.containers.is_empty() && replaced.all(|edit| edit.range == *value)
    }

    /// Replaces the bytes of a value by `with`.
    ///
    /// `range` is a span of the document, so that two ranges are nested or disjoint.
    pub fn replace(&mut self, range: Range<usize>, with: impl Into<Bytes>) {
        let with = with.into();
        self.replaced.push(SpanReplacement { range, with });
    }

    /// Removes a member from its object, with its key and one comma. Does nothing for values that are not members.
    pub fn remove_member(&mut self, value: DocumentNode<'_>) {
        if let Some((_, object)) = value.key_span().zip(value.parent()) {
            self.container(object).remove(EditedChild::Original(value));
        }
    }

    /// Adds a member to an object; `value` is JSON text. If the key exists, replaces its value.
    ///
    /// Does nothing if `object` is not an object.
    pub fn insert_member(&mut self, object: DocumentNode<'_>, key: &str, value: impl Into<Bytes>) {
        if object.kind() != ValueKind::Object {
            return;
        }
        match self.child(object, key) {
            Some(child) => self.set_child(object, child, value.into()),
            None => self.add_last(object, Some(key), value.into()),
        }
    }

    /// The edited body. `body` is the body of the document that the edits were made for.
    pub fn apply(&self, body: &Bytes) -> BodySegments {
        let mut parts =
            SmallVec::with_capacity(1 + 2 * (self.replaced.len() + self.containers.len()));
        let mut push = |part: Bytes| {
            if !part.is_empty() {
                parts.push(part);
            }
        };
        let mut done = 0;
        for change in self.settled() {
            push(body.slice(done..change.range.start));
            push(change.with);
            done = change.range.end;
        }
        push(body.slice(done..));
        BodySegments { parts }
    }

    /// The ranges of the body that change, in order and without overlaps, with what replaces each.
    pub fn changes(&self) -> impl Iterator<Item = (Range<usize>, Bytes)> {
        let settled = self.settled().into_iter();
        settled.map(|change| (change.range, change.with))
    }

    /// The child that a step of a pointer names, as the edits leave it.
    pub(super) fn child<'d>(
        &self,
        container: DocumentNode<'d>,
        step: &str,
    ) -> Option<EditedChild<'d>> {
        if let Some(edit) = self.container_edit(container) {
            return edit.child(container, step);
        }
        let child = match container.kind() {
            ValueKind::Object => container.get(step),
            _ => container.elements().nth(pointer_token::array_index(step)?),
        };
        child.map(EditedChild::Original)
    }

    /// The number of children of a container, as the edits leave it.
    pub(super) fn child_count(&self, container: DocumentNode<'_>) -> usize {
        let edited = self.container_edit(container);
        edited.map_or(container.len(), ContainerEdit::len)
    }

    /// The text that replaces a value of the document, or that was added as a child; `None` for a value that has no new
    /// text.
    pub(super) fn new_text(
        &self,
        container: DocumentNode<'_>,
        child: EditedChild<'_>,
    ) -> Option<Bytes> {
        match child {
            EditedChild::Original(value) => self.replacement(value),
            added => self.container_edit(container)?.added(added).cloned(),
        }
    }

    /// The text that replaces a value.
    pub(super) fn replacement(&self, value: DocumentNode<'_>) -> Option<Bytes> {
        let span = value.span();
        let mut latest_first = self.replaced.iter().rev();
        let found = latest_first.find(|change| change.range == span);
        found.map(|change| change.with.clone())
    }

    pub(super) fn set_child(
        &mut self,
        container: DocumentNode<'_>,
        child: EditedChild<'_>,
        value: Bytes,
    ) {
        match child {
            EditedChild::Original(original) => self.replace(original.span(), value),
            added => self.container(container).set_added(added, value),
        }
    }

    pub(super) fn remove_child(&mut self, container: DocumentNode<'_>, child: EditedChild<'_>) {
        if let EditedChild::Original(value) = child {
            // The only element of an array has the same range as its removal.
            let span = value.span();
            self.replaced.retain(|change| change.range != span);
        }
        self.container(container).remove(child);
    }

    pub(super) fn rename_child(
        &mut self,
        object: DocumentNode<'_>,
        child: EditedChild<'_>,
        name: &str,
    ) {
        self.container(object).rename(child, name);
    }

    /// Adds a member, or an element without a key, after all others.
    pub(super) fn add_last(
        &mut self,
        container: DocumentNode<'_>,
        key: Option<&str>,
        value: Bytes,
    ) {
        self.container(container).add_last(key, value);
    }

    /// Adds an element before all others of an array.
    pub(super) fn add_first(&mut self, array: DocumentNode<'_>, value: Bytes) {
        self.container(array).add_first(value);
    }

    fn container_edit(&self, container: DocumentNode<'_>) -> Option<&ContainerEdit> {
        let span = container.span();
        self.containers.iter().find(|edit| edit.span == span)
    }

    /// The edits of one container, created if there are none.
    fn container(&mut self, container: DocumentNode<'_>) -> &mut ContainerEdit {
        let span = container.span();
        let known = self.containers.iter().position(|edit| edit.span == span);
        let index = known.unwrap_or_else(|| {
            self.containers.push(ContainerEdit::new(container));
            self.containers.len() - 1
        });
        &mut self.containers[index]
    }

    /// The edits that apply, in the order of the body, without overlaps; most requests change the model only.
    fn settled(&self) -> SmallVec<[SpanReplacement; 1]> {
        let mut changes = SmallVec::with_capacity(self.replaced.len() + self.containers.len());
        // Reversed, so that the stable sort puts the last edit of a range first.
        changes.extend(self.replaced.iter().rev().cloned());
        for container in &self.containers {
            container.changes(&mut changes);
        }
        // An insertion comes before a replacement of the bytes that follow it.
        changes.sort_by_key(|change| {
            let range = &change.range;
            (range.start, !range.is_empty(), usize::MAX - range.end)
        });
        let mut end = 0;
        changes.retain(|change| {
            let counts = change.range.start >= end;
            if counts {
                end = change.range.end;
            }
            counts
        });
        changes
    }
}

impl BodySegments {
    /// The total number of bytes.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Bytes> {
        self.parts.iter()
    }

    /// The whole body as one slice; copies only if it has several segments.
    pub fn to_bytes(&self) -> Bytes {
        match self.parts.as_slice() {
            [whole] => whole.clone(),
            parts => parts.concat().into(),
        }
    }
}

impl From<Bytes> for BodySegments {
    fn from(body: Bytes) -> Self {
        JsonEdits::default().apply(&body)
    }
}

impl FromIterator<Bytes> for BodySegments {
    fn from_iter<I: IntoIterator<Item = Bytes>>(segments: I) -> Self {
        Self {
            parts: segments.into_iter().collect(),
        }
    }
}

impl IntoIterator for BodySegments {
    type Item = Bytes;
    type IntoIter = smallvec::IntoIter<[Bytes; 3]>;

    fn into_iter(self) -> Self::IntoIter {
        self.parts.into_iter()
    }
}

impl<'a> IntoIterator for &'a BodySegments {
    type Item = &'a Bytes;
    type IntoIter = std::slice::Iter<'a, Bytes>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
