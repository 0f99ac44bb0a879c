//! Operators and functions, and the arguments that they take.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};
use headgate_protocol::nearest::nearest;

use super::references::entry_key;
use super::signatures::{CallStyle, FUNCTIONS, SPECIAL_FUNCTIONS};
use super::{Compiled, ExpressionCompiler, literals, macros, with_hint};
use crate::error::CompileError;
use crate::names::{DocumentKind, MapVariable};
use crate::nodes::{BinaryOperator, CelNode};
use crate::types::TypeSet;

const BINARY: [(&str, BinaryOperator); 12] = [
    (operators::ADD, BinaryOperator::Add),
    (operators::SUBSTRACT, BinaryOperator::Subtract),
    (operators::MULTIPLY, BinaryOperator::Multiply),
    (operators::DIVIDE, BinaryOperator::Divide),
    (operators::MODULO, BinaryOperator::Remainder),
    (operators::EQUALS, BinaryOperator::Equal),
    (operators::NOT_EQUALS, BinaryOperator::NotEqual),
    (operators::LESS, BinaryOperator::Less),
    (operators::LESS_EQUALS, BinaryOperator::LessOrEqual),
    (operators::GREATER, BinaryOperator::Greater),
    (operators::GREATER_EQUALS, BinaryOperator::GreaterOrEqual),
    (operators::IN, BinaryOperator::In),
];

impl<'t> ExpressionCompiler<'t> {
    pub(super) fn call(&mut self, part: &'t IdedExpr, call: &'t CallExpr) -> Compiled {
        let arguments: Vec<&'t IdedExpr> = call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect();
        if let Some(node) = self.operator(&call.func_name, &arguments)? {
            return Ok(node);
        }
        if macros::kind(&call.func_name).is_some() {
            return self.macro_call(part, call);
        }
        if let Some(node) = self.special(part, call, &arguments)? {
            return Ok(node);
        }
        let signature = FUNCTIONS
            .iter()
            .find(|signature| signature.name == call.func_name);
        let signature = signature.ok_or_else(|| self.unknown_function(part, &call.func_name))?;
        let is_member = call.target.is_some();
        let fits = match signature.style {
            CallStyle::Member => is_member,
            CallStyle::Global => !is_member,
            CallStyle::Either => true,
        };
        let (fewest, most) = signature.arguments;
        if !fits || !(fewest..=most).contains(&arguments.len()) {
            return Err(self.wrong_usage(part, signature.name));
        }
        let nodes = arguments.iter().map(|argument| self.node(argument));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        self.check_arguments(&arguments, signature.name, signature.function, &nodes)?;
        Ok(CelNode::Call(signature.function, nodes))
    }

    fn operator(
        &mut self,
        name: &str,
        arguments: &[&'t IdedExpr],
    ) -> Result<Option<CelNode>, CompileError> {
        Ok(Some(match (name, arguments) {
            (operators::CONDITIONAL, [condition, yes, no]) => CelNode::Conditional(Box::new([
                self.condition(condition, "?:")?,
                self.node(yes)?,
                self.node(no)?,
            ])),
            (operators::LOGICAL_AND, [left, right]) => CelNode::And(
                self.boxed_condition(left, "&&")?,
                self.boxed_condition(right, "&&")?,
            ),
            (operators::LOGICAL_OR, [left, right]) => CelNode::Or(
                self.boxed_condition(left, "||")?,
                self.boxed_condition(right, "||")?,
            ),
            (operators::LOGICAL_NOT, [operand]) => {
                CelNode::Not(self.boxed_condition(operand, "!")?)
            }
            (operators::NEGATE, [operand]) => {
                let node = self.boxed(operand)?;
                self.check_argument(operand, "-", TypeSet::NUMBER, &node)?;
                CelNode::Negate(node)
            }
            (operators::INDEX, [operand, index]) => self.index(operand, index)?,
            (operators::IN, [key, range]) if self.map_variable(range)?.is_some() => {
                let map = self.map_variable(range)?.expect("just seen");
                CelNode::HasEntry(map, Box::new(self.key(map, key)?))
            }
            (_, [left_part, right_part]) => {
                let Some((_, operator)) = BINARY.iter().find(|(known, _)| *known == name) else {
                    return Ok(None);
                };
                let (left, right) = (self.boxed(left_part)?, self.boxed(right_part)?);
                self.check_binary(left_part, *operator, (&left, &right))?;
                CelNode::Binary(*operator, left, right)
            }
            _ => return Ok(None),
        }))
    }

    fn index(&mut self, operand: &'t IdedExpr, index: &'t IdedExpr) -> Compiled {
        match self.map_variable(operand)? {
            Some(map) => Ok(CelNode::Entry(map, Box::new(self.key(map, index)?))),
            None => {
                let (node, index) = (self.boxed(operand)?, self.boxed(index)?);
                self.check_container(operand, &node, self.types(&index))?;
                Ok(CelNode::Index(node, index))
            }
        }
    }

    /// The name of an entry of a map variable.
    fn key(&mut self, map: MapVariable, key: &'t IdedExpr) -> Compiled {
        match self.node(key)? {
            CelNode::Text(text) => Ok(entry_key(map, &text)),
            CelNode::Null | CelNode::Bool(_) | CelNode::Int(_) | CelNode::Double(_) => {
                let message = format!("the name of an entry of `{}` must be a string", map.name());
                Err(self.error(key, message))
            }
            computed => {
                self.check_argument(key, map.name(), TypeSet::TEXT, &computed)?;
                Ok(computed)
            }
        }
    }

    /// Functions that take literals.
    fn special(
        &mut self,
        part: &'t IdedExpr,
        call: &'t CallExpr,
        arguments: &[&'t IdedExpr],
    ) -> Result<Option<CelNode>, CompileError> {
        let name = call.func_name.as_str();
        let is_member = call.target.is_some();
        let document = |kind: DocumentKind| kind.function() == name;
        let documents = [
            DocumentKind::Request,
            DocumentKind::Response,
            DocumentKind::Event,
        ];
        if let Some(kind) = documents.into_iter().find(|kind| document(*kind)) {
            return match arguments {
                [pointer] if !is_member => self.document(part, kind, pointer).map(Some),
                _ => Err(self.wrong_usage(part, name)),
            };
        }
        Ok(Some(match (name, arguments) {
            ("has", [value]) if !is_member => self.has(part, value)?,
            ("matches", [text, regex]) => {
                let pattern = self.literal_text(regex, "the regular expression of matches")?;
                let regex = literals::regex(pattern).map_err(|(message, hint)| CompileError {
                    hint: hint.map(Into::into),
                    ..self.error(regex, message)
                })?;
                CelNode::Matches(self.boxed_text(text, name)?, Box::new(regex))
            }
            ("in_network", [address, network]) if !is_member => {
                let cidr = self.literal_text(network, "the network of in_network")?;
                let network =
                    literals::network(cidr).map_err(|message| self.error(network, message))?;
                CelNode::InNetwork(self.boxed_text(address, name)?, network)
            }
            ("sample", [percent, key @ ..]) if !is_member && key.len() < 2 => {
                let percent_node = self.boxed(percent)?;
                literals::percent(&percent_node).map_err(|message| self.error(percent, message))?;
                self.check_argument(percent, name, TypeSet::NUMBER, &percent_node)?;
                let key = key.first().map(|key| self.boxed_text(key, name));
                let key = key.transpose()?;
                CelNode::Sample(percent_node, key)
            }
            ("has" | "matches" | "in_network" | "sample", _) => {
                return Err(self.wrong_usage(part, name));
            }
            _ => return Ok(None),
        }))
    }

    fn document(
        &mut self,
        part: &'t IdedExpr,
        kind: DocumentKind,
        pointer: &'t IdedExpr,
    ) -> Compiled {
        let what = format!("the pointer of {}", kind.function());
        let text = self.literal_text(pointer, &what)?;
        let parsed = literals::pointer(text).map_err(|message| self.error(pointer, message))?;
        self.require(part, kind.function(), kind.since())?;
        if !self.documents.contains(&kind) {
            self.documents.push(kind);
        }
        Ok(CelNode::Document(kind, parsed))
    }

    /// Whether a member is there.
    fn has(&mut self, part: &'t IdedExpr, value: &'t IdedExpr) -> Compiled {
        if let Some((map, key)) = self.member_entry(value)? {
            return Ok(CelNode::HasEntry(map, Box::new(key)));
        }
        if self.qualified_name(value).is_some() {
            self.reference(value)?;
            return Err(self.wrong_usage(part, "has"));
        }
        match self.node(value)? {
            CelNode::Document(kind, pointer) => Ok(CelNode::HasDocument(kind, pointer)),
            CelNode::Entry(map, key) => Ok(CelNode::HasEntry(map, key)),
            CelNode::Member(operand, name) => Ok(CelNode::HasMember(operand, name)),
            CelNode::Index(operand, key) => match *key {
                CelNode::Text(name) => Ok(CelNode::HasMember(operand, name)),
                _ => Err(self.wrong_usage(part, "has")),
            },
            _ => Err(self.wrong_usage(part, "has")),
        }
    }

    fn literal_text(&self, part: &'t IdedExpr, what: &str) -> Result<&'t str, CompileError> {
        match &part.expr {
            Expr::Literal(LiteralValue::String(text)) => Ok(text.inner()),
            _ => Err(self.error(part, format!("{what} must be a string literal"))),
        }
    }

    pub(super) fn wrong_usage(&self, part: &IdedExpr, name: &str) -> CompileError {
        let usages = FUNCTIONS
            .iter()
            .map(|signature| (signature.name, signature.usage));
        let mut usages = usages.chain(SPECIAL_FUNCTIONS);
        let usage = usages.find(|(known, _)| *known == name);
        let error = self.error(part, format!("`{name}` is called in another way"));
        match usage {
            Some((_, usage)) => with_hint(error, format!("write {usage}")),
            None => error,
        }
    }

    fn unknown_function(&self, part: &IdedExpr, name: &str) -> CompileError {
        let known = FUNCTIONS.iter().map(|signature| signature.name);
        let known = known.chain(SPECIAL_FUNCTIONS.map(|(name, _)| name));
        let error = self.error(part, format!("unknown function `{name}`"));
        let known: Vec<&str> = known.collect();
        let near = nearest(name, known.iter().copied(), 1).first().copied();
        let longer = || known.iter().copied().find(|known| known.starts_with(name));
        with_hint(
            error,
            match near.or_else(longer) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("known are {}", known.join(", ")),
            },
        )
    }
}
