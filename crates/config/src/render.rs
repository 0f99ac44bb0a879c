//! Problems as a person reads them: reason, place, the line of the file, a hint under it.

use super::problem::{ConfigProblem, InvalidConfig, Severity};
use super::source::{MaskedSourceLine, TextSpan};
use std::fmt::{self, Display, Formatter};

impl Display for InvalidConfig {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            self.write_problem(problem, f)?;
            writeln!(f)?;
        }
        if self.more.total() > 0 {
            writeln!(
                f,
                "{} not shown",
                PluralCount(self.more.total(), "more problem")
            )?;
            writeln!(f)?;
        }
        let (errors, warnings) = self.counts();
        match (errors, warnings) {
            (_, 0) => write!(f, "{}", PluralCount(errors, "error"))?,
            (0, _) => write!(f, "{}", PluralCount(warnings, "warning"))?,
            _ => write!(
                f,
                "{} and {}",
                PluralCount(errors, "error"),
                PluralCount(warnings, "warning")
            )?,
        }
        write!(f, " in {}", self.file.display())?;
        match self.is_malformed {
            true => f.write_str("; other problems are reported once the YAML is valid"),
            false => Ok(()),
        }
    }
}

impl InvalidConfig {
    fn write_problem(&self, problem: &ConfigProblem, f: &mut Formatter<'_>) -> fmt::Result {
        let severity = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        writeln!(f, "{severity}: {}", problem.reason)?;
        let gutter = gutter(problem);
        write!(f, "{gutter}--> {}", self.file.display())?;
        if problem.line > 0 {
            write!(f, ":{}:{}", problem.line, problem.column)?;
        }
        if !problem.path.is_empty() {
            write!(f, " ({})", problem.path)?;
        }
        writeln!(f)?;
        let place = TextSpan {
            line: problem.line,
            column: problem.column,
            length: problem.length,
        };
        match self.source.snippet(place) {
            Some(snippet) => write_snippet(problem, &snippet, f),
            None => match &problem.hint {
                Some(hint) => writeln!(f, "{gutter} = {hint}"),
                None => Ok(()),
            },
        }
    }
}

fn write_snippet(
    problem: &ConfigProblem,
    snippet: &MaskedSourceLine,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    let gutter = gutter(problem);
    writeln!(f, "{gutter} |")?;
    writeln!(f, "{} | {}", problem.line, snippet.text)?;
    let indent = " ".repeat(snippet.indent);
    let carets = "^".repeat(snippet.width);
    write!(f, "{gutter} | {indent}{carets}")?;
    match &problem.hint {
        Some(hint) => writeln!(f, " {hint}"),
        None => writeln!(f),
    }
}

/// As much space as the line's number takes.
fn gutter(problem: &ConfigProblem) -> String {
    " ".repeat(problem.line.to_string().len())
}

/// A number of things: `1 error`, `2 errors`.
struct PluralCount(usize, &'static str);

impl Display for PluralCount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::ConfigText;

    fn problem(line: u32, column: u32, hint: Option<&str>) -> ConfigProblem {
        ConfigProblem {
            path: "a.b".into(),
            line,
            column,
            length: 2,
            ..ConfigProblem::for_file("it is wrong", hint.map(str::to_owned))
        }
    }

    #[test]
    fn errors_come_first_and_in_the_order_of_the_file_with_their_lines() {
        let problems = vec![
            problem(1, 1, None).warning(),
            problem(2, 1, None),
            problem(1, 4, Some("do better")),
            problem(1, 4, Some("do better")),
        ];
        let invalid =
            InvalidConfig::new("f.yaml".into(), ConfigText::new("a: no\nb: x\n"), problems);
        let expected = "\
error: it is wrong
 --> f.yaml:1:4 (a.b)
  |
1 | a: no
  |    ^^ do better

error: it is wrong
 --> f.yaml:2:1 (a.b)
  |
2 | b: x
  | ^^

warning: it is wrong
 --> f.yaml:1:1 (a.b)
  |
1 | a: no
  | ^^

2 errors and 1 warning in f.yaml";
        assert_eq!(invalid.to_string(), expected);
    }

    #[test]
    fn a_hundred_problems_are_printed_and_the_others_counted() {
        let warnings = (0..150).map(|column| problem(1, column + 1, None).warning());
        let mut problems: Vec<ConfigProblem> = warnings.collect();
        problems.push(problem(2, 1, None));
        let invalid =
            InvalidConfig::new("f.yaml".into(), ConfigText::new("a: no\nb: x\n"), problems);
        let text = invalid.to_string();
        assert_eq!(text.matches("warning: ").count(), 99);
        assert_eq!(text.matches("error: ").count(), 1);
        let end = "51 more problems not shown\n\n1 error and 150 warnings in f.yaml";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn a_problem_of_the_whole_file_needs_no_line() {
        let problem = ConfigProblem::for_file("no such file", Some("name one".into()));
        let invalid = InvalidConfig::new("f.yaml".into(), ConfigText::default(), vec![problem]);
        let expected = "\
error: no such file
 --> f.yaml
  = name one

1 error in f.yaml";
        assert_eq!(invalid.to_string(), expected);
    }
}
