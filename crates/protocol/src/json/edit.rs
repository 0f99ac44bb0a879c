//! Edits of a JSON body: only the edited bytes change, all others stay shared with the original.

use std::ops::Range;

use bytes::Bytes;

use super::{DocumentNode, ValueKind, quoted};

/// Edits of one document, separate from it until they are applied.
///
/// Edits may be added in any order. If an edit's range contains that of another, the larger one wins; of several edits
/// of the same range, the last one wins.
#[derive(Clone, Debug, Default)]
pub struct JsonEdits {
    replaced: Vec<SpanReplacement>,
    objects: Vec<ObjectEdit>,
}

/// An edited body in segments, some from the original, some new.
#[derive(Clone, Debug, Default)]
pub struct BodySegments {
    parts: Vec<Bytes>,
}

#[derive(Clone, Debug)]
struct SpanReplacement {
    range: Range<usize>,
    with: Bytes,
}

/// The members removed from and added to one object.
#[derive(Clone, Debug)]
struct ObjectEdit {
    span: Range<usize>,
    /// The range of each member from key to value, and whether the member is removed.
    members: Vec<(Range<usize>, bool)>,
    added: Vec<(String, Bytes)>,
}

impl JsonEdits {
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty() && self.objects.is_empty()
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
        let Some((key, object)) = value.key_span().zip(value.parent()) else {
            return;
        };
        for (member, gone) in &mut self.object(object).members {
            *gone |= member.start == key.start;
        }
    }

    /// Adds a member to an object; `value` is JSON text. If the key exists, replaces its value.
    ///
    /// Does nothing if `object` is not an object.
    pub fn insert_member(&mut self, object: DocumentNode<'_>, key: &str, value: impl Into<Bytes>) {
        if object.kind() != ValueKind::Object {
            return;
        }
        let value = value.into();
        let existing = object.get(key);
        let edit = self.object(object);
        if let Some(existing) = existing
            && edit.keeps(existing.span())
        {
            return self.replace(existing.span(), value);
        }
        edit.added.retain(|(added, _)| added != key);
        edit.added.push((key.to_owned(), value));
    }

    /// The edited body. `body` is the body of the document that the edits were made for.
    pub fn apply(&self, body: &Bytes) -> BodySegments {
        let mut parts = Vec::with_capacity(1 + 2 * (self.replaced.len() + self.objects.len()));
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

    /// The edits of one object, created if there are none.
    fn object(&mut self, object: DocumentNode<'_>) -> &mut ObjectEdit {
        let span = object.span();
        let known = self.objects.iter().position(|edit| edit.span == span);
        let index = known.unwrap_or_else(|| {
            self.objects.push(ObjectEdit::new(object));
            self.objects.len() - 1
        });
        &mut self.objects[index]
    }

    /// The edits that apply, in the order of the body, without overlaps.
    fn settled(&self) -> Vec<SpanReplacement> {
        let mut changes = Vec::with_capacity(self.replaced.len() + self.objects.len());
        // Reversed, so that the stable sort puts the last edit of a range first.
        changes.extend(self.replaced.iter().rev().cloned());
        for object in &self.objects {
            object.changes(&mut changes);
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

impl ObjectEdit {
    fn new(object: DocumentNode<'_>) -> Self {
        let member = |(_, value): (_, DocumentNode<'_>)| {
            let key = value.key_span().expect("a member has a key");
            (key.start..value.span().end, false)
        };
        Self {
            span: object.span(),
            members: object.members().map(member).collect(),
            added: Vec::new(),
        }
    }

    fn keeps(&self, value: Range<usize>) -> bool {
        let holds = |(member, gone): &(Range<usize>, bool)| member.end == value.end && !gone;
        self.members.iter().any(holds)
    }

    fn changes(&self, changes: &mut Vec<SpanReplacement>) {
        let mut last_kept: Option<&Range<usize>> = None;
        for (index, (member, gone)) in self.members.iter().enumerate() {
            if !gone {
                last_kept = Some(member);
                continue;
            }
            // One comma is removed with each member: the one before it, or, if no earlier member is kept, the one after
            // it.
            let from = match index.checked_sub(1) {
                Some(before) if last_kept.is_some() => self.members[before].0.end,
                _ => member.start,
            };
            let to = match self.members.get(index + 1) {
                Some((after, _)) if last_kept.is_none() => after.start,
                _ => member.end,
            };
            changes.push(SpanReplacement {
                range: from..to,
                with: Bytes::new(),
            });
        }
        if !self.added.is_empty() {
            let at = last_kept.map_or(self.span.start + 1, |member| member.end);
            changes.push(SpanReplacement {
                range: at..at,
                with: self.added_members(last_kept.is_some()),
            });
        }
    }

    fn added_members(&self, after_others: bool) -> Bytes {
        let mut text = Vec::new();
        for (index, (key, value)) in self.added.iter().enumerate() {
            if after_others || index > 0 {
                text.push(b',');
            }
            text.extend_from_slice(&quoted(key));
            text.push(b':');
            text.extend_from_slice(value);
        }
        text.into()
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

impl IntoIterator for BodySegments {
    type Item = Bytes;
    type IntoIter = std::vec::IntoIter<Bytes>;

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

#[cfg(test)]
mod tests;
