//! Refuses at load what would fail in every evaluation, because no type that an operand can have fits its operator.

use cel::IdedExpr;
use cel::common::ast::{Expr, operators};

use super::{Compiled, ExpressionCompiler, with_hint};
use crate::error::CompileError;
use crate::nodes::{BinaryOperator, CelFunction, CelNode};
use crate::types::TypeSet;

type Checked = Result<(), CompileError>;

impl<'t> ExpressionCompiler<'t> {
    /// An error at the first character of an operand, not at its last dot or bracket.
    fn operand_error(&self, part: &IdedExpr, message: impl Into<String>) -> CompileError {
        let mut first = part;
        loop {
            first = match &first.expr {
                Expr::Select(select) => &select.operand,
                Expr::Call(call) if call.target.is_some() || call.func_name == operators::INDEX => {
                    match call.target.as_deref().or(call.args.first()) {
                        Some(operand) => operand,
                        None => break,
                    }
                }
                _ => break,
            };
        }
        self.error(first, message)
    }

    /// The types that a compiled part can have.
    pub(super) fn types(&self, node: &CelNode) -> TypeSet {
        TypeSet::for_node(node, self.element_types)
    }

    /// A part that must be a bool; `sign` is what asks for it, such as `!`.
    pub(super) fn condition(&mut self, part: &'t IdedExpr, sign: &str) -> Compiled {
        let node = self.node(part)?;
        self.check_condition(part, sign, &node)?;
        Ok(node)
    }

    pub(super) fn boxed_condition(
        &mut self,
        part: &'t IdedExpr,
        sign: &str,
    ) -> Result<Box<CelNode>, CompileError> {
        self.condition(part, sign).map(Box::new)
    }

    /// An argument that must be a string.
    pub(super) fn boxed_text(
        &mut self,
        part: &'t IdedExpr,
        name: &str,
    ) -> Result<Box<CelNode>, CompileError> {
        let node = self.boxed(part)?;
        self.check_argument(part, name, TypeSet::TEXT, &node)?;
        Ok(node)
    }

    /// A part that decides something must be a bool; `sign` is what asks for it, such as `!`.
    fn check_condition(&self, part: &IdedExpr, sign: &str, node: &CelNode) -> Checked {
        let found = self.types(node);
        if found.may_be(TypeSet::BOOL) {
            return Ok(());
        }
        let error = self.operand_error(part, format!("`{sign}` needs a bool, not {found}"));
        Err(with_hint(error, comparison_hint(node, found)))
    }

    /// The value of the whole expression.
    pub(super) fn check_result(&self, part: &IdedExpr, wanted: TypeSet, node: &CelNode) -> Checked {
        let found = self.types(node);
        if found.may_be(wanted) {
            return Ok(());
        }
        let (message, hint) = match wanted {
            TypeSet::BOOL => (
                format!("the condition must be a bool, not {found}"),
                comparison_hint(node, found),
            ),
            _ => (
                format!("the value must be a string, number or bool, not {found}"),
                "read one element or member of it".to_owned(),
            ),
        };
        Err(with_hint(self.operand_error(part, message), hint))
    }

    pub(super) fn check_binary(
        &self,
        part: &IdedExpr,
        operator: BinaryOperator,
        operands: (&CelNode, &CelNode),
    ) -> Checked {
        use BinaryOperator as B;
        let (left, right) = (self.types(operands.0), self.types(operands.1));
        let sign = operator.sign();
        if operator == B::In {
            return self.check_membership(part, operands);
        }
        if operator.applies(left, right) {
            return Ok(());
        }
        let message = match operator {
            B::Equal | B::NotEqual => {
                format!("`{sign}` compares {left} with {right}, which are never equal")
            }
            B::Less | B::LessOrEqual | B::Greater | B::GreaterOrEqual => {
                format!("`{sign}` cannot compare {left} with {right}")
            }
            _ => format!("`{sign}` cannot be applied to {left} and {right}"),
        };
        let error = self.operand_error(part, message);
        Err(match conversion_hint(operands, (left, right)) {
            Some(hint) => with_hint(error, hint),
            None => error,
        })
    }

    fn check_membership(&self, part: &IdedExpr, (key, range): (&CelNode, &CelNode)) -> Checked {
        let found = self.types(range);
        if !BinaryOperator::In.applies(TypeSet::ANY, found) {
            let error = self.operand_error(part, format!("`in` needs a list or map, not {found}"));
            let hint = match found.may_be(TypeSet::TEXT) {
                true => {
                    "write text.contains(part) for a part of a string, or a list such as [\"a\", \"b\"]"
                }
                false => "write a list, such as [\"a\", \"b\"]",
            };
            return Err(with_hint(error, hint));
        }
        let (key, elements) = (
            self.types(key),
            TypeSet::for_elements(range, self.element_types),
        );
        if BinaryOperator::Equal.applies(key, elements) {
            return Ok(());
        }
        let message = format!("`in` looks for {key} among {elements}, which are never equal");
        let hint = match (key.may_be(TypeSet::TEXT), elements.may_be(TypeSet::TEXT)) {
            (true, _) => "put the elements into quotes",
            (_, true) => "write the elements without quotes",
            _ => "write elements of the type that is looked for",
        };
        Err(with_hint(self.operand_error(part, message), hint))
    }

    pub(super) fn check_arguments(
        &self,
        parts: &[&IdedExpr],
        name: &str,
        function: CelFunction,
        arguments: &[CelNode],
    ) -> Checked {
        for (index, (part, node)) in parts.iter().zip(arguments).enumerate() {
            let expected = function.parameter(index);
            self.check_argument(part, name, expected, node)?;
        }
        Ok(())
    }

    pub(super) fn check_argument(
        &self,
        part: &IdedExpr,
        name: &str,
        expected: TypeSet,
        node: &CelNode,
    ) -> Checked {
        let found = self.types(node);
        if found.may_be(expected) {
            return Ok(());
        }
        let message = match name {
            "string" | "int" | "double" => format!("{name}() cannot convert {found}"),
            _ => format!("`{name}` needs {}, not {found}", described(expected)),
        };
        let error = self.operand_error(part, message);
        Err(match expected {
            TypeSet::TEXT if found.may_be(TypeSet::NUMBER) => {
                with_hint(error, "write string(x) for the number as a string")
            }
            TypeSet::INT | TypeSet::NUMBER if found.may_be(TypeSet::TEXT) => {
                with_hint(error, "write int(x) for the string as a number")
            }
            _ => error,
        })
    }

    /// What is indexed, or has members, must be a list or map.
    pub(super) fn check_container(
        &self,
        part: &IdedExpr,
        node: &CelNode,
        index: TypeSet,
    ) -> Checked {
        let found = self.types(node);
        let fits = found.may_be(TypeSet::LIST) && index.may_be(TypeSet::INT)
            || found.may_be(TypeSet::MAP) && index.may_be(TypeSet::TEXT);
        match fits {
            true => Ok(()),
            false => {
                Err(self.operand_error(part, format!("a {found} cannot be indexed by {index}")))
            }
        }
    }
}

/// What an argument must be, with an article.
fn described(expected: TypeSet) -> &'static str {
    match expected {
        TypeSet::TEXT => "a string",
        TypeSet::INT => "an int",
        TypeSet::LIST => "a list",
        TypeSet::CONTAINER => "a list or map",
        TypeSet::NUMBER => "a number",
        _ => "a string, list or map",
    }
}

/// How to make a condition of a value.
fn comparison_hint(node: &CelNode, found: TypeSet) -> String {
    let name = match node {
        CelNode::Variable(variable) => variable.name(),
        _ => "x",
    };
    match found {
        _ if found.may_be(TypeSet::TEXT) => format!("write {name} != \"\" for \"it is not empty\""),
        _ if found.may_be(TypeSet::NUMBER) => format!("write {name} != 0, or another comparison"),
        _ if found.may_be(TypeSet::CONTAINER) => {
            format!("write size({name}) > 0 for \"it is not empty\"")
        }
        _ => "write a comparison".to_owned(),
    }
}

/// How to make two operands of one type.
fn conversion_hint(operands: (&CelNode, &CelNode), types: (TypeSet, TypeSet)) -> Option<String> {
    let is_null = |types: TypeSet| types == TypeSet::NULL;
    if is_null(types.0) || is_null(types.1) {
        let other = if is_null(types.0) { types.1 } else { types.0 };
        return other
            .may_be(TypeSet::TEXT)
            .then(|| "a string that is not known is empty: compare with \"\"".to_owned());
    }
    let (number, text) = match types {
        (left, right) if left.may_be(TypeSet::NUMBER) && right.may_be(TypeSet::TEXT) => {
            (operands.0, operands.1)
        }
        (left, right) if left.may_be(TypeSet::TEXT) && right.may_be(TypeSet::NUMBER) => {
            (operands.1, operands.0)
        }
        _ => return None,
    };
    Some(match (number, text) {
        (_, CelNode::Text(text)) if text.parse::<i64>().is_ok() => {
            format!("write {text} without quotes")
        }
        (CelNode::Int(number), _) => {
            format!("write \"{number}\" in quotes, or int(x) for the string as a number")
        }
        _ => "write int(x) for a string as a number, or string(x) for a number as a string"
            .to_owned(),
    })
}
