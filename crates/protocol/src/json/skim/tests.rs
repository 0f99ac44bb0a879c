//! Tests of skimming: it finds values, and does not panic on invalid JSON.

use proptest::prelude::*;

use super::super::tests::random::any_json;
use super::*;

fn found<'a>(json: &'a str, path: &[&str]) -> Option<&'a str> {
    find(json.as_bytes(), path).map(|range| &json[range])
}

#[test]
fn values_are_found_at_their_path() {
    let json = r#" {"a" : "x\"]}" , "b":{"c":[1,"}",{}], "d" :-1.5e3}, "e":null } "#;
    let table: [(&[&str], Option<&str>); 9] = [
        (&["a"], Some(r#""x\"]}""#)),
        (&["b", "c"], Some(r#"[1,"}",{}]"#)),
        (&["b", "d"], Some("-1.5e3")),
        (&["e"], Some("null")),
        (&["c"], None),
        (&["a", "x"], None),
        (&["b", "c", "d"], None),
        (&["x"], None),
        (&["b", "e"], None),
    ];
    for (path, value) in table {
        assert_eq!(found(json, path), value, "{path:?}");
    }
}

#[test]
fn elements_come_in_order() {
    let json = r#"[1, "a,b" ,[2,3],{}]"#;
    let elements: Vec<&str> = elements(json.as_bytes(), 0..json.len())
        .map(|range| &json[range])
        .collect();
    assert_eq!(elements, ["1", "\"a,b\"", "[2,3]", "{}"]);
    assert_eq!(super::elements(b"{\"a\":1}", 0..7).count(), 0);
}

#[test]
fn members_of_inner_objects_come_with_the_key_of_their_object() {
    let json = br#"{"a":1,"b":{"c":{"d":2},"e":[{}]},"f":{},"g":"}"}"#;
    let members = nested_members(json, 0..json.len());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let found: Vec<_> = members
        .map(|member| [member.object, member.key, &json[member.value]].map(text))
        .collect();
    assert_eq!(
        found,
        [
            ["", "a", "1"],
            ["b", "c", r#"{"d":2}"#],
            ["b", "e", "[{}]"],
            ["", "g", r#""}""#],
        ]
    );
}

#[test]
fn a_trailing_object_is_read_only_if_it_is_a_member_of_the_whole_document() {
    for (json, count) in [
        (r#"{"x":1,"usage":{"a":1,"b":{"c":2}}}"#, Some(2)),
        (r#"{"usage" : {"a":1} , "y":[1,{"z":2}] } "#, Some(1)),
        (r#"{"usage":{}}"#, Some(0)),
        (r#"{"x":{"usage":{"a":1}}}"#, None),
        (r#"{"x":[{"usage":{"a":1}}]}"#, None),
        (r#"{"usage":null}"#, None),
        (r#"{"usage":{"a":1}"#, None),
        (r#"{"usage":{"a":{"b":1}"#, None),
        (r#"{"usage":{"a":1}}x"#, None),
        (r#"{"usage""#, None),
    ] {
        let key = r#""usage""#;
        let key_end = json.find(key).unwrap() + key.len();
        let found = trailing_object(json.as_bytes(), key_end, |members| members.count());
        assert_eq!(found, count, "{json}");
    }
}

#[test]
fn plain_strings_have_no_escapes() {
    assert_eq!(plain_string(b"\"ab\"", 0..4), Some("ab"));
    assert_eq!(plain_string(b"\"a\\n\"", 0..5), None);
    assert_eq!(plain_string(b"12", 0..2), None);
    assert_eq!(plain_string(b"\"", 0..1), None);
}

proptest! {
    #[test]
    fn every_member_of_random_json_is_found(value in any_json()) {
        let json = serde_json::to_string_pretty(&value).unwrap();
        let Some(object) = value.as_object() else { return Ok(()) };
        for (key, value) in object {
            let escaped = serde_json::to_string(key).unwrap();
            if escaped.len() == key.len() + 2 {
                let found: serde_json::Value = serde_json::from_str(found(&json, &[key]).unwrap()).unwrap();
                prop_assert_eq!(&found, value);
            }
        }
    }

    #[test]
    fn bytes_that_are_no_json_cause_no_panic(bytes: Vec<u8>, json in "[\\[\\]{}:,\"\\\\a1 ]{0,30}") {
        for bytes in [&bytes, json.as_bytes()] {
            let _ = find(bytes, &["a", "a"]);
            let _ = elements(bytes, 0..bytes.len()).count();
            let _ = nested_members(bytes, 0..bytes.len()).count();
            let _ = trailing_object(bytes, bytes.len().min(1), |members| members.count());
        }
    }
}
