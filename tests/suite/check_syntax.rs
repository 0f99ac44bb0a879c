//! YAML that cannot be read: the place is that of the mistake, not where the parser could not go on.

use crate::check::check;

#[test]
fn each_mistake_is_shown_where_it_was_made() {
    for (text, place, reason) in [
        (
            "callers:\n  - name: \"ann\n    key_sha256: abc\n    models: [\"*\"]\nroutes: []\n",
            "2:11",
            "this quote is not closed",
        ),
        (
            "callers:\n  - name: 'ann\n    key_sha256: abc\n    models: ['*']\nroutes: []\n",
            "2:11",
            "this quote is not closed",
        ),
        (
            "a:\n  b: \"x\n  c: y\nd: z\n",
            "2:6",
            "this quote is not closed",
        ),
        (
            "a: {b: \"x, c: [d]}\ne: f\n",
            "1:8",
            "this quote is not closed",
        ),
        (
            "a: {b: \"x, c: [\"d\"]}\ne: f\n",
            "1:8",
            "this quote is not closed",
        ),
        ("a: \"x\r\nb: c\r\n", "1:4", "this quote is not closed"),
        (
            "# it's\na: it's\nb: 'x\nc: d\n",
            "3:4",
            "this quote is not closed",
        ),
        ("a:\n\tb: c\n", "2:1", "a tab where spaces belong"),
        ("a:\n  b: c\n\td: e\n", "3:1", "a tab where spaces belong"),
        (
            "a:\n  - b: c\n  \t  d: e\n",
            "3:3",
            "a tab where spaces belong",
        ),
        ("a:\n  b: |\n\tc\n", "3:1", "a tab where spaces belong"),
        ("a:\n  b: [x\n  c: y\n", "2:6", "`[` is not closed"),
        (
            "a:\n  b: {x: y\n  c: [z]\nd: e\n",
            "2:6",
            "`{` is not closed",
        ),
        (
            "a:\n  b: [\n    x,\n    y\n  c: z\n",
            "2:6",
            "`[` is not closed",
        ),
        ("a: [\n", "1:4", "unclosed bracket '['"),
        ("a: [b]]\n", "1:7", "misplaced bracket"),
        ("a: [b}\n", "1:4", "mismatched bracket '[' closed by '}'"),
        (
            "a:\n  b: c\n   d: e\nf: g\n",
            "3:4",
            "indented deeper than the key above",
        ),
        (
            "a:\n    b: c\n   d: e\n",
            "3:4",
            "3 spaces fit no level above",
        ),
        (
            "a:\n  b x\n  c: d\n",
            "2:3",
            "a colon is missing behind this key",
        ),
        ("a\n  b: c\n", "1:1", "a colon is missing behind this key"),
        (
            "a:\n  b:x\n  c: d\n",
            "2:4",
            "a space is missing behind the colon",
        ),
        ("a:\n  b: c: d\n", "2:7", "a second `: ` in one value"),
        (
            "a:\n  -b: c\n  - b: d\n",
            "2:3",
            "a space is missing behind `-`",
        ),
        (
            "a:\n  b: c\n  - d: e\n",
            "3:3",
            "a list item among the keys of a mapping",
        ),
        (
            "a: 1\nb: 2\na: 3\n",
            "3:1",
            "key `a` is written twice in one mapping",
        ),
        ("a: [*]\n", "1:5", "put it in quotes"),
        ("a: @b\n", "1:4", "put the value in quotes"),
        ("a: {b: ${KEY}}\n", "1:8", "a variable without quotes"),
        ("a: 1\n...\nb: 2\n", "3:1", "more than one YAML document"),
    ] {
        let said = check(text);
        let place = format!("--> routes.yaml:{place}\n");
        for words in [&*place, reason] {
            assert!(
                said.stderr.contains(words),
                "{words} in:\n{}of\n{text}",
                said.stderr
            );
        }
        assert!(
            said.stderr.ends_with("\n1 error in routes.yaml\n"),
            "{}",
            said.stderr
        );
    }
}
