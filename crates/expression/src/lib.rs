//! Expressions in CEL: parsed and checked at load, evaluated in place and within a fixed amount of work, without I/O.
//!
//! The parser is cel's. Names and functions are resolved and literals compiled once (`compile`), and the tree that
//! results is evaluated against [`ExpressionValueSource`] (`evaluate`), which is asked only for what the evaluation reaches.

mod allowance;
mod compile;
mod document_values;
mod error;
mod evaluate;
mod expression;
mod json_text;
mod names;
mod nodes;
mod observed;
mod parse;
mod pointer;
mod types;
mod values;

/// The type of `client.address`.
pub use std::net::IpAddr;

pub use document_values::DocumentValues;
pub use error::{CompileError, EvaluationError};
pub use expression::{Expression, ExpressionReference, ValueOrigin};
pub use names::{DocumentKind, EvaluationPhase, MapVariable, Variable};
pub use values::ExpressionValueSource;

#[cfg(test)]
mod tests;
