//! Values as JSON text.

use headgate_protocol::json::quoted;

use crate::allowance::{EvaluationAllowance, TEXT_BYTES, long_text};
use crate::error::InnerEvaluationError;
use crate::values::CelValue;

/// Doubles between these are written in digits, others with an exponent.
const PLAIN_DOUBLES: std::ops::Range<f64> = 1e-6..1e17;

/// Appends a value as compact JSON; values of documents as their original bytes.
pub(crate) fn write(
    value: &CelValue<'_>,
    out: &mut Vec<u8>,
    allowance: &mut EvaluationAllowance,
) -> Result<(), InnerEvaluationError> {
    allowance.charge(1)?;
    match value {
        CelValue::Null => append(out, b"null", allowance),
        CelValue::Bool(value) => append(out, value.to_string().as_bytes(), allowance),
        CelValue::Int(value) => append(out, value.to_string().as_bytes(), allowance),
        CelValue::Double(value) => append(out, double_text(*value)?.as_bytes(), allowance),
        CelValue::Text(text) => {
            allowance.charge_text(text.len())?;
            append(out, &quoted(text), allowance)
        }
        CelValue::Document(node) => append(out, node.raw(), allowance),
        CelValue::List(elements) => {
            append(out, b"[", allowance)?;
            for (index, element) in elements.iter().enumerate() {
                separate(index, out);
                write(element, out, allowance)?;
            }
            append(out, b"]", allowance)
        }
        CelValue::Map(entries) => {
            append(out, b"{", allowance)?;
            for (index, (key, value)) in entries.iter().enumerate() {
                separate(index, out);
                append(out, &quoted(key), allowance)?;
                out.push(b':');
                write(value, out, allowance)?;
            }
            append(out, b"}", allowance)
        }
    }
}

/// The shortest text of a double that reads back as the same double; whole numbers have no fraction.
pub(crate) fn double_text(value: f64) -> Result<String, InnerEvaluationError> {
    if !value.is_finite() {
        let message = "a double that is infinite or not a number has no text";
        return Err(InnerEvaluationError::new(message));
    }
    let is_plain = value == 0.0 || PLAIN_DOUBLES.contains(&value.abs());
    Ok(match is_plain {
        true => value.to_string(),
        false => format!("{value:e}"),
    })
}

fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

fn append(
    out: &mut Vec<u8>,
    bytes: &[u8],
    allowance: &mut EvaluationAllowance,
) -> Result<(), InnerEvaluationError> {
    if out.len() + bytes.len() > TEXT_BYTES {
        return Err(long_text());
    }
    allowance.charge_bytes(bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}
