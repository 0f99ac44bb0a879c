//! What is wrong with an expression, at load and at run time.

use std::borrow::Cow;
use std::fmt;

use thiserror::Error;

/// Why an expression is refused at load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// The line within the text, from 1.
    pub line: usize,
    /// The column within the line in characters, from 1.
    pub column: usize,
    /// What is wrong, in one line without a full stop.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// Why an evaluation has no value. It names variables, functions and types, never values of the exchange.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct EvaluationError {
    /// What is wrong, in one line without a full stop.
    pub message: String,
}

/// An error inside an evaluation.
#[derive(Debug)]
pub(crate) struct InnerEvaluationError {
    pub message: Cow<'static, str>,
    /// Whether the allowance of the evaluation is used up: `||`, `&&` and loops must not pass over it.
    pub is_final: bool,
}

impl CompileError {
    /// The error as a sentence about the text that was compiled. A text of one line has no line number.
    pub fn describe(&self, text: &str) -> String {
        let place = match text.trim_end().contains('\n') {
            true => format!("line {}, column {}", self.line, self.column),
            false => format!("column {}", self.column),
        };
        format!("invalid expression, {place}: {}", self.message)
    }
}

impl std::error::Error for CompileError {}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )
    }
}

impl InnerEvaluationError {
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            message: message.into(),
            is_final: false,
        }
    }
}

impl From<InnerEvaluationError> for EvaluationError {
    fn from(failure: InnerEvaluationError) -> Self {
        Self {
            message: failure.message.into_owned(),
        }
    }
}
