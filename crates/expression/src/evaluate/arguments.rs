//! What functions need of their arguments.

use crate::allowance::long_text;
use crate::error::InnerEvaluationError;
use crate::values::CelValue;

/// The text of an argument that must be one.
pub(super) fn text_argument<'l>(
    value: &'l CelValue<'_>,
    function: &str,
) -> Result<&'l str, InnerEvaluationError> {
    match value {
        CelValue::Text(text) => Ok(text),
        _ if value.is_long_text() => Err(long_text()),
        other => Err(InnerEvaluationError::new(format!(
            "`{function}` needs a string, not {}",
            other.type_name()
        ))),
    }
}
