//! Functions of values of any type, and the dispatch to those of texts.

use super::{Evaluated, ExpressionEvaluator, texts};
use crate::allowance::long_text;
use crate::error::InnerEvaluationError;
use crate::evaluate::elements::elements;
use crate::json_text::double_text;
use crate::nodes::{CelFunction, CelNode};
use crate::values::CelValue;

/// The most arguments of a function.
const ARGUMENTS: usize = 4;
/// Bytes of a string whose code points are counted in one step.
const COUNTED_BYTES_PER_STEP: usize = 128;

impl<'v> ExpressionEvaluator<'v> {
    pub(super) fn function(
        &mut self,
        function: CelFunction,
        nodes: &'v [CelNode],
    ) -> Evaluated<'v> {
        let mut arguments = [const { CelValue::Null }; ARGUMENTS];
        for (argument, node) in arguments.iter_mut().zip(nodes) {
            *argument = self.value(node)?;
        }
        let arguments = &arguments[..nodes.len()];
        let allowance = &mut self.allowance;
        use CelFunction as F;
        match function {
            F::Size => self.size(&arguments[0]),
            F::ToText => to_text(&arguments[0]),
            F::ToInt => to_int(&arguments[0]),
            F::ToDouble => to_double(&arguments[0]),
            F::Min | F::Max => bound(function, &arguments[0], &arguments[1]),
            F::Join => {
                let Some(elements) = elements(&arguments[0], allowance)? else {
                    let found = arguments[0].type_name();
                    let message = format!("`join` needs a list, not {found}");
                    return Err(InnerEvaluationError::new(message));
                };
                texts::join(elements, arguments.get(1), allowance)
            }
            _ => texts::call(function, arguments, allowance),
        }
    }

    fn size(&mut self, value: &CelValue<'v>) -> Evaluated<'v> {
        let size = match value {
            CelValue::Text(text) => {
                self.allowance.charge(text.len() / COUNTED_BYTES_PER_STEP)?;
                text.chars().count()
            }
            CelValue::List(elements) => elements.len(),
            CelValue::Map(entries) => entries.len(),
            CelValue::Document(node) if value.is_long_text() => {
                self.allowance
                    .charge(node.raw().len() / COUNTED_BYTES_PER_STEP)?;
                node.str_len().unwrap_or_default()
            }
            CelValue::Document(node) => node.len(),
            other => {
                let message = format!(
                    "`size` needs a string, list or map, not {}",
                    other.type_name()
                );
                return Err(InnerEvaluationError::new(message));
            }
        };
        Ok(CelValue::Int(i64::try_from(size).unwrap_or(i64::MAX)))
    }
}

fn to_text<'v>(value: &CelValue<'v>) -> Evaluated<'v> {
    match value {
        CelValue::Text(text) => Ok(CelValue::Text(text.clone())),
        CelValue::Int(value) => Ok(CelValue::from(value.to_string())),
        CelValue::Bool(value) => Ok(CelValue::from(value.to_string())),
        CelValue::Double(value) => double_text(*value).map(CelValue::from),
        _ if value.is_long_text() => Err(long_text()),
        other => Err(not_convertible(other, "string")),
    }
}

fn to_int<'v>(value: &CelValue<'v>) -> Evaluated<'v> {
    // The doubles next to the bounds of i64: 2^63 itself is beyond.
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    match value {
        CelValue::Int(value) => Ok(CelValue::Int(*value)),
        CelValue::Double(value) if (-BOUND..BOUND).contains(value) => {
            Ok(CelValue::Int(value.trunc() as i64))
        }
        CelValue::Double(_) => Err(InnerEvaluationError::new(
            "a double is beyond the range of int",
        )),
        CelValue::Text(text) => {
            let parsed = text.parse().map(CelValue::Int);
            parsed.map_err(|_| InnerEvaluationError::new("a string is not a whole number"))
        }
        other => Err(not_convertible(other, "int")),
    }
}

fn to_double<'v>(value: &CelValue<'v>) -> Evaluated<'v> {
    match value {
        CelValue::Int(value) => Ok(CelValue::Double(*value as f64)),
        CelValue::Double(value) => Ok(CelValue::Double(*value)),
        CelValue::Text(text) => {
            let parsed: Option<f64> = text.parse().ok();
            let finite = parsed.filter(|value| value.is_finite());
            let finite = finite.map(CelValue::Double);
            finite.ok_or_else(|| InnerEvaluationError::new("a string is not a number"))
        }
        other => Err(not_convertible(other, "double")),
    }
}

/// The smaller or larger of two numbers, in its own type.
fn bound<'v>(function: CelFunction, left: &CelValue<'v>, right: &CelValue<'v>) -> Evaluated<'v> {
    let number = |value: &CelValue<'v>| match value {
        CelValue::Int(value) => Ok(*value as f64),
        CelValue::Double(value) => Ok(*value),
        other => Err(InnerEvaluationError::new(format!(
            "`min` and `max` need numbers, not {}",
            other.type_name()
        ))),
    };
    let is_less = match (left, right) {
        (CelValue::Int(left), CelValue::Int(right)) => left < right,
        _ => number(left)? < number(right)?,
    };
    let takes_left = is_less == (function == CelFunction::Min);
    Ok(if takes_left {
        left.clone()
    } else {
        right.clone()
    })
}

fn not_convertible(value: &CelValue<'_>, to: &str) -> InnerEvaluationError {
    InnerEvaluationError::new(format!("{to}() cannot convert {}", value.type_name()))
}
