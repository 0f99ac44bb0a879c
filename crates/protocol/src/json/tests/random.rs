//! Property tests: the scan agrees with serde_json on random bodies.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::super::JsonErrorKind as Reason;
use super::{parse, read_back};

/// Any JSON value, with so few keys that they repeat across objects.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    scalar.prop_recursive(5, 64, 8, |inner| {
        let key = prop_oneof!["[a-c]", ".{0,6}"];
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            vec((key, inner), 0..20)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Random sequences of JSON's tokens.
fn json_like() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = vec![
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\\",
        b"\\u",
        b"00e9",
        b"d83d",
        b"\\ude00",
        b"\"a\"",
        b"\"a\":",
        b"\"b\":1",
        b"null",
        b"true",
        b"false",
        b"0",
        b"-",
        b"1",
        b".5",
        b"e9",
        b"E+",
        b" ",
        b"\n",
        b"\x00",
        b"\x1f",
        "é".as_bytes(),
        b"\xc3",
        b"\xa9",
        b"\xf0\x9f",
        b"x",
        b"[1,2]",
        b"{\"a\":{}}",
    ];
    vec(select(pieces), 0..12).prop_map(|pieces| pieces.concat())
}

fn agrees_with_serde_json(body: &[u8]) -> Result<(), TestCaseError> {
    let theirs = serde_json::from_slice::<Value>(body);
    match (parse(body), theirs) {
        (Ok(ours), Ok(theirs)) => prop_assert_eq!(read_back(ours.root()), theirs),
        (Ok(_), Err(error)) => {
            prop_assert!(
                error.to_string().contains("number out of range"),
                "{}",
                error
            )
        }
        (Err(malformed), Ok(_)) => {
            prop_assert!(
                matches!(malformed.reason, Reason::DuplicateKey(_)),
                "{}",
                malformed
            )
        }
        (Err(_), Err(_)) => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn json_like_bytes_are_accepted_where_serde_json_accepts_them(body in json_like()) {
        agrees_with_serde_json(&body)?;
    }

    #[test]
    fn json_with_one_byte_changed_is_accepted_where_serde_json_accepts_it(
        value in any_json(), at in any::<prop::sample::Index>(), byte: u8,
    ) {
        let mut body = value.to_string().into_bytes();
        agrees_with_serde_json(&body)?;
        let at = at.index(body.len());
        body[at] = byte;
        agrees_with_serde_json(&body)?;
    }

    #[test]
    fn pretty_and_plain_json_read_the_same(value in any_json()) {
        let pretty = serde_json::to_vec_pretty(&value).unwrap();
        prop_assert_eq!(read_back(parse(&pretty).unwrap().root()), value);
    }
}
