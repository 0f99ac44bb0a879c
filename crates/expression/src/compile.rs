//! From cel's tree to ours: names, functions and literals are resolved, and what could go wrong at load is refused.

mod calls;
mod limits;
mod literals;
mod macros;
mod references;
mod signatures;
mod type_check;

use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, SelectExpr};

use crate::error::CompileError;
use crate::names::{DocumentKind, EvaluationPhase};
use crate::nodes::CelNode;
use crate::parse::{ParsedExpression, parse};
use crate::types::TypeSet;

/// The most elements of a list or map literal.
const LITERAL_ELEMENTS: usize = 64;

/// A compiled expression with what it needs.
#[derive(Debug)]
pub(crate) struct CompiledExpression {
    pub root: CelNode,
    pub phase: EvaluationPhase,
    pub documents: Vec<DocumentKind>,
}

/// The work on one expression.
struct ExpressionCompiler<'t> {
    parsed: &'t ParsedExpression<'t>,
    available: EvaluationPhase,
    phase: EvaluationPhase,
    documents: Vec<DocumentKind>,
    /// The variable of the macro around, while its body is compiled.
    element: Option<&'t str>,
    /// The types of that variable.
    element_types: TypeSet,
    is_in_macro: bool,
}

type Compiled = Result<CelNode, CompileError>;

/// Compiles an expression that is evaluated in the phase `available`, and for a value of one of the types `wanted`.
pub(crate) fn compile(
    text: &str,
    available: EvaluationPhase,
    wanted: TypeSet,
) -> Result<CompiledExpression, CompileError> {
    let parsed = parse(text)?;
    limits::check(&parsed)?;
    let mut compilation = ExpressionCompiler {
        parsed: &parsed,
        available,
        phase: EvaluationPhase::Head,
        documents: Vec::new(),
        element: None,
        element_types: TypeSet::ANY,
        is_in_macro: false,
    };
    let root = compilation.node(&parsed.expression)?;
    compilation.check_result(&parsed.expression, wanted, &root)?;
    Ok(CompiledExpression {
        root,
        phase: compilation.phase,
        documents: compilation.documents,
    })
}

impl<'t> ExpressionCompiler<'t> {
    fn node(&mut self, part: &'t IdedExpr) -> Compiled {
        match &part.expr {
            Expr::Literal(literal) => self.literal(part, literal),
            Expr::Ident(_) => self.reference(part),
            Expr::Select(select) => self.select(part, select),
            Expr::Call(call) => self.call(part, call),
            Expr::List(list) => self.list(part, list),
            Expr::Map(map) => self.map(part, map),
            Expr::Struct(_) => Err(self.error(part, "types with members are not supported")),
            Expr::Comprehension(_) | Expr::Unspecified => {
                Err(self.error(part, "the expression is not valid CEL"))
            }
        }
    }

    fn boxed(&mut self, part: &'t IdedExpr) -> Result<Box<CelNode>, CompileError> {
        self.node(part).map(Box::new)
    }

    fn nodes(&mut self, parts: &'t [IdedExpr]) -> Result<Vec<CelNode>, CompileError> {
        parts.iter().map(|part| self.node(part)).collect()
    }

    fn literal(&self, part: &IdedExpr, literal: &LiteralValue) -> Compiled {
        Ok(match literal {
            LiteralValue::Null => CelNode::Null,
            LiteralValue::Boolean(value) => CelNode::Bool(*value.inner()),
            LiteralValue::Int(value) => CelNode::Int(*value.inner()),
            LiteralValue::Double(value) if !value.inner().is_finite() => {
                return Err(self.error(part, "the number is too large"));
            }
            LiteralValue::Double(value) => CelNode::Double(*value.inner()),
            LiteralValue::String(value) => CelNode::Text(value.inner().into()),
            LiteralValue::UInt(value) => {
                let hint = format!("write {}", value.inner());
                let error = self.error(part, "unsigned numbers are not supported");
                return Err(with_hint(error, hint));
            }
            LiteralValue::Bytes(_) => return Err(self.error(part, "bytes are not supported")),
        })
    }

    fn select(&mut self, part: &'t IdedExpr, select: &'t SelectExpr) -> Compiled {
        if self.qualified_name(part).is_some() {
            return self.reference(part);
        }
        let operand = self.boxed(&select.operand)?;
        self.check_container(&select.operand, &operand, TypeSet::TEXT)?;
        Ok(CelNode::Member(operand, select.field.as_str().into()))
    }

    fn list(&mut self, part: &'t IdedExpr, list: &'t ListExpr) -> Compiled {
        self.check_elements(part, "list", list.elements.len())?;
        if !list.optional_indices.is_empty() {
            return Err(self.error(part, "optional elements are not supported"));
        }
        Ok(CelNode::List(self.nodes(&list.elements)?))
    }

    fn map(&mut self, part: &'t IdedExpr, map: &'t MapExpr) -> Compiled {
        self.check_elements(part, "map", map.entries.len())?;
        let mut entries = Vec::with_capacity(map.entries.len());
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(self.error(part, "types with members are not supported"));
            };
            if entry.optional {
                return Err(self.error(&entry.key, "optional entries are not supported"));
            }
            let key = self.node(&entry.key)?;
            if let CelNode::Null | CelNode::Bool(_) | CelNode::Int(_) | CelNode::Double(_) = key {
                return Err(self.error(&entry.key, "the key of a map must be a string"));
            }
            self.check_argument(&entry.key, "the key of a map", TypeSet::TEXT, &key)?;
            entries.push((key, self.node(&entry.value)?));
        }
        Ok(CelNode::Map(entries))
    }

    fn check_elements(
        &self,
        part: &IdedExpr,
        kind: &str,
        elements: usize,
    ) -> Result<(), CompileError> {
        if elements <= LITERAL_ELEMENTS {
            return Ok(());
        }
        let message = format!("the {kind} has more than {LITERAL_ELEMENTS} elements");
        Err(self.error(part, message))
    }

    fn error(&self, part: &IdedExpr, message: impl Into<String>) -> CompileError {
        self.parsed.error(part, message)
    }
}

fn with_hint(error: CompileError, hint: impl Into<String>) -> CompileError {
    CompileError {
        hint: Some(hint.into()),
        ..error
    }
}
