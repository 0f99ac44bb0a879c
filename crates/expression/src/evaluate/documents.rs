//! Values of documents, their members and elements. Only what is reached is read.

use headgate_protocol::json::{DocumentNode, ValueKind};

use super::{Evaluated, ExpressionEvaluator};
use crate::allowance::{EvaluationAllowance, TEXT_BYTES};
use crate::error::InnerEvaluationError;
use crate::names::DocumentKind;
use crate::nodes::CelNode;
use crate::pointer::{DocumentPointer, element, member};
use crate::values::CelValue;

/// The value of a node. Arrays, objects and strings that are too long to be read stay in the document.
pub(super) fn value<'v>(
    node: DocumentNode<'v>,
    allowance: &mut EvaluationAllowance,
) -> Evaluated<'v> {
    allowance.charge(1)?;
    Ok(match node.kind() {
        ValueKind::Null => CelValue::Null,
        ValueKind::Bool => CelValue::Bool(node.as_bool().expect("a boolean")),
        ValueKind::Number => return number(node, allowance),
        ValueKind::Array | ValueKind::Object => CelValue::Document(node),
        ValueKind::String if node.raw().len() > TEXT_BYTES => CelValue::Document(node),
        ValueKind::String => {
            allowance.charge_decoding(node.raw())?;
            CelValue::Text(node.as_str().expect("a string").into())
        }
    })
}

impl<'v> ExpressionEvaluator<'v> {
    /// The node of a document at a pointer.
    pub fn at_pointer(
        &mut self,
        kind: DocumentKind,
        pointer: &DocumentPointer,
    ) -> Result<Option<DocumentNode<'v>>, InnerEvaluationError> {
        match self.values.document(kind) {
            Some(root) => pointer.follow(root, &mut self.allowance),
            None => Ok(None),
        }
    }

    pub(super) fn member(&mut self, operand: &'v CelNode, name: &str) -> Evaluated<'v> {
        let operand = self.value(operand)?;
        self.find_member(&operand, name)?.ok_or_else(|| {
            InnerEvaluationError::new(format!("a {} has no member `{name}`", operand.type_name()))
        })
    }

    pub(super) fn has_member(
        &mut self,
        operand: &'v CelNode,
        name: &str,
    ) -> Result<bool, InnerEvaluationError> {
        let operand = self.value(operand)?;
        match operand {
            CelValue::Null => Ok(false),
            _ => Ok(self.find_member(&operand, name)?.is_some()),
        }
    }

    pub(super) fn index(&mut self, operand: &'v CelNode, index: &'v CelNode) -> Evaluated<'v> {
        let operand = self.value(operand)?;
        let index = self.value(index)?;
        let found = match (&operand, &index) {
            (CelValue::List(elements), CelValue::Int(index)) => usize::try_from(*index)
                .ok()
                .and_then(|index| elements.get(index).cloned()),
            (CelValue::Document(node), CelValue::Int(index)) if node.kind() == ValueKind::Array => {
                let index = usize::try_from(*index).unwrap_or(usize::MAX);
                let found = element(*node, index, &mut self.allowance)?;
                found
                    .map(|node| value(node, &mut self.allowance))
                    .transpose()?
            }
            (_, CelValue::Text(name)) if operand.type_name() == "map" => {
                self.find_member(&operand, name)?
            }
            _ => {
                let (operand, index) = (operand.type_name(), index.type_name());
                let message = format!("a {operand} cannot be indexed by {index}");
                return Err(InnerEvaluationError::new(message));
            }
        };
        found.ok_or_else(|| match index {
            CelValue::Int(_) => {
                InnerEvaluationError::new("the index is beyond the end of the list")
            }
            _ => InnerEvaluationError::new("the map has no member of that name"),
        })
    }

    /// The member of a map, if it is there.
    fn find_member(
        &mut self,
        operand: &CelValue<'v>,
        name: &str,
    ) -> Result<Option<CelValue<'v>>, InnerEvaluationError> {
        match operand {
            CelValue::Map(entries) => {
                self.allowance.charge(entries.len() / 4)?;
                let found = entries.iter().find(|(key, _)| **key == *name);
                Ok(found.map(|(_, value)| value.clone()))
            }
            CelValue::Document(node) if node.kind() == ValueKind::Object => {
                let found = member(*node, name, &mut self.allowance)?;
                found
                    .map(|node| value(node, &mut self.allowance))
                    .transpose()
            }
            other => Err(InnerEvaluationError::new(format!(
                "a value of type {} has no member `{name}`",
                other.type_name()
            ))),
        }
    }
}

fn number<'v>(node: DocumentNode<'v>, allowance: &mut EvaluationAllowance) -> Evaluated<'v> {
    allowance.charge(node.raw().len() / 16)?;
    let int = node.as_i64().map(CelValue::Int);
    int.or_else(|| node.as_f64().map(CelValue::Double))
        .ok_or_else(|| {
            InnerEvaluationError::new("a number of the document is beyond the range of double")
        })
}
