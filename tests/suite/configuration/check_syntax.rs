//! Tests of invalid YAML: the position is that of the mistake, not where the parser failed.

use super::check::check;

#[test]
fn each_mistake_is_shown_where_it_was_made() {
    let mistakes: &[(&str, &[(&str, &str)])] = &[
        (
            "unclosed quote",
            &[
                (
                    "2:11",
                    "callers:\n  - name: \"ann\n    key_sha256: abc\n    models: [\"*\"]\nroutes: []\n",
                ),
                (
                    "2:11",
                    "callers:\n  - name: 'ann\n    key_sha256: abc\n    models: ['*']\nroutes: []\n",
                ),
                ("2:6", "a:\n  b: \"x\n  c: y\nd: z\n"),
                ("1:8", "a: {b: \"x, c: [d]}\ne: f\n"),
                ("1:8", "a: {b: \"x, c: [\"d\"]}\ne: f\n"),
                ("1:4", "a: \"x\r\nb: c\r\n"),
                ("3:4", "# it's\na: it's\nb: 'x\nc: d\n"),
            ],
        ),
        (
            "tab in the indentation",
            &[
                ("2:1", "a:\n\tb: c\n"),
                ("3:1", "a:\n  b: c\n\td: e\n"),
                ("3:3", "a:\n  - b: c\n  \t  d: e\n"),
                ("3:1", "a:\n  b: |\n\tc\n"),
            ],
        ),
        (
            "unclosed `[`",
            &[
                ("2:6", "a:\n  b: [x\n  c: y\n"),
                ("2:6", "a:\n  b: [\n    x,\n    y\n  c: z\n"),
            ],
        ),
        (
            "unclosed `{`",
            &[("2:6", "a:\n  b: {x: y\n  c: [z]\nd: e\n")],
        ),
        (
            "close it with `]` at its end",
            &[("1:4", "a: [\n"), ("2:6", "a: x\nb:   [c, d\n")],
        ),
        ("close it with `}` at its end", &[("1:4", "a: {b: c\n")]),
        ("misplaced bracket", &[("1:7", "a: [b]]\n")]),
        (
            "close each `[` with `]` and each `{` with `}`",
            &[("1:4", "a: [b}\n")],
        ),
        (
            "unexpected indentation: the key above already has a value",
            &[("3:4", "a:\n  b: c\n   d: e\nf: g\n")],
        ),
        (
            "indentation of 3 spaces matches no line above",
            &[("3:4", "a:\n    b: c\n   d: e\n")],
        ),
        (
            "missing colon after this key",
            &[("2:3", "a:\n  b x\n  c: d\n"), ("1:1", "a\n  b: c\n")],
        ),
        (
            "missing space after the colon",
            &[("2:4", "a:\n  b:x\n  c: d\n")],
        ),
        ("unquoted value with `: `", &[("2:7", "a:\n  b: c: d\n")]),
        (
            "missing space after `-`",
            &[("2:3", "a:\n  -b: c\n  - b: d\n")],
        ),
        (
            "list item among the keys of a mapping",
            &[("3:3", "a:\n  b: c\n  - d: e\n")],
        ),
        (
            "duplicate key `a` in one mapping",
            &[("3:1", "a: 1\nb: 2\na: 3\n")],
        ),
        ("put it in quotes", &[("1:5", "a: [*]\n")]),
        ("put the value in quotes", &[("1:4", "a: @b\n")]),
        ("unquoted variable", &[("1:8", "a: {b: ${KEY}}\n")]),
        (
            "expected one YAML document, found several",
            &[("3:1", "a: 1\n...\nb: 2\n")],
        ),
    ];
    for (reason, places) in mistakes {
        for (place, text) in *places {
            shows(text, place, reason);
        }
    }
}

#[track_caller]
fn shows(text: &str, place: &str, reason: &str) {
    let output = check(text);
    let place = format!("--> routes.yaml:{place}\n");
    for words in [place.as_str(), reason] {
        assert!(
            output.stderr.contains(words),
            "{words} in:\n{}of\n{text}",
            output.stderr
        );
    }
    let summary = "\n1 error in routes.yaml; other problems are reported once the YAML is valid\n";
    assert!(output.stderr.ends_with(summary), "{}", output.stderr);
}
