//! Faults of what is written of a dialect.

/// What is wrong with a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDialect {
    /// JSON pointer within the dialect; empty for the whole.
    pub pointer: String,
    pub reason: String,
    pub hint: Option<String>,
}
