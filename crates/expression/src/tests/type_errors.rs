//! What is refused because of its types, and what may have a value.

use super::compile_errors::assert_refused;

#[test]
fn what_fails_for_every_request_is_refused_at_load() {
    let number = "write int(x) for a string as a number, or string(x) for a number as a string";
    assert_refused(&[
        (
            "caller > 3",
            1,
            1,
            "`>` cannot compare string with int",
            Some("write \"3\" in quotes, or int(x) for the string as a number"),
        ),
        (
            "!caller",
            1,
            2,
            "`!` needs a bool, not string",
            Some("write caller != \"\" for \"it is not empty\""),
        ),
        (
            "model + 1 == \"x\"",
            1,
            1,
            "`+` cannot be applied to string and int",
            Some("write \"1\" in quotes, or int(x) for the string as a number"),
        ),
        (
            "now.hour > \"22\"",
            1,
            1,
            "`>` cannot compare int with string",
            Some("write 22 without quotes"),
        ),
        (
            "true && model",
            1,
            9,
            "`&&` needs a bool, not string",
            Some("write model != \"\" for \"it is not empty\""),
        ),
        (
            "now.hour ? 1 : 2",
            1,
            1,
            "`?:` needs a bool, not int",
            Some("write now.hour != 0, or another comparison"),
        ),
        (
            "now.hour == model",
            1,
            1,
            "`==` compares int with string, which are never equal",
            Some(number),
        ),
        (
            "request.headers[\"x\"] != null",
            1,
            1,
            "`!=` compares string with null, which are never equal",
            Some("a string that is not known is empty: compare with \"\""),
        ),
        (
            "model in \"abc\"",
            1,
            1,
            "`in` needs a list or map, not string",
            Some(
                "write text.contains(part) for a part of a string, or a list such as [\"a\", \"b\"]",
            ),
        ),
        (
            "model in [1, 2]",
            1,
            1,
            "`in` looks for string among int, which are never equal",
            Some("put the elements into quotes"),
        ),
        (
            "[\"a\"].exists(x, x)",
            1,
            17,
            "`exists` needs a bool, not string",
            Some("write x != \"\" for \"it is not empty\""),
        ),
        (
            "size(now.hour) > 1",
            1,
            6,
            "`size` needs a string, list or map, not int",
            None,
        ),
        (
            "now.hour.contains(\"1\")",
            1,
            1,
            "`contains` needs a string, not int",
            Some("write string(x) for the number as a string"),
        ),
        ("model[0]", 1, 1, "a string cannot be indexed by int", None),
    ]);
}

#[test]
fn what_may_have_a_value_is_compiled() {
    for text in [
        r#"json("/n") > 3"#,
        r#"json("/s") == "x" || !json("/b")"#,
        "usage.total_tokens == null",
        "usage.total_tokens > 1.5",
        r#"json("/list").exists(x, x.name == "a" && x.size > 2)"#,
        r#"(json("/n") + 1) / 2 > now.hour"#,
        r#"model in ["a", "b"] && "x" in request.headers"#,
        r#"[1, "a"].exists(x, x == model)"#,
        r#"(json("/a") ? model : 1) == 1"#,
    ] {
        let compiled =
            crate::Expression::compile_condition(text, crate::EvaluationPhase::ResponseBody);
        assert!(compiled.is_ok(), "{text}: {compiled:?}");
    }
}

#[test]
fn the_value_of_a_condition_and_of_a_text_is_checked_at_load() {
    use crate::{EvaluationPhase, Expression};
    for (text, is_condition, is_text) in [
        ("model", false, true),
        ("now.hour", false, true),
        ("[model]", false, false),
        ("null", false, false),
        ("true", true, true),
        (r#"json("/x")"#, true, true),
    ] {
        let condition = Expression::compile_condition(text, EvaluationPhase::Body);
        assert_eq!(condition.is_ok(), is_condition, "{text}: {condition:?}");
        let value = Expression::compile_text(text, EvaluationPhase::Body);
        assert_eq!(value.is_ok(), is_text, "{text}: {value:?}");
    }
}
