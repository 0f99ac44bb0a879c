//! What is wrong with a caller that stands alone.

use crate::problem::Severity;

/// Something that is wrong with a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerProblem {
    /// The JSON pointer of a value of the caller, such as `/keys/0/not_after`; empty for the whole.
    pub pointer: String,
    /// Line and column in the place of the caller, from 1, if it is a file.
    pub position: Option<(u32, u32)>,
    /// What is wrong, in lower case, without full stop.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<String>,
    pub severity: Severity,
}

impl CallerProblem {
    pub fn error(pointer: &str, reason: impl Into<String>, hint: Option<&str>) -> Self {
        Self {
            pointer: pointer.into(),
            position: None,
            reason: reason.into(),
            hint: hint.map(String::from),
            severity: Severity::Error,
        }
    }
}
