//! Arithmetic, and `+` of texts and lists.

use crate::allowance::{EvaluationAllowance, long_text};
use crate::error::InnerEvaluationError;
use crate::evaluate::Evaluated;
use crate::evaluate::elements::elements;
use crate::nodes::BinaryOperator;
use crate::values::CelValue;

/// The result of an arithmetic operator.
pub(super) fn calculate<'v>(
    operator: BinaryOperator,
    left: CelValue<'v>,
    right: CelValue<'v>,
    allowance: &mut EvaluationAllowance,
) -> Evaluated<'v> {
    match (&left, &right) {
        (CelValue::Int(left), CelValue::Int(right)) => ints(operator, *left, *right),
        (CelValue::Double(left), CelValue::Double(right)) => doubles(operator, *left, *right),
        // JSON does not distinguish 1 from 1.0, so both kinds of numbers meet.
        (CelValue::Int(left), CelValue::Double(right)) => doubles(operator, *left as f64, *right),
        (CelValue::Double(left), CelValue::Int(right)) => doubles(operator, *left, *right as f64),
        _ if operator == BinaryOperator::Add => add(&left, &right, allowance),
        _ => Err(not_applicable(operator, &left, &right)),
    }
}

pub(super) fn negate<'v>(operand: &CelValue<'v>) -> Evaluated<'v> {
    match operand {
        CelValue::Int(value) => {
            let negated = value.checked_neg().map(CelValue::Int);
            negated.ok_or_else(|| out_of_range("-"))
        }
        CelValue::Double(value) => Ok(CelValue::Double(-value)),
        other => Err(InnerEvaluationError::new(format!(
            "`-` needs a number, not {}",
            other.type_name()
        ))),
    }
}

fn ints<'v>(operator: BinaryOperator, left: i64, right: i64) -> Evaluated<'v> {
    let result = match operator {
        BinaryOperator::Add => left.checked_add(right),
        BinaryOperator::Subtract => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        BinaryOperator::Divide | BinaryOperator::Remainder if right == 0 => {
            let message = format!("`{}` by zero", operator.sign());
            return Err(InnerEvaluationError::new(message));
        }
        BinaryOperator::Divide => left.checked_div(right),
        _ => left.checked_rem(right),
    };
    let result = result.map(CelValue::Int);
    result.ok_or_else(|| out_of_range(operator.sign()))
}

fn doubles<'v>(operator: BinaryOperator, left: f64, right: f64) -> Evaluated<'v> {
    Ok(CelValue::Double(match operator {
        BinaryOperator::Add => left + right,
        BinaryOperator::Subtract => left - right,
        BinaryOperator::Multiply => left * right,
        BinaryOperator::Divide => left / right,
        _ => {
            let doubles = (&CelValue::Double(left), &CelValue::Double(right));
            return Err(not_applicable(operator, doubles.0, doubles.1));
        }
    }))
}

/// Texts and lists, one after the other.
fn add<'v>(
    left: &CelValue<'v>,
    right: &CelValue<'v>,
    allowance: &mut EvaluationAllowance,
) -> Evaluated<'v> {
    if let (CelValue::Text(left), CelValue::Text(right)) = (left, right) {
        allowance.charge_text(left.len() + right.len())?;
        return Ok(CelValue::from([&**left, &**right].concat()));
    }
    if left.is_long_text() || right.is_long_text() {
        return Err(long_text());
    }
    let (Some(before), Some(after)) = (elements(left, allowance)?, elements(right, allowance)?)
    else {
        return Err(not_applicable(BinaryOperator::Add, left, right));
    };
    allowance.charge_list(before.len() + after.len())?;
    let mut list = Vec::with_capacity(before.len() + after.len());
    for element in before.chain(after) {
        list.push(element.value(allowance)?);
    }
    Ok(CelValue::List(list.into()))
}

fn out_of_range(sign: &str) -> InnerEvaluationError {
    InnerEvaluationError::new(format!("the result of `{sign}` is beyond the range of int"))
}

fn not_applicable(
    operator: BinaryOperator,
    left: &CelValue<'_>,
    right: &CelValue<'_>,
) -> InnerEvaluationError {
    InnerEvaluationError::new(format!(
        "`{}` cannot be applied to {} and {}",
        operator.sign(),
        left.type_name(),
        right.type_name()
    ))
}
