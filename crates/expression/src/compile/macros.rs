//! The macros over lists and maps.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr};

use super::{Compiled, ExpressionCompiler, with_hint};
use crate::error::CompileError;
use crate::names::NAMES;
use crate::nodes::{CelMacro, CelNode, MacroKind};
use crate::types::TypeSet;

/// The macro of a name.
pub(super) fn kind(name: &str) -> Option<MacroKind> {
    Some(match name {
        "all" => MacroKind::All,
        "exists" => MacroKind::Exists,
        "exists_one" | "existsOne" => MacroKind::ExistsOne,
        "filter" => MacroKind::Filter,
        "map" => MacroKind::Map,
        _ => return None,
    })
}

impl<'t> ExpressionCompiler<'t> {
    pub(super) fn macro_call(&mut self, part: &'t IdedExpr, call: &'t CallExpr) -> Compiled {
        let name = call.func_name.as_str();
        let kind = kind(name).expect("the name of a macro");
        if self.is_in_macro {
            let message = format!("`{name}` is inside another macro");
            let hint = "macros cannot be nested; map(x, condition, value) filters and maps at once";
            return Err(with_hint(self.error(part, message), hint));
        }
        let (range, variable, condition, body) = match (call.target.as_deref(), &call.args[..]) {
            (Some(range), [variable, body]) => (range, variable, None, body),
            (Some(range), [variable, condition, body]) if kind == MacroKind::Map => {
                (range, variable, Some(condition), body)
            }
            _ => return Err(self.wrong_usage(part, name)),
        };
        self.is_in_macro = true;
        let range_part = range;
        let range = self.node(range_part)?;
        self.check_argument(range_part, name, TypeSet::CONTAINER, &range)?;
        self.element = Some(self.variable(variable)?);
        self.element_types = TypeSet::for_elements(&range, TypeSet::ANY);
        let condition = condition
            .map(|part| self.condition(part, name))
            .transpose()?;
        let body = match kind {
            MacroKind::Map => self.node(body)?,
            _ => self.condition(body, name)?,
        };
        self.element_types = TypeSet::ANY;
        self.element = None;
        self.is_in_macro = false;
        Ok(CelNode::Macro(Box::new(CelMacro {
            kind,
            range,
            condition,
            body,
        })))
    }

    /// The variable of a macro, which must not hide another name.
    fn variable(&self, part: &'t IdedExpr) -> Result<&'t str, CompileError> {
        let Expr::Ident(name) = &part.expr else {
            return Err(self.error(part, "the first argument of a macro must be a name"));
        };
        let mut roots = NAMES.iter().map(|(known, _, _)| known.split('.').next());
        if name.starts_with('.') || roots.any(|root| root == Some(name)) {
            let message = format!("`{name}` is the name of a variable");
            return Err(with_hint(self.error(part, message), "choose another name"));
        }
        Ok(name)
    }
}
