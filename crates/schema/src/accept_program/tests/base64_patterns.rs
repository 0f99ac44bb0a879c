//! Tests that patterns of base64 decide as the regular expressions that they replace.

use super::*;
use crate::accept_program::base64_pattern::Base64Pattern;
use proptest::prelude::*;
use serde_json::json;

const BASE64: &str = r"^[A-Za-z0-9+/ \t\r\n]*=?=?[ \t\r\n]*$";
const DATA_URI: &str = r#"^[dD][aA][tT][aA]:[^,;]*(;[^,;"]*("[^"]*")?)*;[bB][aA][sS][eE]64,[A-Za-z0-9+/ \t\r\n]*=?=?[ \t\r\n]*$"#;

/// Parts of texts, whose combinations come close to what the patterns accept.
fn part() -> impl Strategy<Value = String> {
    let parts = [
        "data:image/png;base64,",
        "DATA:;name=\"a,b;c\";base64,",
        "data:",
        ";base64,",
        ",",
        "\"",
        "AZaz09+/",
        "=",
        " ",
        "\t\r\n",
        "-",
        "_",
        "é",
        "\u{b}",
    ];
    let text = prop::sample::select(parts.to_vec()).prop_map(str::to_owned);
    prop_oneof![4 => text, 1 => (0..90_usize).prop_map(|count| "Q".repeat(count))]
}

proptest! {
    #[test]
    fn random_texts_are_judged_as_by_the_regular_expression(
        parts in prop::collection::vec(part(), 0..7)
    ) {
        let body = json!(parts.concat()).to_string();
        for pattern in [BASE64, DATA_URI] {
            checked_verdict(&compile(&json!({"pattern": pattern})), &body);
        }
    }
}

#[test]
fn each_byte_is_judged_as_by_the_regular_expression_wherever_it_stands() {
    let schema = compile(&json!({"pattern": BASE64}));
    for character in (0..=0x7f_u8).map(char::from).chain(['é', '\u{2028}']) {
        for (before, after) in [(0, 0), (3, 70), (40, 40), (64, 0), (0, 1)] {
            let text = format!("{}{character}{}", "Q".repeat(before), "Q".repeat(after));
            let verdict = checked_verdict(&schema, &json!(text).to_string());
            assert_ne!(verdict, SchemaVerdict::Unknown, "{character:?}");
        }
    }
}

#[test]
fn long_texts_are_judged_as_by_the_regular_expression() {
    let schema = compile(&json!({"pattern": DATA_URI}));
    for kib in [63, 64, 65, 200] {
        for end in ["", "=", "-", "-Q", ","] {
            let base64 = "Q".repeat(kib << 10);
            let text = format!("data:image/png;base64,{base64}{end}");
            checked_verdict(&schema, &json!(text).to_string());
        }
    }
}

#[test]
fn values_that_are_no_text_match_every_pattern() {
    for pattern in [BASE64, DATA_URI] {
        for body in ["1", "null", "[]", "{}"] {
            let verdict = checked_verdict(&compile(&json!({"pattern": pattern})), body);
            assert_eq!(verdict, SchemaVerdict::Yes, "{pattern} {body}");
        }
    }
}

#[test]
fn only_patterns_that_end_in_base64_at_the_start_or_after_a_comma_are_taken_for_them() {
    let end = &BASE64[1..];
    for (start, is_taken) in [
        ("^", true),
        ("^a,", true),
        ("^(a|b),", false),
        ("a,", false),
        ("^a", false),
        ("", false),
        ("^[,", false),
        ("^(a,", false),
    ] {
        let pattern = json!(format!("{start}{end}"));
        assert_eq!(
            Base64Pattern::parse(&pattern).is_some(),
            is_taken,
            "{pattern}"
        );
    }
    assert!(Base64Pattern::parse(&json!("^[A-Z]*$")).is_none());
}

#[test]
fn the_patterns_of_the_shipped_schemas_are_taken_for_them() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas");
    for (file, pointer) in [
        ("chat", "/$defs/data_uri/then/pattern"),
        ("responses", "/$defs/data_uri/then/pattern"),
        ("messages", "/$defs/base64/pattern"),
        ("count_tokens", "/$defs/base64/pattern"),
    ] {
        let text = std::fs::read_to_string(format!("{folder}/{file}.schema.json")).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        let pattern = schema.pointer(pointer).unwrap();
        assert!(Base64Pattern::parse(pattern).is_some(), "{file}");
    }
}
