//! Tests of the scan: what it accepts and refuses, and that values are read as written.

mod corpus;
mod public_suite;
pub(super) mod random;

use bytes::Bytes;
use serde_json::Value;

use super::*;
use crate::fault::{Fault, FaultKind};

fn parse(body: &[u8]) -> Result<JsonDocument, JsonError> {
    JsonDocument::parse(Bytes::copy_from_slice(body), &JsonLimits::default())
}

fn document(body: &str) -> JsonDocument {
    parse(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"))
}

fn refusal(body: &[u8]) -> JsonError {
    let shown = String::from_utf8_lossy(body).into_owned();
    parse(body).expect_err(&shown)
}

/// The document as serde_json would have parsed it, built through the public API.
fn read_back(node: DocumentNode<'_>) -> Value {
    match node.kind() {
        ValueKind::Null => Value::Null,
        ValueKind::Bool => node.as_bool().unwrap().into(),
        ValueKind::Number => serde_json::from_slice(node.raw()).unwrap(),
        ValueKind::String => node.as_str().unwrap().into(),
        ValueKind::Array => node.elements().map(read_back).collect(),
        ValueKind::Object => {
            let members = node.members();
            members
                .map(|(key, value)| (key.into_owned(), read_back(value)))
                .collect()
        }
    }
}

#[test]
fn a_fault_names_the_duplicate_key_and_where_it_stands() {
    let body = b"{\"model\": \"m\",\n \"messages\": [\n  {\"a\": 1, \"a\": 2}]}";
    let malformed = refusal(body);
    assert_eq!(malformed.reason, JsonErrorKind::DuplicateKey("a".into()));
    let fault = Fault::from(malformed);
    assert_eq!(fault.kind, FaultKind::BadJson);
    assert_eq!(
        fault.message,
        "request body is not valid JSON: duplicate key \"a\" at line 3, column 12 (in /messages/0)"
    );
}

#[test]
fn columns_count_characters_and_pointers_escape_their_tokens() {
    let malformed = refusal("{\"é/~\": [\"日本\", tru]}".as_bytes());
    assert_eq!((malformed.line, malformed.column), (1, 16));
    assert_eq!(malformed.pointer, "/é~1~0");
    assert_eq!(malformed.reason, JsonErrorKind::BadLiteral);
}

#[test]
fn a_duplicate_is_found_in_small_and_large_objects_however_it_is_spelled() {
    for members in [2, 11, 12, 13, 14, 100, 5_000] {
        let keys: Vec<String> = (0..members)
            .map(|n| format!("\"k{n}\":{{\"x\":[{n}]}}"))
            .collect();
        let unique = format!("{{{}}}", keys.join(","));
        assert_eq!(document(&unique).root().len(), members);

        for again in ["\"\\u006b1\":0", "\"k1\":0"] {
            let repeated = format!("{{{},{again}}}", keys.join(","));
            let reason = refusal(repeated.as_bytes()).reason;
            assert_eq!(
                reason,
                JsonErrorKind::DuplicateKey("k1".into()),
                "{members}"
            );
        }
    }
}

#[test]
fn values_beyond_the_limit_are_too_large_and_not_malformed() {
    let limits = JsonLimits {
        depth: 64,
        values: 4,
    };
    let parse = |body: &'static str| JsonDocument::parse(Bytes::from(body), &limits);
    assert!(parse("[1,2,3]").is_ok());
    assert!(parse("{\"a\":[1,2]}").is_ok());
    let malformed = parse("{\"a\":[1,2],\"b\":3}").unwrap_err();
    assert_eq!(malformed.reason, JsonErrorKind::TooManyValues(4));
    assert_eq!(Fault::from(malformed).kind, FaultKind::TooLarge);
}

#[test]
fn depth_is_counted_to_the_limit_and_no_further() {
    let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(nested(64).as_bytes()).is_ok());
    let malformed = refusal(nested(65).as_bytes());
    assert_eq!(malformed.reason, JsonErrorKind::TooDeep(64));
    let endless = "{\"a\":".repeat(1_000_000);
    assert_eq!(refusal(endless.as_bytes()).offset, 64 * 5);
}

#[test]
fn a_long_string_takes_two_entries_of_tape_and_no_copy() {
    let image = "x".repeat(10 << 20);
    let document = document(&format!("[\"{image}\"]"));
    assert_eq!(document.tape.len(), 2);
    let text = document.root().elements().next().unwrap().as_str().unwrap();
    assert!(matches!(text, std::borrow::Cow::Borrowed(text) if text.len() == image.len()));
}

#[test]
fn every_byte_that_needs_attention_is_seen_at_every_place_of_a_string() {
    for length in 0..150 {
        for at in 0..=length {
            let text = |byte: &[u8]| {
                [
                    b"\"",
                    "y".repeat(at).as_bytes(),
                    byte,
                    "z".repeat(length - at).as_bytes(),
                    b"\"",
                ]
                .concat()
            };
            // The document ends with the string, or goes on with more bytes than a block has.
            let first = |byte: &[u8]| {
                let others = br#",0,1,2,3,4,5,6,7,8,9]"#;
                [b"[", text(byte).as_slice(), others].concat()
            };
            assert_eq!(refusal(&text(b"\n")).offset, at + 1);
            assert_eq!(refusal(&first(b"\n")).offset, at + 2);
            assert_eq!(refusal(&text(b"\x80")).offset, at + 1);
            assert_eq!(refusal(&first(b"\x80")).offset, at + 2);
            assert_eq!(refusal(&text(b"\"")).offset, at + 2);
            for inserted in ["\\n", "é", "a"] {
                let decoded = match inserted {
                    "\\n" => "\n",
                    other => other,
                };
                let decoded = "y".repeat(at) + decoded + &"z".repeat(length - at);
                let bodies = [text(inserted.as_bytes()), first(inserted.as_bytes())];
                for (body, pointer) in bodies.iter().zip(["", "/0"]) {
                    let document = parse(body).unwrap();
                    let string = document.root().pointer(pointer).unwrap();
                    assert_eq!(string.as_str().as_deref(), Some(decoded.as_str()));
                    assert_eq!(string.str_len(), Some(length + 1));
                }
            }
        }
    }
}

#[test]
fn strings_are_decoded_and_measured_in_code_points() {
    let table = [
        (r#""""#, "", 0),
        (r#""plain""#, "plain", 5),
        ("\"日本\"", "日本", 2),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t", 8),
        (r#""a\u00e9\u0000""#, "aé\0", 3),
        (r#""\ud83e\udd80🦀""#, "🦀🦀", 2),
        (r#""\\ud800""#, "\\ud800", 6),
    ];
    for (body, text, length) in table {
        let document = document(body);
        assert_eq!(document.root().as_str().unwrap(), text);
        assert_eq!(document.root().str_len(), Some(length), "{body}");
    }
}

#[test]
fn numbers_keep_their_bytes_and_fit_the_types_they_fit() {
    let table = [
        ("0", Some(0), Some(0), Some(0.0)),
        ("-1", Some(-1), None, Some(-1.0)),
        (
            "18446744073709551615",
            None,
            Some(u64::MAX),
            Some(18446744073709551615.0),
        ),
        (
            "1180591620717411303424",
            None,
            None,
            Some(1180591620717411303424.0),
        ),
        ("1.0", None, None, Some(1.0)),
        ("1e400", None, None, None),
    ];
    for (body, signed, unsigned, double) in table {
        let document = document(body);
        let root = document.root();
        assert_eq!(root.raw(), body.as_bytes());
        assert_eq!(
            (root.as_i64(), root.as_u64(), root.as_f64()),
            (signed, unsigned, double),
            "{body}"
        );
    }
}

#[test]
fn spans_cut_values_and_keys_out_of_the_body() {
    let body = r#" { "model" : "m" , "n": [ 1, {"x": null} ] } "#;
    let document = document(body);
    let model = document.root().get("model").unwrap();
    assert_eq!(&body[model.span()], "\"m\"");
    assert_eq!(&body[model.key_span().unwrap()], "\"model\"");
    let n = document.root().get("n").unwrap();
    assert_eq!(n.raw(), b"[ 1, {\"x\": null} ]");
    let one = n.elements().next().unwrap();
    assert_eq!(one.key_span(), None);
    assert_eq!(one.parent().unwrap().span(), n.span());
    assert_eq!(model.parent().unwrap().span(), document.root().span());
    assert!(document.root().parent().is_none());
}

#[test]
fn pointers_reach_what_they_name() {
    let document = document(r#"{"a/b":[1,{"~":true}],"":0,"0":[]}"#);
    let found = |pointer| {
        document
            .root()
            .pointer(pointer)
            .map(|node| node.raw().to_vec())
    };
    let table: [(&str, Option<&[u8]>); 10] = [
        ("/a~1b/0", Some(b"1")),
        ("/a~1b/1/~0", Some(b"true")),
        ("/", Some(b"0")),
        ("/0", Some(b"[]")),
        ("/a~1b/2", None),
        ("/a~1b/01", None),
        ("/a~1b/-", None),
        ("/a~1b/0/x", None),
        ("a", None),
        ("/0/0", None),
    ];
    for (pointer, value) in table {
        assert_eq!(found(pointer).as_deref(), value, "{pointer}");
    }
    assert_eq!(
        document.root().pointer("").unwrap().kind(),
        ValueKind::Object
    );
}

#[test]
fn quoting_gives_a_string_that_reads_back() {
    for text in ["", "plain", "\"\\\n\u{1}é🦀"] {
        let quoted = quoted(text);
        assert_eq!(parse(&quoted).unwrap().root().as_str().unwrap(), text);
    }
}

#[test]
fn the_start_of_a_string_ends_between_characters() {
    let text = |json: &str, max| {
        let document = parse(json.as_bytes()).unwrap();
        document
            .root()
            .text_start(max)
            .map(|text| text.into_owned())
    };
    for (json, max, expected) in [
        (r#""abc""#, 2, "ab"),
        (r#""abc""#, 3, "abc"),
        (r#""abc""#, 0, ""),
        (r#""aé""#, 2, "a"),
        (r#""a\nb""#, 2, "a"),
        (r#""a\nb""#, 3, "a\n"),
        (r#""\u00e9x""#, 5, ""),
        (r#""\u00e9x""#, 6, "é"),
        (r#""\ud83e\udd80x""#, 11, ""),
        (r#""\ud83e\udd80éx""#, 13, "🦀"),
        (r#""\/\/\/\/""#, 5, "//"),
    ] {
        assert_eq!(text(json, max).as_deref(), Some(expected), "{json} {max}");
    }
    assert_eq!(text("17", 3), None);
}

#[test]
fn long_strings_are_found_with_their_paths() {
    let long = "x".repeat(100);
    let body = format!(
        r#"{{"a": ["s", {{"b.c": "{long}"}}], "{long}": 1, "d": "{long}", "{long}y": "{long}z"}}"#
    );
    let document = parse(body.as_bytes()).unwrap();
    let paths: Vec<String> = document.long_strings(100).map(|node| node.path()).collect();
    let cut = &long[..64];
    assert_eq!(paths, ["a[1].b.c", "d", cut]);
    assert_eq!(document.root().path(), "");
}

#[test]
fn a_string_is_blank_if_it_begins_with_nothing_but_white_space() {
    let padded = format!("\"{}x\"", " ".repeat(5000));
    for (json, expected) in [
        (r#""""#, true),
        (r#"" \n\u0020""#, true),
        (r#"" x""#, false),
        ("1", false),
        (&padded, true),
    ] {
        let document = parse(json.as_bytes()).unwrap();
        assert_eq!(document.root().is_blank(), expected, "{json:.20}");
    }
}
