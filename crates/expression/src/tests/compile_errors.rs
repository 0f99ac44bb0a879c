//! What is refused at load, where, and with which hint.

use crate::{EvaluationPhase, Expression};

/// Text, line, column, message, hint.
pub type Refused = (
    &'static str,
    usize,
    usize,
    &'static str,
    Option<&'static str>,
);

/// Compares what is refused with a table.
pub fn assert_refused(table: &[Refused]) {
    let mut wrong = Vec::new();
    for (text, line, column, message, hint) in table {
        match Expression::compile(text, EvaluationPhase::ResponseBody) {
            Ok(_) => wrong.push(format!("{text} is compiled")),
            Err(error) => {
                let found = (
                    error.line,
                    error.column,
                    &*error.message,
                    error.hint.as_deref(),
                );
                if found != (*line, *column, *message, *hint) {
                    wrong.push(format!("{text}\n  is {found:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn refusal(text: &str) -> String {
    Expression::compile(text, EvaluationPhase::ResponseBody)
        .map_or_else(|error| error.to_string(), |_| "compiled".into())
}

#[test]
fn syntax_errors_have_their_position() {
    assert_refused(&[
        ("", 1, 1, "the expression is empty", None),
        (" \n ", 1, 1, "the expression is empty", None),
        ("1 +", 1, 4, "the expression ends too early", None),
        ("1 + + 2", 1, 5, "unexpected `+`", None),
        ("model model", 1, 7, "unexpected `model`", None),
        (
            "(model == \"a\"\n  && (true)",
            1,
            1,
            "`(` is not closed",
            None,
        ),
        ("model)", 1, 6, "unexpected `)`", None),
        ("[1, (2]", 1, 7, "unexpected `]`", None),
        (
            "true &&\n  model == == \"a\"",
            2,
            12,
            "unexpected `==`",
            None,
        ),
        (
            "\"grüße\" == = 1",
            1,
            12,
            "`=` is not an operator",
            Some("write `==` to compare"),
        ),
        (
            "model = \"a\"",
            1,
            7,
            "`=` is not an operator",
            Some("write `==` to compare"),
        ),
        (
            "true & false",
            1,
            6,
            "unexpected character `&`",
            Some("write `&&`"),
        ),
        (
            "true | false",
            1,
            6,
            "unexpected character `|`",
            Some("write `||`"),
        ),
        (
            "model == “a”",
            1,
            10,
            "unexpected character `\\u{201c}`",
            Some("put strings into \" or '"),
        ),
        ("model == \"a", 1, 10, "the string is not closed", None),
        ("model == 'a\n'", 1, 10, "the string is not closed", None),
        (
            r#"model == "\d""#,
            1,
            11,
            "the string has an unknown escape",
            Some("write `\\\\` for a backslash, or r\"…\" for a string without escapes"),
        ),
        ("99999999999999999999", 1, 1, "invalid int literal", None),
        ("const", 1, 1, "reserved identifier: const", None),
        ("#model", 1, 1, "unexpected character `#`", None),
        ("{1: 2", 1, 1, "`{` is not closed", None),
        ("size(model,)", 1, 12, "unexpected `)`", None),
    ]);
}

#[test]
fn what_cel_has_and_expressions_do_not_is_refused() {
    assert_refused(&[
        (
            "1u + 2u",
            1,
            1,
            "unsigned numbers are not supported",
            Some("write 1"),
        ),
        ("b\"a\"", 1, 1, "bytes are not supported", None),
        (
            "a.B{c: 1}",
            1,
            4,
            "types with members are not supported",
            None,
        ),
        (
            "[1, 2].map(x, [x].map(y, y))",
            1,
            19,
            "`map` is inside another macro",
            Some("macros cannot be nested; map(x, condition, value) filters and maps at once"),
        ),
        (
            "[1].filter(x, true).map(y, y)",
            1,
            5,
            "`filter` is inside another macro",
            Some("macros cannot be nested; map(x, condition, value) filters and maps at once"),
        ),
        (
            "[1].map(1, 2)",
            1,
            9,
            "the first argument of a macro must be a name",
            None,
        ),
        (
            "[1].map(model, model)",
            1,
            9,
            "`model` is the name of a variable",
            Some("choose another name"),
        ),
        (
            "[1].map(now, 1)",
            1,
            9,
            "`now` is the name of a variable",
            Some("choose another name"),
        ),
        (
            "[1].map(x)",
            1,
            5,
            "`map` is called in another way",
            Some("write list.map(x, value) or list.map(x, condition, value)"),
        ),
        ("{1: 2}", 1, 2, "the key of a map must be a string", None),
        (
            "duration(\"1s\")",
            1,
            1,
            "unknown function `duration`",
            Some(
                "known are size, contains, startsWith, endsWith, lowerAscii, upperAscii, split, join, substring, replace, string, int, double, min, max, json, response_json, event_json, matches, in_network, sample, has, all, exists, exists_one, existsOne, filter, map",
            ),
        ),
        (
            "a.`b`",
            1,
            3,
            "unexpected backtick",
            Some("write x[\"name\"] for a member whose name is not a word"),
        ),
        ("1e999", 1, 1, "invalid double literal", None),
    ]);
}

#[test]
fn every_limit_holds_at_the_limit_and_not_beyond() {
    let sum = |terms: usize| vec!["1"; terms].join(" + ");
    let conditions = |terms: usize| vec!["true"; terms].join(" && ");
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    let list = |elements: usize| format!("[{}]", vec!["1"; elements].join(","));
    let map = |entries: usize| {
        let entries: Vec<String> = (0..entries)
            .map(|index| format!("\"k{index}\": 1"))
            .collect();
        format!("{{{}}}", entries.join(","))
    };
    let literal = |bytes: usize| format!("\"{}\"", "a".repeat(bytes));
    let spaces = |bytes: usize| format!("{}1", " ".repeat(bytes - 1));
    let table = [
        (spaces(4096), "compiled"),
        (
            spaces(4097),
            "line 1, column 1: the expression is longer than 4 KiB",
        ),
        (literal(1024), "compiled"),
        (
            literal(1025),
            "line 1, column 1: the string literal is longer than 1 KiB",
        ),
        (list(64), "compiled"),
        (
            list(65),
            "line 1, column 1: the list has more than 64 elements",
        ),
        (map(64), "compiled"),
        (
            map(65),
            "line 1, column 1: the map has more than 64 elements",
        ),
        (sum(32), "compiled"),
        (
            sum(33),
            "line 1, column 5: the expression is nested deeper than 32",
        ),
        (conditions(128), "compiled"),
        (
            conditions(129),
            "line 1, column 1: the expression has more than 256 parts",
        ),
        (nested(32), "compiled"),
        (
            nested(33),
            "line 1, column 33: brackets are nested deeper than 32",
        ),
        (
            nested(2000),
            "line 1, column 33: brackets are nested deeper than 32",
        ),
        (
            "-".repeat(1025) + "1",
            "line 1, column 1025: the expression has more than 1024 tokens",
        ),
        (
            "1?1:".repeat(200) + "1",
            "line 1, column 130: the expression has more than 32 `?:`",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(refusal(&text), expected, "{:.80}", text);
    }
}
