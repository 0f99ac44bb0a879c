//! A compiled expression, and the three forms of its value.

use std::sync::Arc;

use bytes::Bytes;

use crate::allowance::long_text;
use crate::compile::{CompiledExpression, compile};
use crate::error::{CompileError, EvaluationError, InnerEvaluationError};
use crate::evaluate::ExpressionEvaluator;
use crate::json_text::{self, double_text};
use crate::names::{DocumentKind, EvaluationPhase, MapVariable, Variable};
use crate::nodes::CelNode;
use crate::observed;
use crate::types::TypeSet;
use crate::values::{CelValue, ExpressionValueSource};

/// Where the value of an expression comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueOrigin {
    /// From the text alone.
    Constant,
    /// Only from what a caller may write as it likes: the headers, the query and the body of the request.
    Caller,
    /// Also from something else.
    Exchange,
}

/// A compiled expression. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Expression(Arc<SharedExpression>);

/// A name that an expression reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionReference<'e> {
    Variable(Variable),
    /// An entry of a map; `None` if its key is computed.
    Entry(MapVariable, Option<&'e str>),
    Document(DocumentKind, &'e str),
}

#[derive(Debug)]
struct SharedExpression {
    text: String,
    compiled: CompiledExpression,
}

impl Expression {
    /// Compiles a text whose names must be known in the phase `available`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its position.
    pub fn compile(text: &str, available: EvaluationPhase) -> Result<Self, CompileError> {
        Self::compile_to(text, available, TypeSet::ANY)
    }

    /// As [`Self::compile`], for [`Self::is_true`].
    ///
    /// # Errors
    /// As [`Self::compile`], or the value cannot be a boolean.
    pub fn compile_condition(text: &str, available: EvaluationPhase) -> Result<Self, CompileError> {
        Self::compile_to(text, available, TypeSet::BOOL)
    }

    /// As [`Self::compile`], for [`Self::text_value`].
    ///
    /// # Errors
    /// As [`Self::compile`], or the value cannot be a string, a number or a boolean.
    pub fn compile_text(text: &str, available: EvaluationPhase) -> Result<Self, CompileError> {
        let wanted = TypeSet::TEXT | TypeSet::NUMBER | TypeSet::BOOL;
        Self::compile_to(text, available, wanted)
    }

    fn compile_to(
        text: &str,
        available: EvaluationPhase,
        wanted: TypeSet,
    ) -> Result<Self, CompileError> {
        let compiled = compile(text, available, wanted)?;
        let text = text.to_owned();
        Ok(Self(Arc::new(SharedExpression { text, compiled })))
    }

    /// The text as written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The earliest phase that knows every name of the expression.
    pub fn phase(&self) -> EvaluationPhase {
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

    /// Where the value of the expression comes from.
    pub fn origin(&self) -> ValueOrigin {
        let mut origin = ValueOrigin::Constant;
        self.root()
            .each(&mut |node| origin = origin.max(node_origin(node)));
        origin
    }

    /// The names that the expression reads, in the order of the text. `sample(…)` reads none.
    pub fn references(&self) -> Vec<ExpressionReference<'_>> {
        let mut found = Vec::new();
        self.root().each(&mut |node| match node {
            CelNode::Variable(variable) => found.push(ExpressionReference::Variable(*variable)),
            CelNode::Entry(map, key) | CelNode::HasEntry(map, key) => {
                let key = match &**key {
                    CelNode::Text(key) => Some(&**key),
                    _ => None,
                };
                found.push(ExpressionReference::Entry(*map, key));
            }
            CelNode::Document(kind, pointer) | CelNode::HasDocument(kind, pointer) => {
                found.push(ExpressionReference::Document(*kind, pointer.text()));
            }
            _ => {}
        });
        found
    }

    /// Whether the expression reads values of a document.
    pub fn reads(&self, document: DocumentKind) -> bool {
        self.0.compiled.documents.contains(&document)
    }

    /// The value of a condition.
    ///
    /// # Errors
    /// The evaluation fails, or its value is not a boolean.
    pub fn is_true(&self, values: &dyn ExpressionValueSource) -> Result<bool, EvaluationError> {
        match ExpressionEvaluator::new(values).value(self.root())? {
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
    pub fn json(&self, values: &dyn ExpressionValueSource) -> Result<Bytes, EvaluationError> {
        let mut evaluation = ExpressionEvaluator::new(values);
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
    pub fn text_value(
        &self,
        values: &dyn ExpressionValueSource,
    ) -> Result<String, EvaluationError> {
        Ok(match ExpressionEvaluator::new(values).value(self.root())? {
            CelValue::Text(text) => text.to_string(),
            CelValue::Int(value) => value.to_string(),
            CelValue::Bool(value) => value.to_string(),
            CelValue::Double(value) => double_text(value)?,
            other if other.is_long_text() => return Err(long_text().into()),
            other => {
                let found = other.type_name();
                let message = format!("the value must be a string, number or bool, not {found}");
                return Err(InnerEvaluationError::new(message).into());
            }
        })
    }

    /// The variables and pointers that the expression names, each with its value, for people: strings are quoted, long
    /// values are cut and credentials are left out.
    pub fn observed(&self, values: &dyn ExpressionValueSource) -> Vec<(String, String)> {
        observed::observed(self.root(), values)
    }

    fn root(&self) -> &CelNode {
        &self.0.compiled.root
    }
}

/// Where the value of a part comes from, without the parts below.
fn node_origin(node: &CelNode) -> ValueOrigin {
    match node {
        CelNode::Variable(Variable::QueryString)
        | CelNode::Entry(MapVariable::RequestHeaders | MapVariable::RequestQuery, _)
        | CelNode::HasEntry(MapVariable::RequestHeaders | MapVariable::RequestQuery, _)
        | CelNode::Document(DocumentKind::Request, _)
        | CelNode::HasDocument(DocumentKind::Request, _) => ValueOrigin::Caller,
        CelNode::Variable(_)
        | CelNode::Entry(..)
        | CelNode::HasEntry(..)
        | CelNode::Document(..)
        | CelNode::HasDocument(..)
        | CelNode::Sample(_, None) => ValueOrigin::Exchange,
        _ => ValueOrigin::Constant,
    }
}
