//! Values of documents.

use super::exchange::{RecordedExchange, assert_values, evaluate_to_json};
use crate::allowance::TEXT_BYTES;
use crate::{EvaluationPhase, Expression};

#[test]
fn pointers_reach_every_kind_of_value() {
    assert_values(&[
        (r#"json("/model")"#, r#""chat-large""#),
        (r#"json("/max_tokens") + 1"#, "1025"),
        (r#"json("/temperature") * 2"#, "1"),
        (r#"json("/stream") == true"#, "true"),
        (r#"json("/user") == null"#, "true"),
        (r#"json("/absent") == null"#, "true"),
        (r#"json("/messages/1/role")"#, r#""user""#),
        (r#"json("/messages/2/role")"#, "null"),
        (r#"json("/messages/01/role")"#, "null"),
        (r#"json("/messages/-")"#, "null"),
        (r#"json("/model/x")"#, "null"),
        (r#"json("/a~1b/~0c")"#, "1"),
        (r#"json("/messages")[1].role"#, r#""user""#),
        (r#"json("/messages")[1]["role"]"#, r#""user""#),
        (
            r#"json("/messages")[2]"#,
            "error: the index is beyond the end of the list",
        ),
        (
            r#"json("/messages")[0].name"#,
            "error: a map has no member `name`",
        ),
        (
            r#"json("/absent").name"#,
            "error: a value of type null has no member `name`",
        ),
        (
            r#"json("/absent")[0]"#,
            "error: a null cannot be indexed by int",
        ),
        (r#"json("/big") > 1e19"#, "true"),
        (r#"json("/messages/1/content") == "grüße""#, "true"),
        (r#"json("/options") == {"include_usage": true}"#, "true"),
        (r#"json("/tags") == ["x", "y"]"#, "true"),
        (r#"json("/messages") == json("/messages")"#, "true"),
        (r#"response_json("/choices/0/finish_reason")"#, r#""stop""#),
        (r#"event_json("/delta") + "!""#, r#""abc!""#),
    ]);
}

#[test]
fn a_pointer_alone_passes_the_original_bytes() {
    assert_values(&[
        (r#"json("/big")"#, "12345678901234567890"),
        (
            r#"json("/messages/1")"#,
            r#"{"role":"user","content":"gr\u00fc\u00dfe"}"#,
        ),
        (
            r#"[json("/messages/1")]"#,
            r#"[{"role":"user","content":"gr\u00fc\u00dfe"}]"#,
        ),
        (r#"json("/messages/1/content")"#, r#""gr\u00fc\u00dfe""#),
        (
            r#"{"a": json("/temperature"), "ü": [null, "\n"]}"#,
            r#"{"a":0.5,"ü":[null,"\n"]}"#,
        ),
    ]);
    let body = format!(r#"{{"long": ["{}"]}}"#, "a".repeat(1 << 20));
    let long = RecordedExchange::with_body(&body);
    assert_eq!(
        evaluate_to_json(r#"json("/long")"#, &long).len(),
        (1 << 20) + 4
    );
    let error = "error: a string is longer than 64 KiB";
    assert_eq!(evaluate_to_json(r#"[json("/long")]"#, &long), error);
}

#[test]
fn a_long_string_is_only_counted_and_compared_with_other_types() {
    let body = format!(r#"{{"long":"{}"}}"#, "ü".repeat(TEXT_BYTES));
    let long = RecordedExchange::with_body(&body);
    let error = "error: a string is longer than 64 KiB";
    let table = [
        (r#"size(json("/long"))"#, "65536"),
        (r#"has(json("/long"))"#, "true"),
        (r#"json("/long") != null"#, "true"),
        (r#"json("/long") == 1"#, "false"),
        (r#"json("/long") == "a""#, error),
        (r#"json("/long") < "a""#, error),
        (r#"json("/long") + "a""#, error),
        (r#"json("/long").contains("a")"#, error),
        (r#"json("/long").matches("a")"#, error),
        (r#"string(json("/long"))"#, error),
        (r#"[json("/long")] == ["a"]"#, error),
    ];
    for (text, expected) in table {
        assert_eq!(evaluate_to_json(text, &long), expected, "{text}");
    }
    let expression = Expression::compile(r#"json("/long")"#, EvaluationPhase::Body).unwrap();
    let refused = expression.text_value(&long).unwrap_err();
    assert_eq!(refused.message, "a string is longer than 64 KiB");
}

#[test]
fn a_list_is_gone_through_up_to_its_limit() {
    let of_elements = |count: usize| {
        RecordedExchange::with_body(&format!(r#"{{"l":[{}]}}"#, vec!["1"; count].join(",")))
    };
    let (full, beyond) = (of_elements(1_000), of_elements(1_001));
    let table = [
        (
            r#"json("/l").all(x, x == 1)"#,
            "true",
            "error: an array or object of a document has more than 1000 elements",
        ),
        (
            r#"2 in json("/l")"#,
            "false",
            "error: an array or object of a document has more than 1000 elements",
        ),
        (r#"size(json("/l"))"#, "1000", "1001"),
        (r#"json("/l")[999]"#, "1", "1"),
        (
            r#"size(json("/l") + [1])"#,
            "error: a list has more than 1000 elements",
            "error: an array or object of a document has more than 1000 elements",
        ),
    ];
    for (text, expected, expected_beyond) in table {
        assert_eq!(evaluate_to_json(text, &full), expected, "{text}");
        assert_eq!(evaluate_to_json(text, &beyond), expected_beyond, "{text}");
    }
}

#[test]
fn a_number_beyond_double_is_an_error_without_its_digits() {
    let body = RecordedExchange::with_body(r#"{"n":1e999,"m":-0}"#);
    let error = "error: a number of the document is beyond the range of double";
    assert_eq!(evaluate_to_json(r#"json("/n") > 1"#, &body), error);
    assert_eq!(evaluate_to_json(r#"json("/n")"#, &body), "1e999");
    assert_eq!(evaluate_to_json(r#"json("/m") == 0"#, &body), "true");
}
