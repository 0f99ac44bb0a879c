//! Tests of lines and requests of batches.

use super::*;
use crate::json::JsonLimits;
use bytes::Bytes;

#[test]
fn lines_end_with_lf_or_cr_lf_and_the_last_one_may_have_no_end() {
    for (file, expected) in [
        ("", &[][..]),
        ("\n\r\n \t\n", &[]),
        ("a", &[(1, 0, "a")]),
        ("a\n", &[(1, 0, "a")]),
        ("a\r\nbc\r\n", &[(1, 0, "a"), (2, 3, "bc")]),
        ("a\n\n\nb", &[(1, 0, "a"), (4, 4, "b")]),
        // Only before a line feed is a carriage return a part of the end.
        ("a\rb\nc", &[(1, 0, "a\rb"), (2, 4, "c")]),
        ("a\r", &[(1, 0, "a")]),
    ] {
        let file = Bytes::from(file);
        let lines: Vec<FileLine> = file_lines(&file).collect();
        let found: Vec<(usize, usize, &str)> = lines
            .iter()
            .map(|line| {
                let text = std::str::from_utf8(&line.text).unwrap();
                (line.number, line.start, text)
            })
            .collect();
        assert_eq!(found, expected, "{file:?}");
    }
}

#[test]
fn a_request_has_an_id_a_method_a_url_and_a_body() {
    let valid = r#"{"custom_id":"a","method":"POST","url":"/v1/x","body":{"model":"m"}}"#;
    for (from, to, expected) in [
        ("", "", Ok("m")),
        (
            r#""custom_id":"a","#,
            "",
            Err("missing required field `custom_id`"),
        ),
        (r#""a""#, r#""""#, Err("`custom_id` must not be empty")),
        (
            r#""a""#,
            "7",
            Err("`custom_id` must be a string, received a number"),
        ),
        ("POST", "GET", Err("`method` must be `POST`")),
        (
            r#""/v1/x""#,
            "null",
            Err("`url` must be a string, received null"),
        ),
        (
            r#"{"model":"m"}"#,
            "[]",
            Err("`body` must be a JSON object, received an array"),
        ),
        (
            r#"{"model":"m"}"#,
            "{}",
            Err("missing required field `model`"),
        ),
        (
            "\"m\"",
            "1",
            Err("`model` must be a string, received a number"),
        ),
        (
            r#""body":{"#,
            r#""Body":{},"body":{"#,
            Err("unknown field `Body`; field names are case-sensitive, use `body`"),
        ),
        (
            r#"{"model":"#,
            r#"{"MODEL":"x","model":"#,
            Err("unknown field `MODEL`; field names are case-sensitive, use `model`"),
        ),
        (
            valid,
            "[1]",
            Err("the line must be a JSON object, received an array"),
        ),
    ] {
        let line = valid.replacen(from, to, 1);
        let line = JsonDocument::parse(line.into(), &JsonLimits::default()).unwrap();
        let request = BatchRequest::from_line(&line);
        let model = request.and_then(|request| request.model());
        let model = model.map(|(name, _)| name.into_owned());
        let model = model.map_err(|error| error.to_string());
        assert_eq!(
            model.as_deref().map_err(String::as_str),
            expected,
            "{from} {to}"
        );
    }
    let long = valid.replace("\"a\"", &format!("{:?}", "a".repeat(513)));
    let long = JsonDocument::parse(long.into(), &JsonLimits::default()).unwrap();
    let refused = BatchRequest::from_line(&long).unwrap_err();
    assert_eq!(refused, InvalidBatchRequest::LongId(512));
}

#[test]
fn only_a_request_that_wants_a_stream_streams() {
    for (stream, expected) in [
        ("", false),
        (r#","stream":false"#, false),
        (r#","stream":null"#, false),
        (r#","stream":true"#, true),
        (r#","stream":1"#, true),
    ] {
        let entry = format!(r#"{{"custom_id":"a","params":{{"model":"m"{stream}}}}}"#);
        let entry = JsonDocument::parse(entry.into(), &JsonLimits::default()).unwrap();
        let request = BatchRequest::from_entry(&entry).unwrap();
        assert_eq!(request.streams(), expected, "{stream}");
    }
}
