//! Operators and macros.

use super::exchange::assert_values;

#[test]
fn arithmetic_is_exact_or_an_error() {
    assert_values(&[
        ("1 + 2 * 3", "7"),
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("7.0 / 2", "3.5"),
        ("1 + 0.5", "1.5"),
        ("2 * 1.5", "3"),
        ("-(1 - 3)", "2"),
        (
            "9223372036854775807 + 1",
            "error: the result of `+` is beyond the range of int",
        ),
        (
            "-(-9223372036854775807 - 1)",
            "error: the result of `-` is beyond the range of int",
        ),
        (
            "(-9223372036854775807 - 1) / -1",
            "error: the result of `/` is beyond the range of int",
        ),
        ("1 / 0", "error: `/` by zero"),
        ("1 % 0", "error: `%` by zero"),
        (
            "1.0 / 0",
            "error: a double that is infinite or not a number has no text",
        ),
        (
            "1.5 % 2.0",
            "error: `%` cannot be applied to double and double",
        ),
        (
            "1 - \"a\"",
            "error: `-` cannot be applied to int and string",
        ),
        ("-\"a\"", "error: `-` needs a number, not string"),
        ("1e300", "1e300"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("4096.0", "4096"),
        ("0.0000001", "1e-7"),
        ("0x1F", "31"),
    ]);
}

#[test]
fn texts_and_lists_are_joined_by_plus() {
    assert_values(&[
        (r#""a" + "b""#, r#""ab""#),
        ("[1] + [2, 3]", "[1,2,3]"),
        (r#"json("/tags") + ["z"]"#, r#"["x","y","z"]"#),
        (
            r#""a" + 1"#,
            "error: `+` cannot be applied to string and int",
        ),
        (
            r#""a" + json("/user")"#,
            "error: `+` cannot be applied to string and null",
        ),
    ]);
}

#[test]
fn values_are_compared_by_type() {
    assert_values(&[
        ("1 == 1.0", "true"),
        (r#"json("/absent") == 0"#, "false"),
        ("null == null", "true"),
        (r#"json("/absent") != """#, "true"),
        ("[1, 2.0] == [1.0, 2]", "true"),
        ("[1] == [1, 2]", "false"),
        (r#"{"a": 1, "b": [2]} == {"b": [2], "a": 1}"#, "true"),
        (r#"{"a": 1} == {"a": 2}"#, "false"),
        ("1 < 1.5", "true"),
        ("2 >= 2", "true"),
        (r#""a" < "b""#, "true"),
        ("false < true", "true"),
        (
            r#"json("/absent") > 1"#,
            "error: `>` cannot compare null with int",
        ),
        (r#"json("/absent") == 1"#, "false"),
        (r#""a" <= 1"#, "error: `<=` cannot compare string with int"),
        ("[1] < [2]", "error: `<` cannot compare list with list"),
        ("2 in [1, 2]", "true"),
        ("2.0 in [1, 2]", "true"),
        (r#""a" in {"a": 1}"#, "true"),
        (r#""x" in json("/tags")"#, "true"),
        (r#""include_usage" in json("/options")"#, "true"),
        (
            r#""a" in "abc""#,
            "error: `in` needs a list or map, not string",
        ),
        (
            r#""a" in json("/absent")"#,
            "error: `in` needs a list or map, not null",
        ),
    ]);
}

#[test]
fn the_side_that_decides_wins_over_an_error_of_the_other() {
    assert_values(&[
        ("true || 1 / 0 == 1", "true"),
        ("1 / 0 == 1 || true", "true"),
        ("1 / 0 == 1 || false", "error: `/` by zero"),
        ("1 / 0 == 1 && false", "false"),
        ("1 / 0 == 1 && true", "error: `/` by zero"),
        (r#"false && json("/absent")"#, "false"),
        ("true && 1", "error: `&&` needs a bool, not int"),
        ("null || false", "error: `||` needs a bool, not null"),
        ("!1", "error: `!` needs a bool, not int"),
        ("true ? 1 : 1 / 0", "1"),
        ("1 ? 1 : 2", "error: `?:` needs a bool, not int"),
    ]);
}

#[test]
fn lists_and_maps_are_indexed() {
    assert_values(&[
        ("[1, 2][1]", "2"),
        (r#"{"a": 1}["a"]"#, "1"),
        (r#"{"a": 1}.a"#, "1"),
        ("[1][1]", "error: the index is beyond the end of the list"),
        ("[1][-1]", "error: the index is beyond the end of the list"),
        (
            r#"{"a": 1}["b"]"#,
            "error: the map has no member of that name",
        ),
        (r#"{"a": 1}.b"#, "error: a map has no member `b`"),
        (r#"[1]["a"]"#, "error: a list cannot be indexed by string"),
        (r#""abc"[0]"#, "error: a string cannot be indexed by int"),
        (r#"{"a": 1, "a": 2}"#, "error: a map has a key twice"),
        ("{string(now.hour): 1}", r#"{"21":1}"#),
    ]);
}

#[test]
fn macros_go_through_lists_and_keys() {
    assert_values(&[
        ("[1, 2].all(x, x > 0)", "true"),
        ("[].all(x, x)", "true"),
        ("[1, 2].exists(x, x == 2)", "true"),
        ("[].exists(x, x)", "false"),
        ("[1, 2, 2].exists_one(x, x == 2)", "false"),
        ("[1, 2].existsOne(x, x == 2)", "true"),
        ("[1, 2, 3].filter(x, x != 2)", "[1,3]"),
        ("[1, 2].map(x, x * 2)", "[2,4]"),
        ("[1, 2, 3].map(x, x > 1, x * x)", "[4,9]"),
        (r#"{"a": 1, "b": 2}.map(k, k + "!")"#, r#"["a!","b!"]"#),
        (
            r#"json("/options").exists(k, k == "include_usage")"#,
            "true",
        ),
        (r#"json("/messages").exists(m, m.role == "system")"#, "true"),
        (
            r#"json("/messages").map(m, m.content)"#,
            r#"["be brief","grüße"]"#,
        ),
        (
            r#"json("/messages").filter(m, m.role == "user")"#,
            r#"[{"role":"user","content":"gr\u00fc\u00dfe"}]"#,
        ),
        ("[0, 1].exists(x, 1 / x == 1)", "true"),
        ("[0, 1].all(x, 1 / x == 2)", "false"),
        ("[0, 1].all(x, 1 / x == 1)", "error: `/` by zero"),
        ("[1].all(x, x)", "error: `all` needs a bool, not int"),
        ("1.all(x, x)", "error: `all` needs a list or map, not int"),
        (
            r#"json("/absent").map(x, x)"#,
            "error: `map` needs a list or map, not null",
        ),
        ("[1, 2].map(x, [1].size() + x) + [3].map(x, x)", "[2,3,3]"),
    ]);
}
