//! What a person has to change where the YAML parser could not go on, and where it is.

use super::document::PointerLocatedProblem;
use super::layout::{YamlDelimiters, YamlLine, lines};
use std::ops::Range;

/// The mistake behind a message of the parser at these bytes; nothing where its place and words will do.
pub fn find(text: &str, at: Range<usize>, message: &str) -> Option<PointerLocatedProblem> {
    let broken = SyntaxErrorContext {
        text,
        at: at.clone(),
        message,
    };
    broken
        .tab()
        .or_else(|| broken.bare_variable())
        .or_else(|| broken.quote())
        .or_else(|| broken.bracket())
        .or_else(|| broken.misplaced_colon())
        .or_else(|| broken.indentation())
        .or_else(|| broken.special_character())
}

struct SyntaxErrorContext<'text> {
    text: &'text str,
    /// Where the parser stopped.
    at: Range<usize>,
    message: &'text str,
}

impl<'text> SyntaxErrorContext<'text> {
    /// A tab in the indentation, on the line that the parser names or the one after.
    fn tab(&self) -> Option<PointerLocatedProblem> {
        let line_start = self.line_start(self.at.start);
        let mut near = lines(&self.text[line_start..]).take(2);
        let tabbed = near.find(|line| line.has_tab);
        if tabbed.is_none() && !self.message.contains("tab") {
            return None;
        }
        let start = line_start + tabbed.map_or(0, |line| line.start);
        let tab = start + self.text[start..].find('\t')?;
        let hint = "indent with spaces; YAML does not allow tabs here";
        Some(finding(tab..tab + 1, "tab in the indentation", hint))
    }

    fn bare_variable(&self) -> Option<PointerLocatedProblem> {
        let line_start = self.line_start(self.at.start);
        let line = self.text[line_start..].lines().next()?;
        let variable = line.find("${")?;
        let before = &line[..variable];
        let is_bare = before.contains(['{', '[']) && !before.ends_with(['"', '\'']);
        let end = line[variable..].find('}')? + variable;
        let name = line[variable + 2..end].split(":-").next()?;
        is_bare.then(|| {
            let hint = format!("inside {{ }} and [ ] put the variable in quotes: \"${{{name}}}\"");
            let start = line_start + variable;
            finding(start..line_start + end + 1, "unquoted variable", &hint)
        })
    }

    /// A quoted scalar that goes on over lines, in which or right after which the parser stopped.
    fn quote(&self) -> Option<PointerLocatedProblem> {
        let layout = YamlDelimiters::parse(self.text, self.at.start);
        let quoted = layout.quoted.iter().rev().find(|quoted| {
            let between = self.text.get(quoted.range.end..self.at.start);
            let follows_directly = between.is_some_and(|between| !between.contains('\n'));
            quoted.range.contains(&self.at.start) || follows_directly
        })?;
        let inner = self.text.get(quoted.range.clone())?;
        let ran_on = inner.contains('\n') || !quoted.is_closed;
        let is_glued = quoted.range.end == self.at.start
            && [", ", ": ", "[", "{"]
                .iter()
                .any(|sign| inner.contains(sign));
        if !ran_on && !is_glued {
            return None;
        }
        let start = quoted.range.start;
        let quote = &self.text[start..=start];
        let hint = format!("close it with {quote} on this line");
        Some(finding(start..start + 1, "unclosed quote", &hint))
    }

    /// A bracket that was open when a line of the block around it followed, or when the file ended.
    fn bracket(&self) -> Option<PointerLocatedProblem> {
        let layout = YamlDelimiters::parse(self.text, self.at.end);
        let is_bracket = self.text[self.at.start..].starts_with(['[', '{']);
        let at_end = self.message.starts_with("unclosed bracket") && is_bracket;
        let (start, until) = match layout.unclosed_brackets.last() {
            Some(start) => (*start, "before the next key"),
            None if at_end => (self.at.start, "at its end"),
            None => return None,
        };
        let open = &self.text[start..=start];
        let close = if open == "[" { "]" } else { "}" };
        let reason = format!("unclosed `{open}`");
        let hint = format!("close it with `{close}` {until}");
        Some(finding(start..start + 1, &reason, &hint))
    }

    /// `: ` where no key can end: twice in a line, or after a line that lacks its own.
    fn misplaced_colon(&self) -> Option<PointerLocatedProblem> {
        if !self.message.starts_with("mapping values are not allowed") {
            return None;
        }
        let (above, line) = self.lines_at()?;
        let before = self.at.start.checked_sub(line.start + line.indent)?;
        if line.key_end().is_some_and(|end| end <= before) {
            let hint = "put the value in quotes, since it contains `: `";
            return Some(finding(self.at.clone(), "unquoted value with `: `", hint));
        }
        let above = above?;
        let start = above.start + above.indent;
        let word = above.content.trim_start_matches("- ");
        let word_start = start + above.content.len() - word.len();
        let colon = word.find(':').filter(|at| !word[..*at].contains(' '));
        match (above.key_end(), colon) {
            (Some(_), _) if line.indent > above.indent => {
                let indent = above.indent + above.content.len() - word.len();
                let hint = format!("indent it with {indent} spaces, like the key above");
                let start = line.start + line.indent;
                Some(finding(
                    start..start + first_word(line.content),
                    "unexpected indentation: the key above already has a value",
                    &hint,
                ))
            }
            (Some(_), _) => None,
            (None, Some(colon)) => {
                let at = word_start + colon;
                let hint = "write `key: value`";
                Some(finding(at..at + 1, "missing space after the colon", hint))
            }
            (None, None) => Some(finding(
                word_start..word_start + first_word(word),
                "missing colon after this key",
                "write `key: value`",
            )),
        }
    }

    /// A line whose indentation fits none above it, or an item among keys.
    fn indentation(&self) -> Option<PointerLocatedProblem> {
        if !self.message.contains("did not find expected key")
            && !self.message.contains("expected '-' indicator")
        {
            return None;
        }
        let (above, line) = self.lines_at()?;
        let above = above?;
        let start = line.start + line.indent;
        let range = start..start + first_word(line.content);
        let glued = above.content.strip_prefix('-');
        if glued.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic())) {
            let at = above.start + above.indent;
            let hint = "write `- key: value`";
            return Some(finding(at..at + 1, "missing space after `-`", hint));
        }
        if line.content.starts_with("- ") {
            let hint = "give each key a value, or make all of them items with `- `";
            return Some(finding(
                range,
                "list item among the keys of a mapping",
                hint,
            ));
        }
        let levels = self.levels_above(line.start, line.indent);
        let reason = format!(
            "indentation of {} matches no line above",
            spaces(line.indent)
        );
        let hint = format!("indent it with {levels}, like a key above");
        Some(finding(range, &reason, &hint))
    }

    /// The two levels of indentation around `indent` that lines above have.
    fn levels_above(&self, until: usize, indent: usize) -> String {
        let above = || lines(&self.text[..until]).map(|line| line.indent);
        let smaller = above().filter(|level| *level < indent).max();
        let larger = above().filter(|level| *level > indent).min();
        match (smaller, larger) {
            (Some(smaller), Some(larger)) => format!("{smaller} or {}", spaces(larger)),
            (Some(level), None) | (None, Some(level)) => spaces(level),
            (None, None) => "as many spaces".into(),
        }
    }

    /// A value that begins with a character of YAML's own.
    fn special_character(&self) -> Option<PointerLocatedProblem> {
        let hint = match self.message {
            message if message.contains("anchor or alias") => {
                "put it in quotes: unquoted, `*` and `&` begin an alias or anchor"
            }
            message if message.starts_with("unexpected character") => {
                "put the value in quotes: its first character is reserved in YAML"
            }
            message if message.contains("unknown escape character") => {
                "write `\\\\` for a backslash, or put the text in single quotes"
            }
            message if message.contains("expected ',' or") => {
                "add the missing comma here, or the missing bracket before it"
            }
            message if message.starts_with("mismatched bracket") => {
                "close each `[` with `]` and each `{` with `}`"
            }
            message if message.starts_with("misplaced bracket") => {
                "remove it, or add the opening bracket"
            }
            _ => return None,
        };
        let reason = format!("invalid YAML: {}", self.message);
        Some(finding(self.at.clone(), &reason, hint))
    }

    /// The line at which the parser stopped, and the one above it.
    fn lines_at(&self) -> Option<(Option<YamlLine<'text>>, YamlLine<'text>)> {
        let line_start = self.line_start(self.at.start);
        let mut line = lines(&self.text[line_start..]).next()?;
        line.start += line_start;
        let above = lines(&self.text[..line_start]).last();
        Some((above, line))
    }

    fn line_start(&self, at: usize) -> usize {
        let before = &self.text[..self.text.floor_char_boundary(at)];
        before.rfind('\n').map_or(0, |newline| newline + 1)
    }
}

fn finding(range: Range<usize>, reason: &str, hint: &str) -> PointerLocatedProblem {
    PointerLocatedProblem::bytes(range, reason, Some(hint.into()))
}

fn first_word(content: &str) -> usize {
    content
        .find(|c: char| c.is_whitespace() || c == ':')
        .unwrap_or(content.len())
        .max(1)
}

fn spaces(count: usize) -> String {
    match count {
        1 => "1 space".into(),
        count => format!("{count} spaces"),
    }
}
