//! Collects the problems of a configuration while a snapshot is built from it.

use super::ConfigWarnings;
use crate::document::ConfigDocument;
use crate::problem::{ConfigProblem, InvalidConfig, OmittedProblemCounts, PROBLEMS_MAX, Severity};
use headgate_core::feature::section::ConfigProblemSink;

/// Collects problems while building, each with its position in the file.
pub(crate) struct ProblemCollector<'a> {
    document: &'a ConfigDocument,
    /// At most [`PROBLEMS_MAX`] of each severity.
    found: Vec<ConfigProblem>,
    more: OmittedProblemCounts,
    /// The number of errors reported; an error in a shared chain counts once for each route that uses it.
    errors: usize,
}

impl ConfigProblemSink for ProblemCollector<'_> {
    fn add_error(&mut self, pointer: &str, reason: String, hint: Option<&str>) {
        self.error(pointer, reason, hint);
    }

    fn add_warning(&mut self, pointer: &str, reason: String, hint: Option<&str>) {
        self.warning(pointer, reason, hint);
    }

    fn errors(&self) -> usize {
        self.errors
    }
}

impl<'a> ProblemCollector<'a> {
    pub(super) fn new(document: &'a ConfigDocument) -> Self {
        Self {
            document,
            found: Vec::new(),
            more: OmittedProblemCounts::default(),
            errors: 0,
        }
    }

    /// Reports an error at the value that `pointer` leads to.
    pub fn error(&mut self, pointer: &str, reason: impl Into<String>, hint: Option<&str>) {
        self.errors += 1;
        self.add(Severity::Error, |document| {
            document.problem(pointer, reason, hint.map(String::from))
        });
    }

    /// Like [`ProblemCollector::error`], but at the key of that value.
    pub fn key_error(&mut self, pointer: &str, reason: impl Into<String>, hint: Option<&str>) {
        self.errors += 1;
        self.add(Severity::Error, |document| {
            document.key_problem(pointer, reason, hint.map(String::from))
        });
    }

    /// The number of errors so far.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Reports a warning: a value that is valid but probably not intended.
    pub fn warning(&mut self, pointer: &str, reason: impl Into<String>, hint: Option<&str>) {
        self.add(Severity::Warning, |document| {
            let problem = document.problem(pointer, reason, hint.map(String::from));
            problem.warning()
        });
    }

    /// Like [`ProblemCollector::warning`], but at the key of that value.
    pub fn key_warning(&mut self, pointer: &str, reason: impl Into<String>, hint: Option<&str>) {
        self.add(Severity::Warning, |document| {
            let problem = document.key_problem(pointer, reason, hint.map(String::from));
            problem.warning()
        });
    }

    fn add(&mut self, severity: Severity, problem: impl FnOnce(&ConfigDocument) -> ConfigProblem) {
        let of_severity = |found: &&ConfigProblem| found.severity == severity;
        if self.found.iter().filter(of_severity).count() == PROBLEMS_MAX {
            return self.more.add(severity, 1);
        }
        let problem = problem(self.document);
        // A chain that several routes use is reported once.
        if !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    /// The warnings; an error if any of the problems is one.
    pub(super) fn into_result(self) -> Result<ConfigWarnings, InvalidConfig> {
        let invalid = self.document.invalid(self.found).with_more(self.more);
        match invalid.counts() {
            (0, 0) => Ok(ConfigWarnings::default()),
            (0, _) => Ok(ConfigWarnings {
                text: invalid.to_string(),
                shown: invalid.problems,
                more: invalid.more.warnings,
            }),
            _ => Err(invalid),
        }
    }
}
