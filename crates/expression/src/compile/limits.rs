//! The size of an expression's tree.

use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr};

use crate::error::CompileError;
use crate::parse::ParsedExpression;

/// The most parts of an expression: names, literals, operators, calls.
const NODES: usize = 256;
/// How deep parts may be nested.
const DEPTH: usize = 32;

/// Refuses a tree that is too large.
pub(super) fn check(parsed: &ParsedExpression<'_>) -> Result<(), CompileError> {
    let mut waiting = vec![(&parsed.expression, 1)];
    let mut nodes = 0;
    while let Some((part, depth)) = waiting.pop() {
        nodes += 1;
        if nodes > NODES {
            let message = format!("the expression has more than {NODES} parts");
            return Err(parsed.error_at_start(message));
        }
        if depth > DEPTH {
            let message = format!("the expression is nested deeper than {DEPTH}");
            return Err(parsed.error(part, message));
        }
        waiting.extend(children(part).into_iter().map(|child| (child, depth + 1)));
    }
    Ok(())
}

fn children(part: &IdedExpr) -> Vec<&IdedExpr> {
    match &part.expr {
        Expr::Call(call) => call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect(),
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map
            .entries
            .iter()
            .flat_map(|entry| entry_parts(&entry.expr))
            .collect(),
        Expr::Struct(value) => {
            let entries = value.entries.iter();
            entries.flat_map(|entry| entry_parts(&entry.expr)).collect()
        }
        Expr::Select(select) => vec![&select.operand],
        Expr::Comprehension(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {
            Vec::new()
        }
    }
}

fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}
