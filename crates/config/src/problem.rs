//! What is wrong with a configuration: each problem with its place, all of them together.

use super::source::ConfigText;
use serde::Serialize;
use std::path::PathBuf;

/// One thing that is wrong, and where. Neither its reason nor its hint ever holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigProblem {
    /// Where in the structure, as `routes[2].match`; empty for the whole file.
    pub path: String,
    /// Line, from 1; 0 if the file could not be read at all.
    pub line: u32,
    /// Column in characters, from 1; 0 if the file could not be read at all.
    pub column: u32,
    /// Characters to underline from there.
    pub length: u32,
    /// What is wrong, in lower case, without full stop.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<String>,
    pub severity: Severity,
}

/// Problems of a file that are kept and printed; of the others there is a count.
pub const PROBLEMS_MAX: usize = 100;

/// Problems that are not printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OmittedProblemCounts {
    pub errors: usize,
    pub warnings: usize,
}

/// Whether a problem keeps a configuration from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
}

/// A configuration file with everything that is wrong with it.
///
/// `Display` shows every problem with its line of the file, secrets masked.
#[derive(Clone, Debug)]
pub struct InvalidConfig {
    /// The file as its reader named it.
    pub file: PathBuf,
    /// The text of the file, empty if it could not be read.
    pub source: Box<ConfigText>,
    /// What is wrong: the errors in the order of the file, then the warnings; at most [`PROBLEMS_MAX`].
    pub problems: Vec<ConfigProblem>,
    /// What is wrong besides.
    pub more: OmittedProblemCounts,
    /// Whether the text is not YAML, so that nothing else of it could be checked.
    pub is_malformed: bool,
    /// Other files that were read, or wanted: mending one of them may mend this.
    pub files: Vec<PathBuf>,
}

impl ConfigProblem {
    /// A problem of the whole file, without a place in it.
    pub fn for_file(reason: impl Into<String>, hint: Option<String>) -> Self {
        Self {
            path: String::new(),
            line: 0,
            column: 0,
            length: 0,
            reason: reason.into(),
            hint,
            severity: Severity::Error,
        }
    }

    /// Whether a person has to do the same thing at the same place.
    fn is_same(&self, other: &Self) -> bool {
        (self.line, self.column) == (other.line, other.column)
            && self.reason == other.reason
            && self.hint == other.hint
    }

    /// The same problem as a mere warning.
    pub fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }
}

impl InvalidConfig {
    pub fn new(file: PathBuf, source: ConfigText, mut problems: Vec<ConfigProblem>) -> Self {
        problems.sort_by_key(|problem| (problem.severity, problem.line, problem.column));
        // What an anchor names is wrong once, however many aliases repeat it.
        problems.dedup_by(|next, kept| next.line > 0 && next.is_same(kept));
        let mut more = OmittedProblemCounts::default();
        for left_out in problems.drain(PROBLEMS_MAX.min(problems.len())..) {
            more.add(left_out.severity, 1);
        }
        Self {
            file,
            source: Box::new(source),
            problems,
            more,
            is_malformed: false,
            files: Vec::new(),
        }
    }

    /// Counts problems that were not kept.
    pub fn with_more(mut self, more: OmittedProblemCounts) -> Self {
        self.more.errors += more.errors;
        self.more.warnings += more.warnings;
        self
    }

    /// How many problems are errors, and how many are warnings.
    pub fn counts(&self) -> (usize, usize) {
        let is_error = |problem: &&ConfigProblem| problem.severity == Severity::Error;
        let errors = self.problems.iter().filter(is_error).count();
        let warnings = self.problems.len() - errors;
        (errors + self.more.errors, warnings + self.more.warnings)
    }
}

impl OmittedProblemCounts {
    /// Counts so many problems that are not kept.
    pub fn add(&mut self, severity: Severity, count: usize) {
        match severity {
            Severity::Error => self.errors += count,
            Severity::Warning => self.warnings += count,
        }
    }

    pub fn total(self) -> usize {
        self.errors + self.warnings
    }
}

impl std::error::Error for InvalidConfig {}
