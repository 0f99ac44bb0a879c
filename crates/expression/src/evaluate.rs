//! The evaluation of a compiled expression. It asks for values when it reaches them, and charges all work beforehand.

mod arguments;
mod arithmetic;
mod clock;
mod comparison;
mod documents;
mod elements;
mod functions;
mod macros;
mod sample;
mod texts;

use crate::allowance::EvaluationAllowance;
use crate::error::InnerEvaluationError;
use crate::names::{DocumentKind, MapVariable, Variable};
use crate::nodes::{BinaryOperator, CelNode, address};
use crate::pointer::DocumentPointer;
use crate::values::{CelText, CelValue, ExpressionValueSource};

/// What one evaluation works with.
pub(crate) struct ExpressionEvaluator<'v> {
    values: &'v dyn ExpressionValueSource,
    pub allowance: EvaluationAllowance,
    /// The element that the macro around is at.
    element: CelValue<'v>,
}

pub(crate) type Evaluated<'v> = Result<CelValue<'v>, InnerEvaluationError>;

/// What passing over an error costs: its message was made for nothing.
const ABSORBED_ERROR_STEPS: usize = 8;

/// The bytes of a text that are matched with a regular expression in one step.
const MATCHED_BYTES_PER_STEP: usize = 16;

impl<'v> ExpressionEvaluator<'v> {
    pub fn new(values: &'v dyn ExpressionValueSource) -> Self {
        Self {
            values,
            allowance: EvaluationAllowance::new(),
            element: CelValue::Null,
        }
    }

    /// The value of a node.
    pub fn value(&mut self, node: &'v CelNode) -> Evaluated<'v> {
        self.allowance.charge(1)?;
        match node {
            CelNode::Null => Ok(CelValue::Null),
            CelNode::Bool(value) => Ok(CelValue::Bool(*value)),
            CelNode::Int(value) => Ok(CelValue::Int(*value)),
            CelNode::Double(value) => Ok(CelValue::Double(*value)),
            CelNode::Text(text) => Ok(CelValue::Text(CelText::Borrowed(text))),
            CelNode::Variable(variable) => self.variable(*variable),
            CelNode::Element => Ok(self.element.clone()),
            CelNode::Entry(map, key) => self.entry_value(*map, key),
            CelNode::Document(kind, pointer) => self.document(*kind, pointer),
            CelNode::Member(operand, name) => self.member(operand, name),
            CelNode::Index(operand, index) => self.index(operand, index),
            CelNode::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                match self.condition(condition, "?:")? {
                    true => self.value(yes),
                    false => self.value(no),
                }
            }
            CelNode::Negate(operand) => {
                let operand = self.value(operand)?;
                arithmetic::negate(&operand)
            }
            CelNode::Binary(operator, left, right) => self.binary(*operator, left, right),
            CelNode::List(nodes) => self.list(nodes),
            CelNode::Map(entries) => self.map(entries),
            CelNode::Macro(macro_node) => self.macro_value(macro_node),
            CelNode::Call(function, arguments) => self.function(*function, arguments),
            _ => self.truth(node).map(CelValue::Bool),
        }
    }

    /// The value of a node that is always a boolean.
    fn truth(&mut self, node: &'v CelNode) -> Result<bool, InnerEvaluationError> {
        match node {
            CelNode::Not(operand) => Ok(!self.condition(operand, "!")?),
            CelNode::And(left, right) => self.connective(left, right, false),
            CelNode::Or(left, right) => self.connective(left, right, true),
            CelNode::HasEntry(map, key) => Ok(self.entry_text(*map, key)?.is_some()),
            CelNode::HasDocument(kind, pointer) => Ok(self.at_pointer(*kind, pointer)?.is_some()),
            CelNode::HasMember(operand, name) => self.has_member(operand, name),
            CelNode::Matches(text, regex) => {
                let text = self.value(text)?;
                let text = arguments::text_argument(&text, "matches")?;
                self.allowance.charge(text.len() / MATCHED_BYTES_PER_STEP)?;
                Ok(regex.is_match(text))
            }
            CelNode::InNetwork(operand, network) => {
                if let CelNode::Variable(Variable::ClientAddress) = **operand {
                    let client = self.values.address();
                    return Ok(client.is_some_and(|ip| network.contains(&ip.to_canonical())));
                }
                let text = self.value(operand)?;
                let text = arguments::text_argument(&text, "in_network")?;
                Ok(address(text).is_some_and(|ip| network.contains(&ip)))
            }
            CelNode::Sample(percent, key) => self.sample(percent, key.as_deref()),
            _ => unreachable!("every other node is evaluated by `value`"),
        }
    }

    /// The value of a node that must be a boolean.
    fn condition(&mut self, node: &'v CelNode, of: &str) -> Result<bool, InnerEvaluationError> {
        match self.value(node)? {
            CelValue::Bool(value) => Ok(value),
            other => Err(InnerEvaluationError::new(format!(
                "`{of}` needs a bool, not {}",
                other.type_name()
            ))),
        }
    }

    /// `&&` and `||`: the value that decides wins over an error on the other side.
    fn connective(
        &mut self,
        left: &'v CelNode,
        right: &'v CelNode,
        decisive: bool,
    ) -> Result<bool, InnerEvaluationError> {
        let sign = if decisive { "||" } else { "&&" };
        let first = match self.condition(left, sign) {
            Ok(value) if value == decisive => return Ok(decisive),
            Err(failure) if failure.is_final => return Err(failure),
            first => first,
        };
        let second = self.condition(right, sign)?;
        match first {
            Ok(_) => Ok(second),
            Err(_) if second == decisive => {
                self.allowance.charge(ABSORBED_ERROR_STEPS)?;
                Ok(decisive)
            }
            Err(failure) => Err(failure),
        }
    }

    fn variable(&mut self, variable: Variable) -> Evaluated<'v> {
        if let Some(value) = clock::value(variable, self.values) {
            return Ok(CelValue::Int(value));
        }
        if variable.is_number() {
            let number = self.values.number(variable);
            return Ok(number.map_or(CelValue::Null, CelValue::Int));
        }
        let text = match variable {
            Variable::RequestId => CelText::Borrowed(self.values.request_id()),
            Variable::ClientAddress => {
                let address = self.values.address().map(|address| address.to_canonical());
                let text = address
                    .map(|address| address.to_string())
                    .unwrap_or_default();
                CelText::Shared(text.into())
            }
            _ => self
                .values
                .text(variable)
                .map_or(CelText::Borrowed(""), CelText::from),
        };
        Ok(CelValue::Text(self.allowance.read(text)?))
    }

    pub fn entry_value(&mut self, map: MapVariable, key: &'v CelNode) -> Evaluated<'v> {
        let text = self.entry_text(map, key)?.unwrap_or(CelText::Borrowed(""));
        Ok(CelValue::Text(self.allowance.read(text)?))
    }

    fn entry_text(
        &mut self,
        map: MapVariable,
        key: &'v CelNode,
    ) -> Result<Option<CelText<'v>>, InnerEvaluationError> {
        let text = match key {
            CelNode::Text(key) => self.values.entry(map, key),
            computed => {
                let key = self.value(computed)?;
                let key = arguments::text_argument(&key, map.name())?;
                self.allowance.charge_bytes(key.len())?;
                match map.is_headers() {
                    true => self.values.entry(map, &key.to_ascii_lowercase()),
                    false => self.values.entry(map, key),
                }
            }
        };
        Ok(text.map(CelText::from))
    }

    pub fn document(&mut self, kind: DocumentKind, pointer: &'v DocumentPointer) -> Evaluated<'v> {
        match self.at_pointer(kind, pointer)? {
            Some(node) => documents::value(node, &mut self.allowance),
            None => Ok(CelValue::Null),
        }
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        left: &'v CelNode,
        right: &'v CelNode,
    ) -> Evaluated<'v> {
        use BinaryOperator as B;
        let left = self.value(left)?;
        let right = self.value(right)?;
        let allowance = &mut self.allowance;
        match operator {
            B::Add | B::Subtract | B::Multiply | B::Divide | B::Remainder => {
                arithmetic::calculate(operator, left, right, allowance)
            }
            B::Equal => comparison::equal(&left, &right, allowance).map(CelValue::Bool),
            B::NotEqual => {
                comparison::equal(&left, &right, allowance).map(|equal| CelValue::Bool(!equal))
            }
            B::In => comparison::contains(&left, &right, allowance).map(CelValue::Bool),
            _ => comparison::ordered(operator, &left, &right, allowance).map(CelValue::Bool),
        }
    }

    fn list(&mut self, nodes: &'v [CelNode]) -> Evaluated<'v> {
        let mut elements = Vec::with_capacity(nodes.len());
        for node in nodes {
            elements.push(self.value(node)?);
        }
        Ok(CelValue::List(elements.into()))
    }

    fn map(&mut self, nodes: &'v [(CelNode, CelNode)]) -> Evaluated<'v> {
        let mut entries: Vec<(CelText<'v>, CelValue<'v>)> = Vec::with_capacity(nodes.len());
        for (key, value) in nodes {
            let CelValue::Text(key) = self.value(key)? else {
                return Err(InnerEvaluationError::new(
                    "the key of a map must be a string",
                ));
            };
            self.allowance.charge(entries.len() / 4)?;
            if entries.iter().any(|(other, _)| **other == *key) {
                return Err(InnerEvaluationError::new("a map has a key twice"));
            }
            let value = self.value(value)?;
            entries.push((key, value));
        }
        Ok(CelValue::Map(entries.into()))
    }
}
