//! The warnings of a configuration.

use crate::problem::ConfigProblem;

/// The warnings of a valid configuration.
#[derive(Debug, Default)]
pub struct ConfigWarnings {
    /// The first warnings in the file.
    pub shown: Vec<ConfigProblem>,
    /// The number of further warnings.
    pub more: usize,
    /// All warnings in the format of `check`, with their lines of the file; empty if there are none.
    pub text: String,
}
