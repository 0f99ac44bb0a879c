//! Property tests: edits by pointer agree with a model on parsed values, and leave all other bytes as they are.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::super::super::tests::random::any_json;
use super::super::*;
use super::{document, edited, pointer};

/// Any edit, with few names, so that edits meet.
fn any_edit() -> impl Strategy<Value = (String, PointerEdit)> {
    let step = select(vec!["a", "b", "c", "0", "1", "-", "2"]);
    let at = vec(step, 1..4).prop_map(|steps| format!("/{}", steps.join("/")));
    let value = || any_json().prop_map(|value| Bytes::from(value.to_string()));
    let edit = prop_oneof![
        value().prop_map(PointerEdit::Set),
        value().prop_map(PointerEdit::Default),
        value().prop_map(PointerEdit::Append),
        value().prop_map(PointerEdit::Prepend),
        Just(PointerEdit::Remove),
        "[a-c]".prop_map(PointerEdit::Rename),
    ];
    (at, edit)
}

/// The model: the same edit of a parsed value. `None` if it has no place.
fn apply(value: &mut Value, steps: &[String], edit: &PointerEdit) -> Option<()> {
    let new = edit
        .value()
        .map(|text| serde_json::from_slice::<Value>(text).unwrap());
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
    let index: Option<usize> = step.parse().ok();
    let child = match value {
        Value::Object(members) => members.get_mut(step),
        Value::Array(elements) => index.and_then(|index| elements.get_mut(index)),
        _ => None,
    };
    let Some(child) = child else {
        return create(value, step, rest, edit);
    };
    let is_here = rest.is_empty() && !edit.extends_array();
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
    if edit.value().is_none() {
        return Some(());
    }
    let new = nested(rest, edit);
    match value {
        Value::Object(members) => drop(members.insert(step.to_owned(), new)),
        Value::Array(elements) => {
            let is_next = step.parse() == Ok(elements.len());
            let is_last_step = rest.is_empty() && !edit.extends_array();
            (step == "-" || is_next && is_last_step).then(|| elements.push(new))?;
        }
        _ => return None,
    }
    Some(())
}

fn nested(steps: &[String], edit: &PointerEdit) -> Value {
    let value: Value = serde_json::from_slice(edit.value().unwrap()).unwrap();
    let value = if edit.extends_array() {
        json!([value])
    } else {
        value
    };
    steps
        .iter()
        .rev()
        .fold(value, |value, step| match step.as_str() {
            "-" => json!([value]),
            key => json!({ key: value }),
        })
}

fn any_object() -> impl Strategy<Value = Value> {
    vec(("[a-d]", any_json()), 0..6)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn edits_agree_with_the_model_and_leave_other_members_as_they_are(
        value in any_object(), edits in vec(any_edit(), 1..8), is_pretty: bool,
    ) {
        let body = if is_pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let original = document(&body);
        let (mut ours, mut model) = (JsonEdits::default(), value);
        let mut touched = Vec::new();
        for (at, edit) in &edits {
            let at = pointer(at);
            let mut changed = model.clone();
            let expected = apply(&mut changed, at.steps(), edit);
            if expected.is_some() {
                model = changed;
            }
            touched.push(at.steps()[0].clone());
            if let PointerEdit::Rename(name) = edit {
                touched.push(name.clone());
            }
            let result = ours.edit_at(&original, &at, edit);
            prop_assert_eq!(result.is_ok(), expected.is_some(), "{:?} {:?}", at, result);
        }
        let result = ours.apply(original.body()).to_bytes();
        let result = JsonDocument::parse(result, &JsonLimits::default()).unwrap();
        let read: Value = serde_json::from_slice(result.body()).unwrap();
        prop_assert_eq!(read, model);
        for (key, member) in original.root().members() {
            if !touched.iter().any(|name| *name == key) {
                let kept = result.root().get(&key).map(DocumentNode::raw);
                prop_assert_eq!(kept, Some(member.raw()), "{}", key);
            }
        }
    }

    #[test]
    fn one_edit_changes_one_run_of_bytes(value in any_object(), (at, edit) in any_edit()) {
        let body = serde_json::to_string_pretty(&value).unwrap();
        let original = document(&body);
        let span = original.root().pointer(&at).map(DocumentNode::span);
        let (result, _) = edited(&body, &[(&at, edit.clone())]);
        let before = body.bytes().zip(result.bytes());
        let before = before.take_while(|(one, other)| one == other).count();
        let (rest, new) = (&body.as_bytes()[before..], &result.as_bytes()[before..]);
        let after = rest.iter().rev().zip(new.iter().rev());
        let after = after.take_while(|(one, other)| one == other).count();
        let changed = rest.len() - after;
        let most = match (&edit, span) {
            (PointerEdit::Set(_), Some(span)) => span.len(),
            // A key, or a `null` in place of a container.
            (PointerEdit::Rename(_), _) => body.len(),
            (PointerEdit::Remove, _) => body.len() - result.len(),
            _ => 4,
        };
        prop_assert!(changed <= most, "{} of at most {}: {} {:?}", changed, most, at, edit);
    }
}
