//! Tests of edits by pointer: tables of single edits and of edits that meet.

mod model;

use super::*;

fn pointer(text: &str) -> JsonPointer {
    JsonPointer::parse(text).unwrap()
}

fn document(body: &str) -> JsonDocument {
    let body = Bytes::copy_from_slice(body.as_bytes());
    JsonDocument::parse(body, &JsonLimits::default()).unwrap()
}

/// An edit with its pointer.
type PlacedEdit = (&'static str, PointerEdit);

/// The body after the edits, and the first error.
fn edited(body: &str, steps: &[(&str, PointerEdit)]) -> (String, Option<PointerEditError>) {
    let document = document(body);
    let mut edits = JsonEdits::default();
    let mut error = None;
    for (at, edit) in steps {
        let result = edits.edit_at(&document, &pointer(at), edit);
        error = error.or(result.err());
    }
    let bytes = edits.apply(document.body()).to_bytes();
    (String::from_utf8(bytes.to_vec()).unwrap(), error)
}

fn set(value: &'static str) -> PointerEdit {
    PointerEdit::Set(Bytes::from_static(value.as_bytes()))
}

fn default(value: &'static str) -> PointerEdit {
    PointerEdit::Default(Bytes::from_static(value.as_bytes()))
}

fn append(value: &'static str) -> PointerEdit {
    PointerEdit::Append(Bytes::from_static(value.as_bytes()))
}

fn prepend(value: &'static str) -> PointerEdit {
    PointerEdit::Prepend(Bytes::from_static(value.as_bytes()))
}

fn rename(name: &str) -> PointerEdit {
    PointerEdit::Rename(name.to_owned())
}

use PointerEdit::Remove;

#[test]
fn an_edit_changes_its_place_and_nothing_else() {
    let table: &[(&str, &str, PointerEdit, &str)] = &[
        (r#"{ "a" : 1e400 }"#, "/a", set("2"), r#"{ "a" : 2 }"#),
        (r#"{ "a" : 1 }"#, "/b", set("2"), r#"{ "a" : 1,"b":2 }"#),
        (r#"{"a":1}"#, "/b/c", set("2"), r#"{"a":1,"b":{"c":2}}"#),
        (r#"{"a":1}"#, "/b/-", set("2"), r#"{"a":1,"b":[2]}"#),
        (r#"{"a":null}"#, "/a/b", set("2"), r#"{"a":{"b":2}}"#),
        (r#"{"a":[1, 2]}"#, "/a/1", set("3"), r#"{"a":[1, 3]}"#),
        (r#"{"a":[ 1 ]}"#, "/a/1", set("3"), r#"{"a":[ 1,3 ]}"#),
        (r#"{"a":[1]}"#, "/a/-/b", set("3"), r#"{"a":[1,{"b":3}]}"#),
        (r#"{"a":null}"#, "/a", default("2"), r#"{"a":null}"#),
        (r#"{}"#, "/a", default("2"), r#"{"a":2}"#),
        (r#"{"a":1 , "b":2}"#, "/a", Remove, r#"{"b":2}"#),
        (r#"{"a":1 , "b":2}"#, "/b", Remove, r#"{"a":1}"#),
        (r#"{"a":[1 , 2, 3]}"#, "/a/1", Remove, r#"{"a":[1, 3]}"#),
        (r#"{"a":[1 , 2]}"#, "/a/0", Remove, r#"{"a":[2]}"#),
        (r#"{"a":[ 1 ]}"#, "/a/0", Remove, r#"{"a":[  ]}"#),
        (r#"{"a":1}"#, "/b/c", Remove, r#"{"a":1}"#),
        (r#"{"a":1}"#, "/a/c", Remove, r#"{"a":1}"#),
        (r#"{"\u0061" : 1.0}"#, "/a", rename("b"), r#"{"b" : 1.0}"#),
        (r#"{"a":1,"b":2}"#, "/a", rename("b"), r#"{"a":1,"b":2}"#),
        (r#"{"a":[1]}"#, "/a/0", rename("b"), r#"{"a":[1]}"#),
        (r#"{"a":[ 1 ]}"#, "/a", append("2"), r#"{"a":[ 1,2 ]}"#),
        (r#"{"a":[ 1 ]}"#, "/a", prepend("2"), r#"{"a":[2, 1 ]}"#),
        (r#"{"a":[ ]}"#, "/a", prepend("2"), r#"{"a":[2 ]}"#),
        (r#"{"a":null}"#, "/a", append("2"), r#"{"a":[2]}"#),
        (r#"{}"#, "/a/b", append("2"), r#"{"a":{"b":[2]}}"#),
    ];
    for (body, at, edit, expected) in table {
        let (result, error) = edited(body, &[(at, edit.clone())]);
        assert_eq!(error, None, "{body} {at} {edit:?}");
        assert_eq!(result, *expected, "{body} {at} {edit:?}");
    }
}

#[test]
fn each_edit_sees_those_before_it() {
    let table: &[(&str, &[PlacedEdit], &str)] = &[
        (
            "{}",
            &[("/a", set("{}")), ("/a/b", set("1"))],
            r#"{"a":{"b":1}}"#,
        ),
        (
            r#"{"a":1}"#,
            &[("/a", set("[]")), ("/a", append("1"))],
            r#"{"a":[1]}"#,
        ),
        (
            r#"{"a":{"b":1}}"#,
            &[("/a/b", set("2")), ("/a", set("3"))],
            r#"{"a":3}"#,
        ),
        (
            r#"{"a":{"b":1}}"#,
            &[("/a", Remove), ("/a/c", set("2"))],
            r#"{"a":{"c":2}}"#,
        ),
        (
            r#"{"a":1}"#,
            &[("/a", Remove), ("/a", default("2"))],
            r#"{"a":2}"#,
        ),
        (
            r#"{"a":1}"#,
            &[("/a", rename("b")), ("/b", set("2"))],
            r#"{"b":2}"#,
        ),
        (
            r#"{"a":1}"#,
            &[("/a", rename("b")), ("/a", set("2"))],
            r#"{"b":1,"a":2}"#,
        ),
        (r#"{"a":1}"#, &[("/a", rename("b")), ("/b", Remove)], "{}"),
        (
            r#"{"a":1,"b":2}"#,
            &[("/b", Remove), ("/a", rename("b"))],
            r#"{"b":1}"#,
        ),
        ("[1,2]", &[("/0", Remove), ("/0", set("3"))], "[3]"),
        ("[1]", &[("/0", set("3")), ("/0", Remove)], "[]"),
        (
            "[1]",
            &[("/-", set("2")), ("/1", Remove), ("/0", Remove)],
            "[]",
        ),
        (
            "[1,2]",
            &[("/0", Remove), ("/0", Remove), ("/-", set("3"))],
            "[3]",
        ),
        ("{}", &[("/a", set("1")), ("/a", rename("b"))], r#"{"b":1}"#),
        (
            "{}",
            &[("/a", append("1")), ("/a", prepend("0"))],
            r#"{"a":[0,1]}"#,
        ),
        (
            r#"{"a":[3]}"#,
            &[("/a", prepend("2")), ("/a", prepend("1")), ("/a/1", Remove)],
            r#"{"a":[1,3]}"#,
        ),
        (
            r#"{"a":[3]}"#,
            &[("/a", prepend("{}")), ("/a/0/b", set("1"))],
            r#"{"a":[{"b":1},3]}"#,
        ),
    ];
    for (body, steps, expected) in table {
        let (result, error) = edited(body, steps);
        assert_eq!(error, None, "{body} {steps:?}");
        assert_eq!(result, *expected, "{body} {steps:?}");
    }
}

#[test]
fn an_edit_without_a_place_names_the_value_in_the_way_and_changes_nothing() {
    let wrong = |expected, received| PointerEditErrorKind::WrongType { expected, received };
    for (body, at, edit, depth, reason) in [
        (
            r#"{"a":"x"}"#,
            "/a/b",
            set("1"),
            1,
            wrong("an object", "a string"),
        ),
        (
            r#"{"a":2}"#,
            "/a/-",
            set("1"),
            1,
            wrong("an array", "a number"),
        ),
        (
            r#"{"a":[]}"#,
            "/a/b",
            set("1"),
            1,
            wrong("an object", "an array"),
        ),
        (
            r#"{"a":{}}"#,
            "/a",
            append("1"),
            1,
            wrong("an array", "an object"),
        ),
        ("3", "/a", set("1"), 0, wrong("an object", "a number")),
        (
            r#"{"a":[0]}"#,
            "/a/2",
            set("1"),
            1,
            PointerEditErrorKind::TooShort { elements: 1 },
        ),
        (
            r#"{"a":[0]}"#,
            "/a/1/b",
            set("1"),
            1,
            PointerEditErrorKind::TooShort { elements: 1 },
        ),
        (
            r#"{"a":[0]}"#,
            "/a/1",
            append("1"),
            1,
            PointerEditErrorKind::TooShort { elements: 1 },
        ),
    ] {
        let (result, error) = edited(body, &[(at, edit.clone())]);
        assert_eq!(
            error,
            Some(PointerEditError { depth, reason }),
            "{body} {at} {edit:?}"
        );
        assert_eq!(result, body);
    }
}

#[test]
fn an_index_has_no_sign_and_no_leading_zero() {
    for at in ["/a/+1", "/a/01", "/a/+0", "/a/00"] {
        let (result, error) = edited(r#"{"a":[0]}"#, &[(at, set("1"))]);
        assert!(error.is_some(), "{at}");
        assert_eq!(result, r#"{"a":[0]}"#, "{at}");
    }
}

#[test]
fn edits_by_pointer_see_edits_of_spans() {
    let document = document(r#"{"a":"x","b":1}"#);
    let root = document.root();
    let mut edits = JsonEdits::default();
    edits.replace(root.get("a").unwrap().span(), r#"{"n":1}"#);
    edits.remove_member(root.get("b").unwrap());
    edits.insert_member(root, "c", "{}");
    for at in ["/a/m", "/b", "/c/d"] {
        edits
            .edit_at(&document, &pointer(at), &default("0"))
            .unwrap();
    }
    for at in ["/a", "/a/n", "/a/m", "/b", "/c/d"] {
        assert!(edits.has_value_at(&document, &pointer(at)), "{at}");
    }
    assert!(!edits.has_value_at(&document, &pointer("/a/n/x")));
    let result = edits.apply(document.body()).to_bytes();
    assert_eq!(result, r#"{"a":{"n":1,"m":0},"c":{"d":0},"b":0}"#);
}

#[test]
fn a_value_that_edits_have_put_deeper_than_a_body_may_be_is_there() {
    let document = document("{}");
    let deep = "/a".repeat(JsonLimits::default().depth + 1);
    let mut edits = JsonEdits::default();
    for (at, edit) in [
        (deep.clone(), set("{}")),
        (deep.clone(), default("1")),
        (format!("{deep}/b"), set("2")),
    ] {
        edits.edit_at(&document, &pointer(&at), &edit).unwrap();
        assert!(edits.has_value_at(&document, &pointer(&at)), "{at}");
    }
    let result = edits.apply(document.body()).to_bytes();
    assert!(result.windows(9).any(|found| found == br#"{"b":2}}}"#));
}
