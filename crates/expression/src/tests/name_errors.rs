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
