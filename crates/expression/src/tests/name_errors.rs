//! Names, functions and literals that are refused at load.

use super::compile_errors::assert_refused;

#[test]
fn unknown_names_have_the_nearest_known_name() {
    assert_refused(&[
        (
            "request.metod == \"GET\"",
            1,
            1,
            "unknown name `request.metod`",
            Some("did you mean `request.method`?"),
        ),
        (
            "true && modle == \"a\"",
            1,
            9,
            "unknown name `modle`",
            Some("did you mean `model`?"),
        ),
        (
            "caler",
            1,
            1,
            "unknown name `caler`",
            Some("did you mean `caller`?"),
        ),
        (
            "client",
            1,
            1,
            "unknown name `client`",
            Some("known are client.address"),
        ),
        (
            "usage.cost",
            1,
            1,
            "unknown name `usage.cost`",
            Some("known are usage.input_tokens, usage.output_tokens, usage.total_tokens"),
        ),
        (
            "bananas",
            1,
            1,
            "unknown name `bananas`",
            Some(
                "known are request.method, request.path, request.query_string, request.id, request.headers, request.params, request.query, client.address, caller, route, protocol, now.hour, now.minute, now.weekday, now.unix, model, request.size, channel, channel_model, attempt, response.status, response.headers, response.size, usage.input_tokens, usage.output_tokens, usage.total_tokens, event.type; put strings into quotes",
            ),
        ),
        (
            ".model",
            1,
            2,
            "unknown name `.model`",
            Some("did you mean `model`?"),
        ),
        (
            "model.name",
            1,
            1,
            "`model` is of type string and has no member `name`",
            None,
        ),
        (
            "now.hour.minute",
            1,
            1,
            "`now.hour` is of type int and has no member `minute`",
            None,
        ),
        (
            "request.headers == {}",
            1,
            1,
            "`request.headers` is read by name",
            Some("write request.headers[\"name\"]"),
        ),
        (
            "size(request.query)",
            1,
            6,
            "`request.query` is read by name",
            Some("write request.query[\"name\"]"),
        ),
        (
            "request.headers[1]",
            1,
            17,
            "the name of an entry of `request.headers` must be a string",
            None,
        ),
        (
            "[1].all(element, elemnt > 0)",
            1,
            18,
            "unknown name `elemnt`",
            Some("did you mean `element`?"),
        ),
        (
            "[1].all(x, x > 0) && x > 0",
            1,
            22,
            "unknown name `x`",
            Some(
                "known are request.method, request.path, request.query_string, request.id, request.headers, request.params, request.query, client.address, caller, route, protocol, now.hour, now.minute, now.weekday, now.unix, model, request.size, channel, channel_model, attempt, response.status, response.headers, response.size, usage.input_tokens, usage.output_tokens, usage.total_tokens, event.type; put strings into quotes",
            ),
        ),
    ]);
}

#[test]
fn functions_are_known_and_called_as_they_are_declared() {
    assert_refused(&[
        (
            "model.startWith(\"a\")",
            1,
            7,
            "unknown function `startWith`",
            Some("did you mean `startsWith`?"),
        ),
        (
            "lower(model)",
            1,
            1,
            "unknown function `lower`",
            Some("did you mean `lowerAscii`?"),
        ),
        (
            "contains(model, \"a\")",
            1,
            1,
            "`contains` is called in another way",
            Some("write text.contains(part)"),
        ),
        (
            "model.string()",
            1,
            7,
            "`string` is called in another way",
            Some("write string(x)"),
        ),
        (
            "model.contains()",
            1,
            7,
            "`contains` is called in another way",
            Some("write text.contains(part)"),
        ),
        (
            "min(1, 2, 3)",
            1,
            1,
            "`min` is called in another way",
            Some("write min(a, b)"),
        ),
        (
            "json()",
            1,
            1,
            "`json` is called in another way",
            Some("write json(\"/pointer\")"),
        ),
        (
            "json(\"/a\", 1)",
            1,
            1,
            "`json` is called in another way",
            Some("write json(\"/pointer\")"),
        ),
        (
            "sample()",
            1,
            1,
            "`sample` is called in another way",
            Some("write sample(percent) or sample(percent, key)"),
        ),
        (
            "has(model)",
            1,
            1,
            "`has` is called in another way",
            Some("write has(json(\"/pointer\")) or has(x.member)"),
        ),
        (
            "has(1)",
            1,
            1,
            "`has` is called in another way",
            Some("write has(json(\"/pointer\")) or has(x.member)"),
        ),
        (
            "matches(model)",
            1,
            1,
            "`matches` is called in another way",
            Some("write matches(text, \"regex\") or text.matches(\"regex\")"),
        ),
    ]);
}

#[test]
fn literals_that_mean_more_are_checked() {
    assert_refused(&[
        (
            "json(model)",
            1,
            6,
            "the pointer of json must be a string literal",
            None,
        ),
        ("json(\"a\")", 1, 6, "the pointer must begin with `/`", None),
        (
            "json(\"/a~2\")",
            1,
            6,
            "the pointer has a `~` that is not part of `~0` or `~1`",
            None,
        ),
        (
            "model.matches(model)",
            1,
            15,
            "the regular expression of matches must be a string literal",
            None,
        ),
        (
            "model.matches(\"a(\")",
            1,
            15,
            "invalid regular expression: unclosed group",
            None,
        ),
        (
            "model.matches(\"(?:a{1000}){1000}\")",
            1,
            15,
            "the regular expression is too large",
            Some("shorten counted repetitions, or write * and + instead"),
        ),
        (
            "model.matches(\"[01]*1[01]{40}x\")",
            1,
            15,
            "the regular expression is too large",
            Some("shorten counted repetitions, or write * and + instead"),
        ),
        (
            "in_network(client.address, \"10.0.0.0/33\")",
            1,
            28,
            "the network must be an address or a range such as 10.0.0.0/8",
            None,
        ),
        (
            "in_network(client.address, caller)",
            1,
            28,
            "the network of in_network must be a string literal",
            None,
        ),
        (
            "sample(101)",
            1,
            8,
            "the percentage of sample must be a number from 0 to 100",
            None,
        ),
        (
            "sample(-0.5)",
            1,
            9,
            "the percentage of sample must be a number from 0 to 100",
            None,
        ),
        (
            "sample(\"5\")",
            1,
            8,
            "the percentage of sample must be a number from 0 to 100",
            None,
        ),
    ]);
}

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
        let compiled = crate::Expression::compile_condition(text, crate::Phase::ResponseBody);
        assert!(compiled.is_ok(), "{text}: {compiled:?}");
    }
}

#[test]
fn the_value_of_a_condition_and_of_a_text_is_checked_at_load() {
    use crate::{Expression, Phase};
    for (text, is_condition, is_text) in [
        ("model", false, true),
        ("now.hour", false, true),
        ("[model]", false, false),
        ("null", false, false),
        ("true", true, true),
        (r#"json("/x")"#, true, true),
    ] {
        let condition = Expression::compile_condition(text, Phase::Body);
        assert_eq!(condition.is_ok(), is_condition, "{text}: {condition:?}");
        let value = Expression::compile_text(text, Phase::Body);
        assert_eq!(value.is_ok(), is_text, "{text}: {value:?}");
    }
}
