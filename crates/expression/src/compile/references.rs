//! Names: variables of the exchange, entries of map variables, the variable of a macro.

use cel::IdedExpr;
use cel::common::ast::Expr;
use headgate_protocol::nearest::nearest;

use super::{Compiled, ExpressionCompiler, with_hint};
use crate::error::CompileError;
use crate::names::{EvaluationPhase, MapVariable, NAMES, NamedVariable};
use crate::nodes::CelNode;

impl<'t> ExpressionCompiler<'t> {
    /// A variable, or an entry of a map variable that is written as a member.
    pub(super) fn reference(&mut self, part: &'t IdedExpr) -> Compiled {
        if matches!(&part.expr, Expr::Ident(name) if self.element == Some(name)) {
            return Ok(CelNode::Element);
        }
        if let Some((map, key)) = self.member_entry(part)? {
            return Ok(CelNode::Entry(map, Box::new(key)));
        }
        let (name, root) = self.named(part);
        match known_name(&name) {
            Some((NamedVariable::Variable(variable), since)) => {
                self.require(root, &name, since)?;
                Ok(CelNode::Variable(variable))
            }
            Some((NamedVariable::Map(map), since)) => {
                self.require(root, &name, since)?;
                let message = format!("`{name}` is read by name");
                let hint = format!("write {}[\"name\"]", map.name());
                Err(with_hint(self.error(root, message), hint))
            }
            None => Err(self.unknown_name(root, &name)),
        }
    }

    /// The dotted name that a part spells, unless it begins with the variable of the macro around.
    pub(super) fn qualified_name(&self, part: &'t IdedExpr) -> Option<(String, &'t IdedExpr)> {
        match &part.expr {
            Expr::Ident(name) if self.element == Some(name) => None,
            Expr::Ident(name) => Some((name.clone(), part)),
            Expr::Select(select) => {
                let (name, root) = self.qualified_name(&select.operand)?;
                Some((format!("{name}.{}", select.field), root))
            }
            _ => None,
        }
    }

    /// The map variable that a part names, once its phase is checked.
    pub(super) fn map_variable(
        &mut self,
        part: &'t IdedExpr,
    ) -> Result<Option<MapVariable>, CompileError> {
        let Some((name, root)) = self.qualified_name(part) else {
            return Ok(None);
        };
        let Some((NamedVariable::Map(map), since)) = known_name(&name) else {
            return Ok(None);
        };
        self.require(root, &name, since)?;
        Ok(Some(map))
    }

    /// The entry of a map variable that is written as a member: `request.params.id`.
    pub(super) fn member_entry(
        &mut self,
        part: &'t IdedExpr,
    ) -> Result<Option<(MapVariable, CelNode)>, CompileError> {
        let Expr::Select(select) = &part.expr else {
            return Ok(None);
        };
        let map = self.map_variable(&select.operand)?;
        Ok(map.map(|map| (map, entry_key(map, &select.field))))
    }

    /// Refuses a name that is known only later, and notes the phase that the expression needs.
    pub(super) fn require(
        &mut self,
        part: &IdedExpr,
        name: &str,
        since: EvaluationPhase,
    ) -> Result<(), CompileError> {
        if self.available.knows_since(since) {
            self.phase = self.phase.max(since);
            return Ok(());
        }
        let message = format!("`{name}` is not known {}", since.event());
        let hint = match since {
            EvaluationPhase::Head => "use it in a filter",
            EvaluationPhase::Body => "use it where the request body is known",
            EvaluationPhase::Attempt => "use it where the channel is known",
            EvaluationPhase::ResponseHead => "use it in a filter of the response chain",
            EvaluationPhase::ResponseBody => {
                "use it in a filter of the response chain that works on complete responses"
            }
            EvaluationPhase::Event => "use it in a filter that works on the events of a stream",
        };
        Err(with_hint(self.error(part, message), hint))
    }

    fn named(&self, part: &'t IdedExpr) -> (String, &'t IdedExpr) {
        let name = self.qualified_name(part);
        name.expect("a name or a member of a name")
    }

    fn unknown_name(&self, root: &IdedExpr, name: &str) -> CompileError {
        let mut prefix = name;
        while let Some((before, member)) = prefix.rsplit_once('.') {
            prefix = before;
            let Some((known, _)) = known_name(prefix) else {
                continue;
            };
            let kind = match known {
                NamedVariable::Variable(variable) if variable.is_number() => "int",
                _ => "string",
            };
            let message = format!("`{prefix}` is of type {kind} and has no member `{member}`");
            return self.error(root, message);
        }
        let error = self.error(root, format!("unknown name `{name}`"));
        with_hint(error, self.similar_names(name))
    }

    fn similar_names(&self, name: &str) -> String {
        let known = NAMES.iter().map(|(known, _, _)| *known);
        let known = known.chain(self.element);
        if let Some(close) = nearest(name, known.clone(), 1).first() {
            return format!("did you mean `{close}`?");
        }
        let group = format!("{}.", name.split('.').next().unwrap_or_default());
        let all: Vec<&str> = known.collect();
        let members: Vec<&str> = all
            .iter()
            .copied()
            .filter(|known| known.starts_with(&group))
            .collect();
        match members.is_empty() {
            true => format!("known are {}; put strings into quotes", all.join(", ")),
            false => format!("known are {}", members.join(", ")),
        }
    }
}

/// What a dotted name stands for.
pub(super) fn known_name(name: &str) -> Option<(NamedVariable, EvaluationPhase)> {
    let found = NAMES.iter().find(|(known, _, _)| *known == name)?;
    Some((found.1, found.2))
}

/// The key of an entry that is written as a literal.
pub(super) fn entry_key(map: MapVariable, key: &str) -> CelNode {
    CelNode::Text(match map.is_headers() {
        true => key.to_ascii_lowercase().into(),
        false => key.into(),
    })
}
