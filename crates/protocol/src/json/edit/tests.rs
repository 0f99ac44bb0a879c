//! Tests of edits: they change the bytes they name and no others.

use bytes::Bytes;
use proptest::prelude::*;

use super::super::tests::random::any_json;
use super::super::{JsonDocument, JsonLimits, quoted};
use super::*;

fn document(body: &str) -> JsonDocument {
    JsonDocument::parse(
        Bytes::copy_from_slice(body.as_bytes()),
        &JsonLimits::default(),
    )
    .unwrap()
}

/// The body after edits that start at the document's root.
fn edited(body: &str, edit: impl FnOnce(&mut JsonEdits, DocumentNode<'_>)) -> String {
    let document = document(body);
    let mut edits = JsonEdits::default();
    edit(&mut edits, document.root());
    let segments = edits.apply(document.body());
    let bytes = segments.to_bytes();
    assert_eq!(segments.len(), bytes.len());
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_replaced_value_leaves_every_other_byte_shared() {
    let document = document("{ \"n\" : 1e400,\t\"model\":\"m\" }\n");
    let mut edits = JsonEdits::default();
    edits.replace(
        document.root().get("model").unwrap().span(),
        quoted("other"),
    );
    let segments = edits.apply(document.body());
    assert_eq!(
        &segments.to_bytes()[..],
        b"{ \"n\" : 1e400,\t\"model\":\"other\" }\n"
    );
    let first = segments.iter().next().unwrap();
    assert_eq!(first.as_ptr(), document.body().as_ptr());
}

#[test]
fn no_edits_give_the_body_itself() {
    let body = Bytes::from_static(b"[1]");
    let segments = JsonEdits::default().apply(&body);
    assert_eq!(segments.to_bytes().as_ptr(), body.as_ptr());
    assert_eq!(segments.iter().count(), 1);
}

#[test]
fn members_go_with_one_comma_and_come_with_one() {
    let table: [(&str, &[&str], &[&str], &str); 12] = [
        (r#"{"a":1}"#, &["a"], &[], "{}"),
        (r#"{"a":1,"b":2}"#, &["a"], &[], r#"{"b":2}"#),
        (r#"{"a":1,"b":2}"#, &["b"], &[], r#"{"a":1}"#),
        (r#"{"a":1,"b":2}"#, &["a", "b"], &[], "{}"),
        (r#"{"a":1,"b":2,"c":3}"#, &["b"], &[], r#"{"a":1,"c":3}"#),
        (r#"{"a":1,"b":2,"c":3}"#, &["c", "a"], &[], r#"{"b":2}"#),
        (
            r#"{"a":1,"b":2,"c":3}"#,
            &["b", "c"],
            &["d"],
            r#"{"a":1,"d":0}"#,
        ),
        (
            r#"{"a":1,"b":2,"c":3}"#,
            &["a", "b", "c"],
            &["d", "e"],
            r#"{"d":0,"e":0}"#,
        ),
        ("{}", &[], &["d"], r#"{"d":0}"#),
        (r#"{ "a" : 1 }"#, &[], &["d"], r#"{ "a" : 1,"d":0 }"#),
        (r#"{"a":1}"#, &[], &["a"], r#"{"a":0}"#),
        (r#"{"a":1}"#, &["a"], &["a"], r#"{"a":0}"#),
    ];
    for (body, removed, inserted, expected) in table {
        let result = edited(body, |edits, root| {
            for key in removed {
                edits.remove_member(root.get(key).unwrap());
            }
            for key in inserted {
                edits.insert_member(root, key, "0");
            }
        });
        assert_eq!(
            result, expected,
            "{body} without {removed:?} with {inserted:?}"
        );
    }
}

#[test]
fn inserting_a_key_twice_keeps_the_last_value() {
    let result = edited("{}", |edits, root| {
        edits.insert_member(root, "k", "1");
        edits.insert_member(root, "k", "2");
    });
    assert_eq!(result, r#"{"k":2}"#);
}

#[test]
fn the_wider_edit_and_the_later_edit_count() {
    let body = r#"{"a":{"b":1},"c":2}"#;
    let result = edited(body, |edits, root| {
        let a = root.get("a").unwrap();
        edits.replace(a.span(), "[]");
        edits.replace(a.get("b").unwrap().span(), "0");
        edits.insert_member(a, "x", "0");
        edits.replace(root.get("c").unwrap().span(), "3");
        edits.replace(root.get("c").unwrap().span(), "4");
    });
    assert_eq!(result, r#"{"a":[],"c":4}"#);
}

#[test]
fn edits_of_values_that_are_no_members_or_objects_do_nothing() {
    let result = edited("[1]", |edits, root| {
        edits.remove_member(root);
        edits.remove_member(root.elements().next().unwrap());
        edits.insert_member(root, "k", "1");
    });
    assert_eq!(result, "[1]");
}

/// Collects all values of a document that are members of objects.
fn all_members<'a>(node: DocumentNode<'a>, found: &mut Vec<DocumentNode<'a>>) {
    for child in node.members().map(|(_, value)| value) {
        found.push(child);
        all_members(child, found);
    }
    node.elements().for_each(|child| all_members(child, found));
}

proptest! {
    #[test]
    fn bytes_outside_a_replaced_value_stay(value in any_json(), at in any::<prop::sample::Index>()) {
        let body = serde_json::to_string_pretty(&value).unwrap();
        let document = document(&body);
        let mut nodes = vec![document.root()];
        all_members(document.root(), &mut nodes);
        let span = at.get(&nodes).span();
        let mut edits = JsonEdits::default();
        edits.replace(span.clone(), "\"new\"");
        let expected = [&body[..span.start], "\"new\"", &body[span.end..]].concat();
        prop_assert_eq!(edits.apply(document.body()).to_bytes(), expected);
    }

    #[test]
    fn any_set_of_members_can_go_and_the_rest_reads_as_before(value in any_json(), chosen: u64) {
        let body = serde_json::to_string_pretty(&value).unwrap();
        let document = document(&body);
        let mut nodes = Vec::new();
        all_members(document.root(), &mut nodes);
        let mut edits = JsonEdits::default();
        let mut expected = value;
        for (index, node) in nodes.iter().enumerate().rev() {
            if chosen >> (index % 64) & 1 == 1 {
                edits.remove_member(*node);
                remove(&mut expected, document.root(), *node);
            }
        }
        let result = edits.apply(document.body()).to_bytes();
        prop_assert_eq!(serde_json::from_slice::<serde_json::Value>(&result).unwrap(), expected);
    }
}

/// Removes the same member from a parsed value, by walking both together.
fn remove(value: &mut serde_json::Value, around: DocumentNode<'_>, gone: DocumentNode<'_>) {
    let holds = |child: &DocumentNode<'_>| {
        child.span().start <= gone.span().start && gone.span().end <= child.span().end
    };
    if let Some((key, child)) = around.members().find(|(_, child)| holds(child)) {
        let object = value.as_object_mut().unwrap();
        if child.span() == gone.span() {
            object.remove(key.as_ref());
        } else if let Some(value) = object.get_mut(key.as_ref()) {
            remove(value, child, gone);
        }
    } else if let Some((index, child)) = around
        .elements()
        .enumerate()
        .find(|(_, child)| holds(child))
    {
        remove(&mut value[index], child, gone);
    }
}
