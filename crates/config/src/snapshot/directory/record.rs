//! What sources of callers and the directory pass to each other.

use crate::caller_problem::CallerProblem;
use crate::callers::CallerConfig;
use crate::problem::Severity;
use headgate_core::feature::section::ConfigProblemSink;
use std::fmt;
use std::sync::Arc;

/// A source of callers besides `routes.yaml`. A name that two of them have belongs to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallerSource {
    /// The folder of `caller_sources`.
    Folder,
    /// The state store, which the admin pages write.
    Store,
}

/// A caller as its source has it.
#[derive(Clone, Debug)]
pub struct CallerRecord {
    pub config: Arc<CallerConfig>,
    /// Where it stands, for messages: the path of a file.
    pub place: Arc<str>,
}

/// A change of one caller.
#[derive(Clone, Debug)]
pub enum CallerChange {
    /// Adds the caller, or replaces the one of its name.
    Set(CallerRecord),
    /// The source has the caller in a form that is none. Its last accepted state stays, if it has one, with the keys that
    /// stand in the text.
    Unreadable {
        name: String,
        place: Arc<str>,
        problems: Vec<CallerProblem>,
        /// `None` if the source cannot be read: all keys then stay.
        text: Option<String>,
    },
    /// Removes the caller of this name. Its keys are refused from then on.
    Remove(String),
}

/// A caller that the gateway does not use as its source has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCaller {
    pub source: CallerSource,
    pub name: String,
    pub place: Arc<str>,
    /// At least one error.
    pub problems: Vec<CallerProblem>,
    /// Whether an earlier state of the caller stays in use, or what of it the source still has.
    pub is_partly_used: bool,
}

/// Where a name is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallerNameHolder {
    RoutesFile,
    /// With the place of its record.
    Source(CallerSource, Arc<str>),
}

/// Collects the problems of one caller.
#[derive(Debug, Default)]
pub(crate) struct CallerProblems {
    pub found: Vec<CallerProblem>,
    errors: usize,
}

impl RefusedCaller {
    /// The first error, with its place.
    pub fn first_error(&self) -> String {
        let mut problems = self.problems.iter();
        let error = problems.find(|problem| problem.severity == Severity::Error);
        let Some(error) = error else {
            return self.place.to_string();
        };
        let CallerProblem {
            pointer,
            position,
            reason,
            ..
        } = error;
        match (position, pointer.as_str()) {
            (Some((line, column)), _) => format!("{}:{line}:{column}: {reason}", self.place),
            (None, "") => format!("{}: {reason}", self.place),
            (None, pointer) => format!("{}: {pointer}: {reason}", self.place),
        }
    }

    /// What to do about the first error that has a hint.
    pub fn hint(&self) -> Option<&str> {
        let mut problems = self.problems.iter();
        problems.find_map(|problem| problem.hint.as_deref())
    }
}

impl ConfigProblemSink for CallerProblems {
    fn add_error(&mut self, pointer: &str, reason: String, hint: Option<&str>) {
        self.errors += 1;
        self.found.push(CallerProblem::error(pointer, reason, hint));
    }

    fn add_warning(&mut self, pointer: &str, reason: String, hint: Option<&str>) {
        let problem = CallerProblem::error(pointer, reason, hint);
        self.found.push(CallerProblem {
            severity: Severity::Warning,
            ..problem
        });
    }

    fn errors(&self) -> usize {
        self.errors
    }
}

/// For a sentence: `routes.yaml`, or the place.
impl fmt::Display for CallerNameHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoutesFile => f.write_str("routes.yaml"),
            Self::Source(_, place) => f.write_str(place),
        }
    }
}
