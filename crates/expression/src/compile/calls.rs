//! Operators and functions, and the arguments that they take.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};
use headgate_protocol::nearest::nearest;

use super::references::entry_key;
use super::{Compilation, Compiled, literals, macros, with_hint};
use crate::error::CompileError;
use crate::names::{DocumentKind, MapVariable};
use crate::nodes::{BinaryOperator, CelFunction, CelNode};

/// A function whose arguments are evaluated first.
struct FunctionSignature {
    name: &'static str,
    function: CelFunction,
    /// The fewest and the most arguments, the one before the dot included.
    arguments: (usize, usize),
    style: CallStyle,
    usage: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallStyle {
    /// `f(x)`
    Global,
    /// `x.f()`
    Member,
    Either,
}

const fn signature(
    name: &'static str,
    function: CelFunction,
    arguments: (usize, usize),
    style: CallStyle,
    usage: &'static str,
) -> FunctionSignature {
    FunctionSignature {
        name,
        function,
        arguments,
        style,
        usage,
    }
}

const FUNCTIONS: &[FunctionSignature] = &[
    signature(
        "size",
        CelFunction::Size,
        (1, 1),
        CallStyle::Either,
        "size(x) or x.size()",
    ),
    signature(
        "contains",
        CelFunction::Contains,
        (2, 2),
        CallStyle::Member,
        "text.contains(part)",
    ),
    signature(
        "startsWith",
        CelFunction::StartsWith,
        (2, 2),
        CallStyle::Member,
        "text.startsWith(prefix)",
    ),
    signature(
        "endsWith",
        CelFunction::EndsWith,
        (2, 2),
        CallStyle::Member,
        "text.endsWith(suffix)",
    ),
    signature(
        "lowerAscii",
        CelFunction::LowerAscii,
        (1, 1),
        CallStyle::Member,
        "text.lowerAscii()",
    ),
    signature(
        "upperAscii",
        CelFunction::UpperAscii,
        (1, 1),
        CallStyle::Member,
        "text.upperAscii()",
    ),
    signature(
        "split",
        CelFunction::Split,
        (2, 3),
        CallStyle::Member,
        "text.split(separator) or text.split(separator, limit)",
    ),
    signature(
        "join",
        CelFunction::Join,
        (1, 2),
        CallStyle::Member,
        "list.join() or list.join(separator)",
    ),
    signature(
        "substring",
        CelFunction::Substring,
        (2, 3),
        CallStyle::Member,
        "text.substring(start) or text.substring(start, end)",
    ),
    signature(
        "replace",
        CelFunction::Replace,
        (3, 4),
        CallStyle::Member,
        "text.replace(from, to) or text.replace(from, to, limit)",
    ),
    signature(
        "string",
        CelFunction::ToText,
        (1, 1),
        CallStyle::Global,
        "string(x)",
    ),
    signature(
        "int",
        CelFunction::ToInt,
        (1, 1),
        CallStyle::Global,
        "int(x)",
    ),
    signature(
        "double",
        CelFunction::ToDouble,
        (1, 1),
        CallStyle::Global,
        "double(x)",
    ),
    signature(
        "min",
        CelFunction::Min,
        (2, 2),
        CallStyle::Global,
        "min(a, b)",
    ),
    signature(
        "max",
        CelFunction::Max,
        (2, 2),
        CallStyle::Global,
        "max(a, b)",
    ),
];

/// Functions and macros that take literals or names, with their usage.
const SPECIAL_FUNCTIONS: [(&str, &str); 13] = [
    ("json", "json(\"/pointer\")"),
    ("response_json", "response_json(\"/pointer\")"),
    ("event_json", "event_json(\"/pointer\")"),
    (
        "matches",
        "matches(text, \"regex\") or text.matches(\"regex\")",
    ),
    ("in_network", "in_network(address, \"10.0.0.0/8\")"),
    ("sample", "sample(percent) or sample(percent, key)"),
    ("has", "has(json(\"/pointer\")) or has(x.member)"),
    ("all", "list.all(x, condition)"),
    ("exists", "list.exists(x, condition)"),
    ("exists_one", "list.exists_one(x, condition)"),
    ("existsOne", "list.existsOne(x, condition)"),
    ("filter", "list.filter(x, condition)"),
    ("map", "list.map(x, value) or list.map(x, condition, value)"),
];

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

impl<'t> Compilation<'t> {
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
        let arguments = arguments.into_iter().map(|argument| self.node(argument));
        let arguments = arguments.collect::<Result<_, _>>()?;
        Ok(CelNode::Call(signature.function, arguments))
    }

    fn operator(
        &mut self,
        name: &str,
        arguments: &[&'t IdedExpr],
    ) -> Result<Option<CelNode>, CompileError> {
        Ok(Some(match (name, arguments) {
            (operators::CONDITIONAL, [condition, yes, no]) => CelNode::Conditional(Box::new([
                self.node(condition)?,
                self.node(yes)?,
                self.node(no)?,
            ])),
            (operators::LOGICAL_AND, [left, right]) => {
                CelNode::And(self.boxed(left)?, self.boxed(right)?)
            }
            (operators::LOGICAL_OR, [left, right]) => {
                CelNode::Or(self.boxed(left)?, self.boxed(right)?)
            }
            (operators::LOGICAL_NOT, [operand]) => CelNode::Not(self.boxed(operand)?),
            (operators::NEGATE, [operand]) => CelNode::Negate(self.boxed(operand)?),
            (operators::INDEX, [operand, index]) => self.index(operand, index)?,
            (operators::IN, [key, range]) if self.map_variable(range)?.is_some() => {
                let map = self.map_variable(range)?.expect("just seen");
                CelNode::HasEntry(map, Box::new(self.key(map, key)?))
            }
            (_, [left, right]) => {
                let Some((_, operator)) = BINARY.iter().find(|(known, _)| *known == name) else {
                    return Ok(None);
                };
                CelNode::Binary(*operator, self.boxed(left)?, self.boxed(right)?)
            }
            _ => return Ok(None),
        }))
    }

    fn index(&mut self, operand: &'t IdedExpr, index: &'t IdedExpr) -> Compiled {
        match self.map_variable(operand)? {
            Some(map) => Ok(CelNode::Entry(map, Box::new(self.key(map, index)?))),
            None => Ok(CelNode::Index(self.boxed(operand)?, self.boxed(index)?)),
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
            computed => Ok(computed),
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
                CelNode::Matches(self.boxed(text)?, Box::new(regex))
            }
            ("in_network", [address, network]) if !is_member => {
                let cidr = self.literal_text(network, "the network of in_network")?;
                let network =
                    literals::network(cidr).map_err(|message| self.error(network, message))?;
                CelNode::InNetwork(self.boxed(address)?, network)
            }
            ("sample", [percent, key @ ..]) if !is_member && key.len() < 2 => {
                let percent_node = self.boxed(percent)?;
                literals::percent(&percent_node).map_err(|message| self.error(percent, message))?;
                let key = key.first().map(|key| self.boxed(key)).transpose()?;
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
        match nearest(name, known, 1).first() {
            Some(close) => with_hint(error, format!("did you mean `{close}`?")),
            None => error,
        }
    }
}
