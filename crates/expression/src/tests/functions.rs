//! Every function.

use std::collections::HashSet;

use super::exchange::{RecordedExchange, assert_values, evaluate_to_json};
use crate::{EvaluationPhase, Expression};

#[test]
fn functions_of_texts() {
    assert_values(&[
        (r#""abc".contains("b")"#, "true"),
        (r#""abc".contains("")"#, "true"),
        (r#""abc".startsWith("ab")"#, "true"),
        (r#""abc".endsWith("ab")"#, "false"),
        (r#""aBcÄ".lowerAscii()"#, r#""abcÄ""#),
        (r#""aBcä".upperAscii()"#, r#""ABCä""#),
        (r#""a,b,,c".split(",")"#, r#"["a","b","","c"]"#),
        (r#""a,b,c".split(",", 2)"#, r#"["a","b,c"]"#),
        (r#""a,b,c".split(",", 1)"#, r#"["a,b,c"]"#),
        (r#""a,b,c".split(",", 0)"#, "[]"),
        (r#""a,b,c".split(",", -1)"#, r#"["a","b","c"]"#),
        (r#""äbc".split("")"#, r#"["ä","b","c"]"#),
        (r#""".split(",")"#, r#"[""]"#),
        (r#""".split("")"#, "[]"),
        (r#"["a", "b"].join("-")"#, r#""a-b""#),
        (r#"["a", "b"].join()"#, r#""ab""#),
        (r#"[].join("-")"#, r#""""#),
        (r#"json("/tags").join("+")"#, r#""x+y""#),
        (
            r#"["a", 1].join()"#,
            "error: `join` needs a string, not int",
        ),
        (r#"model.join()"#, "error: `join` needs a list, not string"),
        (r#""grüße".substring(2)"#, r#""üße""#),
        (r#""grüße".substring(2, 4)"#, r#""üß""#),
        (r#""grüße".substring(5)"#, r#""""#),
        (r#""grüße".substring(2, 2)"#, r#""""#),
        (
            r#""grüße".substring(6)"#,
            "error: the range of `substring` is beyond the string",
        ),
        (
            r#""grüße".substring(2, 1)"#,
            "error: the range of `substring` is beyond the string",
        ),
        (
            r#""grüße".substring(-1)"#,
            "error: the range of `substring` is beyond the string",
        ),
        (r#""abab".replace("b", "xy")"#, r#""axyaxy""#),
        (r#""abab".replace("b", "", 1)"#, r#""aab""#),
        (r#""abab".replace("b", "x", 0)"#, r#""abab""#),
        (r#""abab".replace("b", "x", -1)"#, r#""axax""#),
        (r#""ab".replace("", "-")"#, r#""-a-b-""#),
        (
            r#"json("/user").contains("a")"#,
            "error: `contains` needs a string, not null",
        ),
        (
            r#""a".contains(1)"#,
            "error: `contains` needs a string, not int",
        ),
        (
            r#""a".substring("a")"#,
            "error: `substring` needs an int, not string",
        ),
    ]);
}

#[test]
fn functions_of_numbers_and_types() {
    assert_values(&[
        (r#"size("grüße")"#, "5"),
        (r#""grüße".size()"#, "5"),
        ("size([1, 2])", "2"),
        (r#"size({"a": 1})"#, "1"),
        (r#"size(json("/messages"))"#, "2"),
        (r#"json("/options").size()"#, "1"),
        (
            "size(1)",
            "error: `size` needs a string, list or map, not int",
        ),
        ("string(1)", r#""1""#),
        ("string(1.0)", r#""1""#),
        ("string(0.5)", r#""0.5""#),
        ("string(true)", r#""true""#),
        (r#"string("a")"#, r#""a""#),
        ("string(null)", "error: string() cannot convert null"),
        (r#"int("42")"#, "42"),
        ("int(-1.9)", "-1"),
        (
            "int(9223372036854775807.0)",
            "error: a double is beyond the range of int",
        ),
        ("int(-9223372036854775808.0)", "-9223372036854775808"),
        (r#"int("4x")"#, "error: a string is not a whole number"),
        ("int(null)", "error: int() cannot convert null"),
        (r#"double("0.5")"#, "0.5"),
        ("double(2)", "2"),
        (r#"double("inf")"#, "error: a string is not a number"),
        ("double([])", "error: double() cannot convert list"),
        ("min(1, 2)", "1"),
        ("max(1, 2.5)", "2.5"),
        ("min(2, 2.0) + 0.5", "2.5"),
        (r#"min(json("/max_tokens"), 512)"#, "512"),
        (
            r#"min(json("/absent"), 512)"#,
            "error: `min` and `max` need numbers, not null",
        ),
    ]);
}

#[test]
fn functions_with_literals() {
    assert_values(&[
        (r#"model.matches("^chat-")"#, "true"),
        (r#"matches(model, "^large")"#, "false"),
        (r#"matches("Ä", "(?i)^ä$")"#, "true"),
        (
            r#"matches(1, "a")"#,
            "error: `matches` needs a string, not int",
        ),
        (r#"in_network(client.address, "203.0.113.0/24")"#, "true"),
        (r#"in_network(client.address, "203.0.113.7")"#, "true"),
        (r#"in_network(client.address, "10.0.0.0/8")"#, "false"),
        (r#"in_network("2001:db8::1", "2001:db8::/32")"#, "true"),
        (r#"in_network("::ffff:10.0.0.1", "10.0.0.0/8")"#, "true"),
        (r#"in_network("not an address", "10.0.0.0/8")"#, "false"),
        (
            r#"in_network(1, "10.0.0.0/8")"#,
            "error: `in_network` needs a string, not int",
        ),
        ("sample(100)", "true"),
        ("sample(0)", "false"),
        (
            r#"sample(json("/max_tokens"))"#,
            "error: the percentage of sample is not from 0 to 100",
        ),
        ("sample(5, 1)", "error: `sample` needs a string, not int"),
        (r#"has(json("/model"))"#, "true"),
        (r#"has(json("/user"))"#, "true"),
        (r#"has(json("/absent"))"#, "false"),
        (r#"has(json("/options").include_usage)"#, "true"),
        (r#"has(json("/options")["include_usage"])"#, "true"),
        (r#"has(json("/options").other)"#, "false"),
        (r#"has(json("/absent").other)"#, "false"),
        (r#"has({"a": null}.a)"#, "true"),
        (
            r#"has(json("/model").other)"#,
            "error: a value of type string has no member `other`",
        ),
    ]);
}

#[test]
fn a_sample_is_stable_and_has_its_share() {
    let mut exchange = RecordedExchange::default();
    let mut sampled = HashSet::new();
    for round in 0..2 {
        for index in 0..10_000 {
            exchange.request_id = format!("req-{index}");
            let is_sampled = evaluate_to_json("sample(5)", &exchange) == "true";
            if round == 0 && is_sampled {
                sampled.insert(index);
            }
            assert_eq!(sampled.contains(&index), is_sampled, "{index}");
        }
    }
    assert!(
        (400..600).contains(&sampled.len()),
        "{} of 10,000",
        sampled.len()
    );
    // The same key is sampled for every request.
    let by_key: HashSet<String> = (0..100)
        .map(|index| {
            exchange.request_id = format!("req-{index}");
            evaluate_to_json("sample(50, caller)", &exchange)
        })
        .collect();
    assert_eq!(by_key.len(), 1);
    // What the share was before is part of a larger share.
    for index in sampled {
        exchange.request_id = format!("req-{index}");
        assert_eq!(
            evaluate_to_json("sample(10.5)", &exchange),
            "true",
            "{index}"
        );
    }
}

#[test]
fn the_three_forms_of_a_value() {
    let exchange = RecordedExchange::default();
    // Text, is_true, text_value.
    let table = [
        ("true", Ok(true), Ok("true")),
        ("1", Err("the condition must be a bool, not int"), Ok("1")),
        (
            "0.5",
            Err("the condition must be a bool, not double"),
            Ok("0.5"),
        ),
        (
            "\"a\"",
            Err("the condition must be a bool, not string"),
            Ok("a"),
        ),
        (
            "null",
            Err("the condition must be a bool, not null"),
            Err("the value must be a string, number or bool, not null"),
        ),
        (
            "[1]",
            Err("the condition must be a bool, not list"),
            Err("the value must be a string, number or bool, not list"),
        ),
        (
            r#"json("/options")"#,
            Err("the condition must be a bool, not map"),
            Err("the value must be a string, number or bool, not map"),
        ),
    ];
    for (text, condition, value) in table {
        let expression = Expression::compile(text, EvaluationPhase::Body).unwrap();
        let found = expression.is_true(&exchange).map_err(|error| error.message);
        assert_eq!(found, condition.map_err(Into::into), "{text}");
        let found = expression
            .text_value(&exchange)
            .map_err(|error| error.message);
        assert_eq!(found, value.map(String::from).map_err(Into::into), "{text}");
    }
}
