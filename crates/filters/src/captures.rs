//! Templates with capture groups of a regular expression, checked when the configuration is read.

use headgate_core::filter::descriptor::InvalidSettings;
use headgate_protocol::nearest::nearest;
use regex::Regex;

/// Compiles a regular expression.
///
/// # Errors
/// What is wrong with it, in one line, at which character, and what to do.
pub fn pattern(text: &str) -> Result<Regex, InvalidSettings> {
    Regex::new(text).map_err(|error| {
        let error = error.to_string();
        let last = error.lines().last().unwrap_or_default();
        let reason = last.trim().trim_start_matches("error: ");
        let place = character(&error).map_or(String::new(), |at| format!(", at character {at}"));
        InvalidSettings::new(format!("invalid regular expression: {reason}{place}"))
            .hint(advice(reason))
    })
}

/// The character of a pattern of one line that the library's message has a caret under, from 1.
fn character(message: &str) -> Option<usize> {
    const MARGIN: usize = 4;
    let is_caret = |line: &&str| line.contains('^') && line.trim().chars().all(|c| c == '^');
    // The pattern itself may be a caret: the line with the mark is the one after it.
    let mark = message.lines().skip(2).find(is_caret)?;
    (mark.find('^')? + 1).checked_sub(MARGIN)
}

/// What to do about a message of the library.
fn advice(reason: &str) -> &'static str {
    match reason {
        "unclosed group" => "close it with `)`, or write `\\(` for the character itself",
        "unopened group" => "remove the `)`, or write `\\)` for the character itself",
        "unclosed character class" => "close it with `]`, or write `\\[` for the character itself",
        reason if reason.starts_with("repetition operator missing") => {
            "put an expression before it, or a backslash for the character itself"
        }
        reason if reason.starts_with("look-around") => {
            "look-ahead and look-behind are not supported; match the text and use a capture group"
        }
        reason if reason.starts_with("backreferences") => {
            "write the expression again in place of the backreference"
        }
        _ => "put a backslash before characters that stand for themselves",
    }
}

/// Refuses a template that names a capture which `pattern` does not have: it would always be empty.
///
/// `key` is the setting that holds the template.
///
/// # Errors
/// The template names an undefined capture group; the hint lists the defined ones.
pub fn check(pattern: &Regex, template: &str, key: &str) -> Result<(), InvalidSettings> {
    for capture in mentioned(template) {
        let known = match capture.parse::<usize>() {
            Ok(number) => number < pattern.captures_len(),
            Err(_) => named(pattern).any(|name| name == capture),
        };
        if !known {
            let reason = format!(
                "`{key}` refers to capture group `{capture}`, which `match` does not define"
            );
            return Err(InvalidSettings::new(reason).hint(hint(pattern, capture)));
        }
    }
    Ok(())
}

/// The template with each capture group replaced by `x`.
pub fn fixed_text(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let length = match (after.starts_with('$'), after.strip_prefix('{')) {
            (true, _) => 1,
            (false, Some(inner)) => inner.find('}').map_or(after.len(), |end| end + 2),
            (false, None) => capture_length(after),
        };
        text.push('x');
        rest = &after[length..];
    }
    text + rest
}

/// The capture groups that a template names: `$1`, `$name`, `${name}`. `$$` is a literal `$`.
fn mentioned(template: &str) -> Vec<&str> {
    let mut captures = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        let after = &rest[at + 1..];
        if let Some(remainder) = after.strip_prefix('$') {
            rest = remainder;
            continue;
        }
        let name = match after.strip_prefix('{') {
            Some(inner) => inner.split('}').next().unwrap_or_default(),
            None => &after[..capture_length(after)],
        };
        captures.extend((!name.is_empty()).then_some(name));
        rest = after;
    }
    captures
}

fn capture_length(text: &str) -> usize {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.find(|character| !is_part(character))
        .unwrap_or(text.len())
}

fn hint(pattern: &Regex, capture: &str) -> String {
    // The template syntax reads `$1x` as group `1x`. Longest prefixes are tried first.
    let prefixes = (1..capture.len()).rev().map(|end| capture.split_at(end));
    let run_on = prefixes.into_iter().find(|(name, _)| match name.parse() {
        Ok(number) => (1..pattern.captures_len()).contains(&number),
        Err(_) => named(pattern).any(|known| known == *name),
    });
    if let Some((name, text)) = run_on {
        // `${…}` in the configuration file is a variable, so the template needs a second dollar sign.
        return format!(
            "write `$${{{name}}}{text}` for capture group `{name}` followed by `{text}`"
        );
    }
    if let Some(meant) = nearest(capture, named(pattern), 1).first() {
        return format!("did you mean `${meant}`?");
    }
    let numbers = (0..pattern.captures_len()).map(|number| format!("`${number}`"));
    let names = named(pattern).map(|name| format!("`${name}`"));
    let known: Vec<String> = numbers.chain(names).take(16).collect();
    format!(
        "use one that `match` defines ({}), or add a group in `(` `)` to `match`",
        known.join(", ")
    )
}

fn named(pattern: &Regex) -> impl Iterator<Item = &str> {
    pattern.capture_names().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(expression: &str, template: &str) -> Option<String> {
        let pattern = pattern(expression).unwrap();
        let invalid = check(&pattern, template, "value").err()?;
        Some(invalid.hint.unwrap())
    }

    #[test]
    fn a_capture_that_is_none_lists_those_that_are() {
        let expression = "^/(?<version>v[0-9])/(.*)";
        for (template, hint) in [
            ("$verson", "did you mean `$version`?"),
            ("${Version}", "did you mean `$version`?"),
            (
                "$1x",
                "write `$${1}x` for capture group `1` followed by `x`",
            ),
            (
                "$version_2",
                "write `$${version}_2` for capture group `version` followed by `_2`",
            ),
            (
                "$7",
                "use one that `match` defines (`$0`, `$1`, `$2`, `$version`), or add a group in `(` `)` to `match`",
            ),
            (
                "$something_else",
                "use one that `match` defines (`$0`, `$1`, `$2`, `$version`), or add a group in `(` `)` to `match`",
            ),
        ] {
            assert_eq!(
                refused(expression, template).as_deref(),
                Some(hint),
                "{template}"
            );
        }
        for template in [
            "$version",
            "${version}x",
            "$1/$2",
            "$0",
            "$$1x",
            "5$",
            "plain",
            "$${x}",
        ] {
            assert_eq!(refused(expression, template), None, "{template}");
        }
    }

    #[test]
    fn the_fixed_text_of_a_template_has_no_captures() {
        for (template, fixed) in [
            ("/a/$1/b", "/a/x/b"),
            ("/${n?}?x=$1", "/x?x=x"),
            ("/$$?", "/x?"),
            ("/a", "/a"),
        ] {
            assert_eq!(fixed_text(template), fixed, "{template}");
        }
    }

    #[test]
    fn an_invalid_expression_has_its_place_and_what_to_do() {
        for (expression, reason, hint) in [
            (
                "^/v1/(chat",
                "unclosed group, at character 6",
                "close it with `)`",
            ),
            ("^", "", ""),
            ("a)b", "unopened group, at character 2", "remove the `)`"),
            (
                "[a",
                "unclosed character class, at character 1",
                "close it with `]`",
            ),
            (
                "*a",
                "repetition operator missing expression, at character 1",
                "put an expression",
            ),
            ("é(", "unclosed group, at character 2", "close it"),
            ("(?=a)", "look-around", "not supported"),
            ("^(", "unclosed group, at character 2", "close it"),
        ] {
            match pattern(expression) {
                Ok(_) => assert!(reason.is_empty(), "{expression}"),
                Err(invalid) => {
                    let start = format!("invalid regular expression: {reason}");
                    assert!(invalid.reason.starts_with(&start), "{}", invalid.reason);
                    let given = invalid.hint.unwrap();
                    assert!(given.starts_with(hint) || given.contains(hint), "{given}");
                }
            }
        }
    }

    #[test]
    fn an_invalid_expression_is_explained_in_one_line() {
        let reason = pattern("a\nb(").unwrap_err().reason;
        assert!(
            reason.starts_with("invalid regular expression: "),
            "{reason}"
        );
        assert!(!reason.contains('\n'), "{reason}");
    }
}
