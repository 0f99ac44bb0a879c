//! YAML text to a located tree, and the parser's errors in our words.

use super::document::PointerLocatedProblem;
use super::layout::{YamlLine, lines};
use super::node::YamlNode;
use super::source::ConfigText;
use super::syntax_hint;
use serde_saphyr::{Error, Options};

/// Values that aliases may add to a file; a few nested aliases can name billions.
const ALIASED_EVENTS: usize = 100_000;
/// Values of a file, aliases aside.
const EVENTS: usize = 1_000_000;
/// Collections within each other; the parser recurses, on a stack that may be a small one.
const DEPTH: usize = 24;

/// Parses the text, or says what is wrong and where.
pub fn read(source: &ConfigText) -> Result<YamlNode, PointerLocatedProblem> {
    serde_saphyr::from_str_with_options(source.text(), options())
        .map_err(|error| finding(error.without_snippet(), source))
}

fn options() -> Options {
    serde_saphyr::options! {
        // `off` and `no` are words here, as in YAML 1.2.
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_events: EVENTS,
            max_depth: DEPTH,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: ALIASED_EVENTS,
        },
    }
}

fn finding(error: &Error, source: &ConfigText) -> PointerLocatedProblem {
    let place = error.location();
    let line = place.map_or(1, |place| place.line() as usize);
    let column = place.map_or(1, |place| place.column() as usize);
    let range = source.word_at(line, column);
    if let Error::ExternalMessage { msg, .. } = error
        && let Some(finding) = syntax_hint::find(source.text(), range.clone(), msg)
    {
        return finding;
    }
    let first = match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            find_first_line(key, range.start, source.text())
        }
        _ => None,
    };
    let first = first.map_or(String::new(), |line| format!(", first in line {line}"));
    PointerLocatedProblem::bytes(range, reason(error) + &first, hint(error))
}

/// The line in which a key of a block mapping was written for the first time; `at` is where it begins again.
fn find_first_line(key: &str, at: usize, text: &str) -> Option<usize> {
    let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = at - line_start;
    let before: Vec<YamlLine<'_>> = lines(&text[..line_start]).collect();
    for line in before.iter().rev() {
        // The first key of a list item begins after its `- `.
        let written = line.content.trim_start_matches("- ");
        let key_indent = line.indent + line.content.len() - written.len();
        let is_key = written
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with(':'));
        if key_indent == indent && is_key {
            return Some(text[..line.start].matches('\n').count() + 1);
        }
        if line.indent < indent {
            return None;
        }
    }
    None
}

/// The parser's message in our words. Messages that may quote a value are not repeated.
fn reason(error: &Error) -> String {
    match error {
        Error::AliasError { error, .. } => reason(error),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("duplicate key `{key}` in one mapping")
        }
        Error::DuplicateMappingKey { .. } => "duplicate key in one mapping".into(),
        Error::MultipleDocuments { .. } => "expected one YAML document, found several".into(),
        Error::Eof { .. } => "unexpected end of file".into(),
        Error::UnknownAnchor { .. } => "undefined alias: no line above defines this anchor".into(),
        Error::MergeValueNotMapOrSeqOfMaps { .. } => "`<<` must refer to a mapping".into(),
        Error::UnsupportedTag { .. } => "YAML tags are not supported".into(),
        Error::NonFiniteFloat { .. } => "expected a finite number".into(),
        Error::Unexpected { .. } => "a key must be plain text".into(),
        Error::AliasReplayLimitExceeded { .. } => {
            format!("aliases repeat more than {ALIASED_EVENTS} values")
        }
        Error::Budget { .. } => {
            format!("more than {EVENTS} values, or deeper than {DEPTH} levels")
        }
        Error::ExternalMessage { msg, .. } => format!("invalid YAML: {msg}"),
        _ => "invalid YAML".into(),
    }
}

fn hint(error: &Error) -> Option<String> {
    let hint = match error {
        Error::AliasError { error, .. } => return hint(error),
        Error::DuplicateMappingKey { .. } => "keep one of the two",
        Error::MultipleDocuments { .. } => "remove the `---` or `...` above",
        Error::UnknownAnchor { .. } => "define the anchor above, as `&name` before a value",
        Error::UnsupportedTag { .. } => "remove the word that starts with `!`",
        _ => return None,
    };
    Some(hint.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (String, Option<String>) {
        match read(&ConfigText::new(text)) {
            Ok(_) => panic!("{text:?} was read"),
            Err(finding) => (finding.reason, finding.hint),
        }
    }

    #[test]
    fn yaml_errors_are_reported_in_plain_words() {
        let cases = [
            (
                "a: 1\na: 2\n",
                "duplicate key `a` in one mapping, first in line 1",
            ),
            (
                "a: 1\n---\nb: 2\n",
                "expected one YAML document, found several",
            ),
            (
                "a: *nope\n",
                "undefined alias: no line above defines this anchor",
            ),
            ("<<: 3\n", "`<<` must refer to a mapping"),
            ("a: !foo x\n", "YAML tags are not supported"),
            ("a: .nan\n", "expected a finite number"),
            ("? [a]\n: b\n", "a key must be plain text"),
            ("a: !!int sk-123\n", "invalid YAML"),
        ];
        for (text, reason) in cases {
            assert_eq!(refused(text).0, reason, "{text:?}");
        }
    }

    #[test]
    fn the_first_of_two_equal_keys_is_found_in_its_own_mapping() {
        let duplicate = |text: &str| refused(text).0;
        for (text, line) in [
            ("a:\n  b: 1\nc:\n  b: 1\n  d: 2\n  b: 3\n", 4),
            ("a:\n  - b: 1\n  # comment\n    c: 2\n    b: 3\n", 2),
            ("b:\n  a: 1\n\nc: 2\nb: 3\n", 1),
        ] {
            let end = format!(", first in line {line}");
            assert!(duplicate(text).ends_with(&end), "{}", duplicate(text));
        }
        assert_eq!(
            duplicate("a: {b: 1, b: 2}\n"),
            "duplicate key `b` in one mapping"
        );
    }

    #[test]
    fn tabs_and_bare_variables_get_a_hint() {
        let (_, tab) = refused("a:\n\tb: 1\n");
        assert_eq!(
            tab.unwrap(),
            "indent with spaces; YAML does not allow tabs here"
        );
        let (_, variable) = refused("a: {bearer: ${KEY:-x}}\n");
        let expected = "inside { } and [ ] put the variable in quotes: \"${KEY}\"";
        assert_eq!(variable.unwrap(), expected);
    }

    #[test]
    fn an_alias_bomb_is_refused_early() {
        let mut bomb = String::from("l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let alias = format!("*l{}", level - 1);
            let list = vec![alias; 10].join(", ");
            bomb.push_str(&format!("l{level}: &l{level} [{list}]\n"));
        }
        let reason = refused(&bomb).0;
        assert!(
            reason.starts_with("aliases repeat") || reason.starts_with("more than"),
            "{reason}"
        );
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |levels| format!("{}x{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(&ConfigText::new(&nested(DEPTH))).is_ok());
        assert!(refused(&nested(DEPTH + 1)).0.starts_with("more than"));
    }
}
