//! A compiled expression, and the three forms of its value.

use std::sync::Arc;

use bytes::Bytes;

use crate::allowance::long_text;
use crate::compile::{CompiledText, compile};
use crate::error::{CompileError, EvaluationError, EvaluationFailure};
use crate::evaluate::Evaluation;
use crate::json_text::{self, double_text};
use crate::names::{DocumentKind, Phase, Variable};
use crate::nodes::CelNode;
use crate::observed;
use crate::values::{CelValue, ExpressionValues};

/// A compiled expression. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Expression(Arc<SharedExpression>);

#[derive(Debug)]
struct SharedExpression {
    text: String,
    compiled: CompiledText,
}

impl Expression {
    /// Compiles a text whose names must be known in the phase `available`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its position.
    pub fn compile(text: &str, available: Phase) -> Result<Self, CompileError> {
        let compiled = compile(text, available)?;
        let text = text.to_owned();
        Ok(Self(Arc::new(SharedExpression { text, compiled })))
    }

    /// The text as written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The earliest phase that knows every name of the expression.
    pub fn phase(&self) -> Phase {
        self.0.compiled.phase
    }

    /// Whether the expression names this variable.
    pub fn names(&self, variable: Variable) -> bool {
        let mut is_named = false;
        self.root().each(&mut |node| {
            is_named |= matches!(node, CelNode::Variable(named) if *named == variable);
        });
        is_named
    }

    /// Whether the expression reads values of a document.
    pub fn reads(&self, document: DocumentKind) -> bool {
        self.0.compiled.documents.contains(&document)
    }

    /// The value of a condition.
    ///
    /// # Errors
    /// The evaluation fails, or its value is not a boolean.
    pub fn is_true(&self, values: &dyn ExpressionValues) -> Result<bool, EvaluationError> {
        match Evaluation::new(values).value(self.root())? {
            CelValue::Bool(value) => Ok(value),
            other => Err(EvaluationError {
                message: format!("the condition must be a bool, not {}", other.type_name()),
            }),
        }
    }

    /// The value as compact JSON, at most 64 KiB; `json("/pointer")` alone is passed unchanged without that limit.
    ///
    /// # Errors
    /// The evaluation fails, or its value is too long.
    pub fn json(&self, values: &dyn ExpressionValues) -> Result<Bytes, EvaluationError> {
        let mut evaluation = Evaluation::new(values);
        if let CelNode::Document(kind, pointer) = self.root() {
            let found = evaluation.at_pointer(*kind, pointer)?;
            return Ok(found.map_or(Bytes::from_static(b"null"), |node| {
                Bytes::copy_from_slice(node.raw())
            }));
        }
        let value = evaluation.value(self.root())?;
        let mut out = Vec::new();
        json_text::write(&value, &mut out, &mut evaluation.allowance)?;
        Ok(out.into())
    }

    /// The value as text: a string as it is, numbers and booleans as in JSON.
    ///
    /// # Errors
    /// The evaluation fails, or its value is of another type.
    pub fn text_value(&self, values: &dyn ExpressionValues) -> Result<String, EvaluationError> {
        Ok(match Evaluation::new(values).value(self.root())? {
            CelValue::Text(text) => text.to_string(),
            CelValue::Int(value) => value.to_string(),
            CelValue::Bool(value) => value.to_string(),
            CelValue::Double(value) => double_text(value)?,
            other if other.is_long_text() => return Err(long_text().into()),
            other => {
                let found = other.type_name();
                let message = format!("the value must be a string, number or bool, not {found}");
                return Err(EvaluationFailure::of(message).into());
            }
        })
    }

    /// The variables and pointers that the expression names, each with its value, for people: strings are quoted, long
    /// values are cut and credentials are left out.
    pub fn observed(&self, values: &dyn ExpressionValues) -> Vec<(String, String)> {
        observed::observed(self.root(), values)
    }

    fn root(&self) -> &CelNode {
        &self.0.compiled.root
    }
}
