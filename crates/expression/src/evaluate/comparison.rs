//! Equality, order and membership.

use std::cmp::Ordering;

use headgate_protocol::json::{DocumentNode, ValueKind};

use crate::allowance::{EvaluationAllowance, long_text};
use crate::error::InnerEvaluationError;
use crate::evaluate::documents;
use crate::evaluate::elements::elements;
use crate::nodes::BinaryOperator;
use crate::pointer::{charge_elements, member};
use crate::values::{CelText, CelValue};

type Compared = Result<bool, InnerEvaluationError>;

/// Whether two values are equal. Values of different types are not, except for numbers.
pub(super) fn equal<'v>(
    left: &CelValue<'v>,
    right: &CelValue<'v>,
    allowance: &mut EvaluationAllowance,
) -> Compared {
    allowance.charge(1)?;
    Ok(match (left, right) {
        (CelValue::Null, CelValue::Null) => true,
        (CelValue::Bool(left), CelValue::Bool(right)) => left == right,
        (CelValue::Int(left), CelValue::Int(right)) => left == right,
        (CelValue::Double(left), CelValue::Double(right)) => left == right,
        (CelValue::Int(int), CelValue::Double(double))
        | (CelValue::Double(double), CelValue::Int(int)) => *int as f64 == *double,
        (CelValue::Text(left), CelValue::Text(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            allowance.charge_bytes(left.len())?;
            **left == **right
        }
        _ => {
            let is_text = |value: &CelValue<'_>| value.type_name() == "string";
            if is_text(left) && is_text(right) {
                return Err(long_text());
            }
            return match (left.type_name(), right.type_name()) {
                ("list", "list") => equal_lists(left, right, allowance),
                ("map", "map") => equal_maps(left, right, allowance),
                _ => Ok(false),
            };
        }
    })
}

/// The result of an operator that orders numbers, texts or booleans.
pub(super) fn ordered(
    operator: BinaryOperator,
    left: &CelValue<'_>,
    right: &CelValue<'_>,
    allowance: &mut EvaluationAllowance,
) -> Compared {
    let order = match (left, right) {
        (CelValue::Int(left), CelValue::Int(right)) => Some(left.cmp(right)),
        (CelValue::Double(left), CelValue::Double(right)) => left.partial_cmp(right),
        (CelValue::Int(left), CelValue::Double(right)) => (*left as f64).partial_cmp(right),
        (CelValue::Double(left), CelValue::Int(right)) => left.partial_cmp(&(*right as f64)),
        (CelValue::Bool(left), CelValue::Bool(right)) => Some(left.cmp(right)),
        (CelValue::Text(left), CelValue::Text(right)) => {
            allowance.charge_bytes(left.len().min(right.len()))?;
            Some((**left).cmp(&**right))
        }
        _ if left.is_long_text() || right.is_long_text() => return Err(long_text()),
        _ => {
            return Err(InnerEvaluationError::new(format!(
                "`{}` cannot compare {} with {}",
                operator.sign(),
                left.type_name(),
                right.type_name()
            )));
        }
    };
    // A double that is not a number is neither less nor greater.
    Ok(match operator {
        BinaryOperator::Less => order == Some(Ordering::Less),
        BinaryOperator::LessOrEqual => order.is_some_and(Ordering::is_le),
        BinaryOperator::Greater => order == Some(Ordering::Greater),
        _ => order.is_some_and(Ordering::is_ge),
    })
}

/// `in`: whether a list has the element, or a map the key.
pub(super) fn contains<'v>(
    key: &CelValue<'v>,
    container: &CelValue<'v>,
    allowance: &mut EvaluationAllowance,
) -> Compared {
    if let Some(elements) = elements(container, allowance)? {
        for element in elements {
            let element = element.value(allowance)?;
            if equal(key, &element, allowance)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    match (key, container) {
        (CelValue::Text(key), CelValue::Map(entries)) => {
            allowance.charge(entries.len() / 4)?;
            Ok(entries.iter().any(|(other, _)| **other == **key))
        }
        (CelValue::Text(key), CelValue::Document(node)) if node.kind() == ValueKind::Object => {
            Ok(member(*node, key, allowance)?.is_some())
        }
        (_, CelValue::Map(_)) => Ok(false),
        (_, CelValue::Document(node)) if node.kind() == ValueKind::Object => Ok(false),
        _ => Err(InnerEvaluationError::new(format!(
            "`in` needs a list or map, not {}",
            container.type_name()
        ))),
    }
}

fn equal_lists<'v>(
    left: &CelValue<'v>,
    right: &CelValue<'v>,
    allowance: &mut EvaluationAllowance,
) -> Compared {
    let (Some(left), Some(right)) = (elements(left, allowance)?, elements(right, allowance)?)
    else {
        return Ok(false);
    };
    if left.len() != right.len() {
        return Ok(false);
    }
    for (left, right) in left.zip(right) {
        let left = left.value(allowance)?;
        let right = right.value(allowance)?;
        if !equal(&left, &right, allowance)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps<'v>(
    left: &CelValue<'v>,
    right: &CelValue<'v>,
    allowance: &mut EvaluationAllowance,
) -> Compared {
    let left = entries(left, allowance)?;
    let right = entries(right, allowance)?;
    if left.len() != right.len() {
        return Ok(false);
    }
    for (key, value) in &left {
        allowance.charge(1 + right.len() / 4)?;
        let Some((_, other)) = right.iter().find(|(other, _)| **other == **key) else {
            return Ok(false);
        };
        if !equal(value, other, allowance)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The entries of a map.
fn entries<'v>(
    map: &CelValue<'v>,
    allowance: &mut EvaluationAllowance,
) -> Result<Vec<(CelText<'v>, CelValue<'v>)>, InnerEvaluationError> {
    match map {
        CelValue::Map(entries) => {
            allowance.charge(entries.len())?;
            Ok(entries.to_vec())
        }
        CelValue::Document(node) => object_entries(*node, allowance),
        _ => Ok(Vec::new()),
    }
}

fn object_entries<'v>(
    object: DocumentNode<'v>,
    allowance: &mut EvaluationAllowance,
) -> Result<Vec<(CelText<'v>, CelValue<'v>)>, InnerEvaluationError> {
    charge_elements(object.len(), allowance)?;
    let mut entries = Vec::with_capacity(object.len());
    for (key, node) in object.members() {
        allowance.charge(1)?;
        allowance.charge_bytes(key.len())?;
        entries.push((CelText::from(key), documents::value(node, allowance)?));
    }
    Ok(entries)
}
