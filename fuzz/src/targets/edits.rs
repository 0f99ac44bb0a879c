//! Edits of JSON bodies by pointer: they read back as a model on parsed values has them, and change nothing else.
//!
//! An input has a body, and after a line with `--` one edit a line: an operation, a pointer, a name or a value.

use crate::input::parts;
use bytes::Bytes;
use headgate_protocol::json::edit::{BodySegments, JsonEdits};
use headgate_protocol::json::pointer::JsonPointer;
use headgate_protocol::json::pointer_edit::PointerEdit;
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits};
use serde_json::{Map, Value, json};

/// Maximum number of edits of an input.
const EDITS_MAX: usize = 24;
/// Maximum number of steps of a pointer; an operator writes it.
const STEPS_MAX: usize = 256;
/// The levels of a value that serde_json reads.
const SERDE_JSON_DEPTH_MAX: usize = 127;
/// The name of a member that is added to each body.
const NEW_MEMBER: &str = "added";

pub fn run(input: &[u8]) {
    let [body, edits] = parts(input);
    let limits = JsonLimits::default();
    let Ok(document) = JsonDocument::parse(Bytes::copy_from_slice(body), &limits) else {
        return;
    };
    // A number beyond doubles is no value of the model.
    let Ok(mut model) = serde_json::from_slice::<Value>(body) else {
        return;
    };
    if !model.is_object() {
        return;
    }
    let (mut ours, mut touched) = (JsonEdits::default(), Vec::new());
    for (pointer, edit) in edits
        .split(|byte| *byte == b'\n')
        .filter_map(parse_edit)
        .take(EDITS_MAX)
    {
        let mut changed = model.clone();
        let expected = apply(&mut changed, pointer.steps(), &edit);
        touched.push(pointer.steps()[0].clone());
        if let PointerEdit::Rename(name) = &edit {
            touched.push(name.clone());
        }
        let result = ours.edit_at(&document, &pointer, &edit);
        assert_eq!(
            result.is_ok(),
            expected.is_some(),
            "{}: {result:?}",
            pointer.text()
        );
        if expected.is_some() {
            model = changed;
        }
        assert!(
            !matches!(edit, PointerEdit::Set(_))
                || result.is_err()
                || has_value(&ours, &document, &pointer),
            "nothing is at {}",
            pointer.text()
        );
    }
    check_result(&document, &ours, &model, &touched);
    check_members(&document);
}

/// Whether a value is there after it was set. A last step `-` names no value.
fn has_value(edits: &JsonEdits, document: &JsonDocument, pointer: &JsonPointer) -> bool {
    pointer.steps().iter().any(|step| step == "-") || edits.has_value_at(document, pointer)
}

fn check_result(original: &JsonDocument, edits: &JsonEdits, model: &Value, touched: &[String]) {
    let segments = edits.apply(original.body());
    let edited = segments.to_bytes();
    assert_eq!(segments.len(), edited.len(), "length of the segments");
    let limits = JsonLimits {
        depth: 1000,
        ..JsonLimits::default()
    };
    let result = JsonDocument::parse(edited.clone(), &limits)
        .unwrap_or_else(|error| panic!("{error}: {}", edited.escape_ascii()));
    if depth(model) <= SERDE_JSON_DEPTH_MAX {
        let read: Value = serde_json::from_slice(&edited).expect("both parsers accept the result");
        assert_eq!(read, *model, "{}", edited.escape_ascii());
    }
    for (key, member) in original.root().members() {
        if !touched.iter().any(|name| *name == key) {
            let found = result.root().get(&key).map(DocumentNode::raw);
            assert_eq!(found, Some(member.raw()), "the member {key}");
        }
    }
    let is_unchanged = edits.is_empty();
    assert!(!is_unchanged || edited == *original.body());
    let collected: BodySegments = segments.iter().cloned().collect();
    assert_eq!(collected.to_bytes(), edited);
    let mut end = 0;
    for (range, _) in edits.changes() {
        assert!(end <= range.start && range.end <= original.body().len());
        end = range.end;
    }
}

/// The levels of lists and objects.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Every second member of the root is removed, the first of the others replaced, and a new one is added.
fn check_members(document: &JsonDocument) {
    let mut edits = JsonEdits::default();
    let mut expected = Map::new();
    for (at, (key, value)) in document.root().members().enumerate() {
        if at % 2 == 0 {
            edits.remove_member(value);
        } else {
            expected.insert(key.into_owned(), read(value));
        }
    }
    let first = document.root().members().nth(1);
    let replaced = first.map_or(NEW_MEMBER.into(), |(key, _)| key);
    for (name, value) in [(&*replaced, "7"), (NEW_MEMBER, "[]")] {
        edits.insert_member(document.root(), name, Bytes::from_static(value.as_bytes()));
        expected.insert(name.to_owned(), serde_json::from_str(value).expect("JSON"));
    }
    let edited = edits.apply(document.body()).to_bytes();
    let found: Value = serde_json::from_slice(&edited).expect("the result is JSON");
    assert_eq!(found, Value::Object(expected), "{}", edited.escape_ascii());
}

fn read(node: DocumentNode<'_>) -> Value {
    serde_json::from_slice(node.raw()).expect("both parsers accept the value")
}

fn parse_edit(line: &[u8]) -> Option<(JsonPointer, PointerEdit)> {
    let mut words = std::str::from_utf8(line).ok()?.splitn(3, ' ');
    let (operation, pointer) = (words.next()?, words.next()?);
    let pointer = JsonPointer::parse(pointer).ok()?;
    if pointer.steps().len() > STEPS_MAX {
        return None;
    }
    let argument = words.next().unwrap_or_default();
    let value = || {
        let value = Bytes::copy_from_slice(argument.as_bytes());
        let is_read = JsonDocument::parse(value.clone(), &JsonLimits::default()).is_ok();
        (is_read && serde_json::from_slice::<Value>(&value).is_ok()).then_some(value)
    };
    let edit = match operation {
        "set" => PointerEdit::Set(value()?),
        "default" => PointerEdit::Default(value()?),
        "append" => PointerEdit::Append(value()?),
        "prepend" => PointerEdit::Prepend(value()?),
        "remove" => PointerEdit::Remove,
        "rename" => PointerEdit::Rename(argument.to_owned()),
        _ => return None,
    };
    Some((pointer, edit))
}

fn new_value(edit: &PointerEdit) -> Option<Value> {
    match edit {
        PointerEdit::Set(text)
        | PointerEdit::Default(text)
        | PointerEdit::Append(text)
        | PointerEdit::Prepend(text) => serde_json::from_slice(text).ok(),
        PointerEdit::Remove | PointerEdit::Rename(_) => None,
    }
}

fn extends_array(edit: &PointerEdit) -> bool {
    matches!(edit, PointerEdit::Append(_) | PointerEdit::Prepend(_))
}

/// The same edit of a parsed value; `None` if it has no place.
fn apply(value: &mut Value, steps: &[String], edit: &PointerEdit) -> Option<()> {
    let new = new_value(edit);
    let Some((step, rest)) = steps.split_first() else {
        let elements = value.as_array_mut()?;
        match edit {
            PointerEdit::Prepend(_) => elements.insert(0, new?),
            _ => elements.push(new?),
        }
        return Some(());
    };
    if !value.is_object() && !value.is_array() {
        return new.is_none().then_some(());
    }
    let index = array_index(step);
    let child = match value {
        Value::Object(members) => members.get_mut(step),
        Value::Array(elements) => index.and_then(|index| elements.get_mut(index)),
        _ => None,
    };
    let Some(child) = child else {
        return create(value, step, rest, edit);
    };
    let is_here = rest.is_empty() && !extends_array(edit);
    match (edit, new) {
        (PointerEdit::Set(_), Some(new)) if is_here => *child = new,
        (PointerEdit::Default(_), _) if is_here => {}
        (PointerEdit::Remove, _) if is_here => match value {
            Value::Array(elements) => drop(elements.remove(index?)),
            members => drop(members.as_object_mut()?.remove(step)),
        },
        (PointerEdit::Rename(name), _) if is_here => {
            if let Value::Object(members) = value
                && !members.contains_key(name)
            {
                let moved = members.remove(step)?;
                members.insert(name.clone(), moved);
            }
        }
        (_, Some(_)) if child.is_null() => *child = nested(rest, edit),
        _ => return apply(child, rest, edit),
    }
    Some(())
}

fn create(value: &mut Value, step: &str, rest: &[String], edit: &PointerEdit) -> Option<()> {
    if new_value(edit).is_none() {
        return Some(());
    }
    let new = nested(rest, edit);
    match value {
        Value::Object(members) => drop(members.insert(step.to_owned(), new)),
        Value::Array(elements) => {
            let is_next = array_index(step) == Some(elements.len());
            let is_last_step = rest.is_empty() && !extends_array(edit);
            (step == "-" || is_next && is_last_step).then(|| elements.push(new))?;
        }
        _ => return None,
    }
    Some(())
}

fn nested(steps: &[String], edit: &PointerEdit) -> Value {
    let value = new_value(edit).unwrap_or_default();
    let value = match extends_array(edit) {
        true => json!([value]),
        false => value,
    };
    steps
        .iter()
        .rev()
        .fold(value, |value, step| match step.as_str() {
            "-" => json!([value]),
            key => json!({ key: value }),
        })
}

/// An index as RFC 6901 writes it: digits without a leading zero.
fn array_index(step: &str) -> Option<usize> {
    let is_plain = step == "0" || !step.starts_with(['0', '+']);
    is_plain.then(|| step.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_an_operation_a_pointer_and_a_value() {
        for (line, is_edit) in [
            ("set /a 1", true),
            ("remove /a", true),
            ("rename /a b", true),
            ("set /a", false),
            ("set a 1", false),
            ("move /a 1", false),
        ] {
            assert_eq!(parse_edit(line.as_bytes()).is_some(), is_edit, "{line}");
        }
    }
}
