//! Edits of a document by JSON pointer: each sees the effect of those before it.

#[cfg(test)]
mod tests;

use bytes::Bytes;

use super::edit::{EditedChild, JsonEdits};
use super::pointer::JsonPointer;
use super::{DocumentNode, JsonDocument, JsonError, JsonLimits, ValueKind, quoted};

/// The maximum nesting of what edits have written: a value at a pointer may be deeper than the body that it is added to.
const EDITED_DEPTH_MAX: usize = 1024;

/// What an edit does at its pointer. Values are JSON text.
///
/// An edit that sets or adds a value creates the containers that are missing on the way, as objects, or as an array
/// where the next step is `-`. A `null` on the way counts as missing. The other edits do nothing where there is nothing.
#[derive(Clone, Debug)]
pub enum PointerEdit {
    /// Sets a value, whether there is one or not. In an array, the step `-`, or the index after the last element as the
    /// last step, adds an element.
    Set(Bytes),
    /// Sets a value only if there is none; `null` is a value.
    Default(Bytes),
    /// Removes a member or an element with one comma.
    Remove,
    /// Gives a member another key; does nothing if the object has a member of that key.
    Rename(String),
    /// Adds an element after all others of the array at the pointer. The array is created if there is none, or `null`.
    Append(Bytes),
    /// As [`Self::Append`], before all others.
    Prepend(Bytes),
}

/// An edit that its document has no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointerEditError {
    /// The number of steps of the pointer to the value that is in the way.
    pub depth: usize,
    pub reason: PointerEditErrorKind,
}

/// Why a document has no place for an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerEditErrorKind {
    /// A value has another type; types are spelled as in [`DocumentNode::type_name`].
    WrongType {
        expected: &'static str,
        received: &'static str,
    },
    /// An array is too short for the index.
    TooShort { elements: usize },
    /// A value of an earlier edit is not JSON, or too deep.
    Unreadable,
}

/// The steps of a pointer that are left, and the number of those that were taken.
#[derive(Clone, Copy)]
struct RemainingSteps<'p> {
    steps: &'p [String],
    depth: usize,
}

impl JsonEdits {
    /// Adds an edit by pointer. It applies to the document as the edits so far leave it.
    ///
    /// # Errors
    /// A value of the document is in the way. Nothing is changed.
    pub fn edit_at(
        &mut self,
        document: &JsonDocument,
        pointer: &JsonPointer,
        edit: &PointerEdit,
    ) -> Result<(), PointerEditError> {
        let root = document.root();
        let path = RemainingSteps {
            steps: pointer.steps(),
            depth: 0,
        };
        match self.replacement(root) {
            Some(text) => {
                let text = edit.edited_text(&text, path)?;
                self.replace(root.span(), text);
                Ok(())
            }
            None => edit.edit_below(self, root, path),
        }
    }

    /// Whether there is a value at the pointer in the document as the edits so far leave it; `null` is one.
    pub fn has_value_at(&self, document: &JsonDocument, pointer: &JsonPointer) -> bool {
        let root = document.root();
        match self.replacement(root) {
            Some(text) => has_value_in(&text, pointer.steps()),
            None => self.has_value_below(root, pointer.steps()),
        }
    }

    fn has_value_below(&self, container: DocumentNode<'_>, steps: &[String]) -> bool {
        let Some((step, rest)) = steps.split_first() else {
            return true;
        };
        let Some(child) = self.child(container, step) else {
            return false;
        };
        match (self.new_text(container, child), child) {
            (Some(text), _) => has_value_in(&text, rest),
            (None, EditedChild::Original(value)) => self.has_value_below(value, rest),
            (None, EditedChild::First(_) | EditedChild::Last(_)) => false,
        }
    }
}

impl PointerEdit {
    /// Edits below an original value.
    fn edit_below(
        &self,
        edits: &mut JsonEdits,
        container: DocumentNode<'_>,
        path: RemainingSteps<'_>,
    ) -> Result<(), PointerEditError> {
        let Some((step, rest)) = path.steps.split_first() else {
            return self.add_to(edits, container, path.depth);
        };
        let is_container = matches!(container.kind(), ValueKind::Object | ValueKind::Array);
        if !is_container {
            return match self.value() {
                Some(_) => Err(wrong_type(container_for(step), container, path.depth)),
                None => Ok(()),
            };
        }
        let Some(child) = edits.child(container, step) else {
            return self.create(edits, container, path);
        };
        let path = RemainingSteps {
            steps: rest,
            depth: path.depth + 1,
        };
        if rest.is_empty() && !self.extends_array() {
            self.edit_child(edits, container, child);
            return Ok(());
        }
        let new_text = edits.new_text(container, child);
        match (new_text, child) {
            (Some(text), _) if self.value().is_some() && text.trim_ascii() == b"null" => {
                edits.set_child(container, child, self.nested(rest));
            }
            (Some(text), _) => {
                let text = self.edited_text(&text, path)?;
                edits.set_child(container, child, text);
            }
            (None, EditedChild::Original(value)) if self.value().is_some() && value.is_null() => {
                edits.set_child(container, child, self.nested(rest));
            }
            (None, EditedChild::Original(value)) => self.edit_below(edits, value, path)?,
            (None, EditedChild::First(_) | EditedChild::Last(_)) => {}
        }
        Ok(())
    }

    /// Edits the child that the last step names.
    fn edit_child(
        &self,
        edits: &mut JsonEdits,
        container: DocumentNode<'_>,
        child: EditedChild<'_>,
    ) {
        match self {
            Self::Set(value) => edits.set_child(container, child, value.clone()),
            Self::Remove => edits.remove_child(container, child),
            Self::Rename(name) => {
                let is_member = container.kind() == ValueKind::Object;
                if is_member && edits.child(container, name).is_none() {
                    edits.rename_child(container, child, name);
                }
            }
            Self::Default(_) | Self::Append(_) | Self::Prepend(_) => {}
        }
    }

    /// Adds an element to the array that the whole pointer names.
    fn add_to(
        &self,
        edits: &mut JsonEdits,
        array: DocumentNode<'_>,
        depth: usize,
    ) -> Result<(), PointerEditError> {
        if array.kind() != ValueKind::Array {
            return Err(wrong_type("an array", array, depth));
        }
        match self {
            Self::Prepend(value) => edits.add_first(array, value.clone()),
            Self::Append(value) => edits.add_last(array, None, value.clone()),
            Self::Set(_) | Self::Default(_) | Self::Remove | Self::Rename(_) => {}
        }
        Ok(())
    }

    /// Adds the child that the first of these steps names, with all that the others name.
    fn create(
        &self,
        edits: &mut JsonEdits,
        container: DocumentNode<'_>,
        path: RemainingSteps<'_>,
    ) -> Result<(), PointerEditError> {
        let (Some((step, rest)), Some(_)) = (path.steps.split_first(), self.value()) else {
            return Ok(());
        };
        if container.kind() == ValueKind::Object {
            edits.add_last(container, Some(step), self.nested(rest));
            return Ok(());
        }
        let elements = edits.child_count(container);
        let index = super::pointer_token::array_index(step);
        let is_next = index == Some(elements) && rest.is_empty() && !self.extends_array();
        if step == "-" || is_next {
            edits.add_last(container, None, self.nested(rest));
            return Ok(());
        }
        match index {
            Some(_) => Err(PointerEditError {
                depth: path.depth,
                reason: PointerEditErrorKind::TooShort { elements },
            }),
            None => Err(wrong_type("an object", container, path.depth)),
        }
    }

    /// The text of a value with this edit.
    fn edited_text(
        &self,
        text: &Bytes,
        path: RemainingSteps<'_>,
    ) -> Result<Bytes, PointerEditError> {
        let document = parse_edited(text);
        let document = document.map_err(|_| PointerEditError {
            depth: path.depth,
            reason: PointerEditErrorKind::Unreadable,
        })?;
        let mut edits = JsonEdits::default();
        self.edit_below(&mut edits, document.root(), path)?;
        Ok(edits.apply(text).to_bytes())
    }

    /// The value below missing containers for these steps.
    fn nested(&self, steps: &[String]) -> Bytes {
        let value = self.value().cloned().unwrap_or_default();
        let value = match self.extends_array() {
            true => enclosed(b"[", &value, b"]"),
            false => value,
        };
        steps
            .iter()
            .rev()
            .fold(value, |value, step| match step.as_str() {
                "-" => enclosed(b"[", &value, b"]"),
                key => enclosed(&[b"{", &quoted(key)[..], b":"].concat(), &value, b"}"),
            })
    }

    /// The value that the edit sets or adds.
    fn value(&self) -> Option<&Bytes> {
        match self {
            Self::Set(value)
            | Self::Default(value)
            | Self::Append(value)
            | Self::Prepend(value) => Some(value),
            Self::Remove | Self::Rename(_) => None,
        }
    }

    /// Whether the pointer names an array that gets an element.
    fn extends_array(&self) -> bool {
        matches!(self, Self::Append(_) | Self::Prepend(_))
    }
}

/// Whether JSON text has a value at these steps.
fn has_value_in(text: &Bytes, steps: &[String]) -> bool {
    if steps.is_empty() {
        return true;
    }
    let document = parse_edited(text);
    document.is_ok_and(|document| JsonEdits::default().has_value_below(document.root(), steps))
}

/// A value that edits have written.
fn parse_edited(text: &Bytes) -> Result<JsonDocument, JsonError> {
    let limits = JsonLimits {
        depth: EDITED_DEPTH_MAX,
        ..JsonLimits::default()
    };
    JsonDocument::parse(text.clone(), &limits)
}

fn wrong_type(expected: &'static str, value: DocumentNode<'_>, depth: usize) -> PointerEditError {
    PointerEditError {
        depth,
        reason: PointerEditErrorKind::WrongType {
            expected,
            received: value.type_name(),
        },
    }
}

/// The container that has a child for this step.
fn container_for(step: &str) -> &'static str {
    match step {
        "-" => "an array",
        _ => "an object",
    }
}

fn enclosed(before: &[u8], value: &[u8], after: &[u8]) -> Bytes {
    [before, value, after].concat().into()
}
