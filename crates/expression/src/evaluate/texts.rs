//! Functions of texts. Their results are measured before they are made.

use std::ops::Range;

use memchr::memmem;

use super::Evaluated;
use super::arguments::text_argument;
use super::elements::ListElements;

use crate::allowance::{EvaluationAllowance, LIST_ELEMENTS, TEXT_BYTES};
use crate::error::InnerEvaluationError;
use crate::nodes::CelFunction;
use crate::values::{CelText, CelValue};

/// Calls a function whose first argument is a text.
pub(super) fn call<'v>(
    function: CelFunction,
    arguments: &[CelValue<'v>],
    allowance: &mut EvaluationAllowance,
) -> Evaluated<'v> {
    use CelFunction as F;
    let name = name(function);
    let text = text_argument(&arguments[0], name)?;
    allowance.charge_bytes(text.len())?;
    match function {
        F::LowerAscii | F::UpperAscii => {
            allowance.charge_text(text.len())?;
            Ok(CelValue::from(match function {
                F::LowerAscii => text.to_ascii_lowercase(),
                _ => text.to_ascii_uppercase(),
            }))
        }
        F::Substring => {
            let end = arguments
                .get(2)
                .map(|end| int_argument(end, name))
                .transpose()?;
            let range = substring(text, int_argument(&arguments[1], name)?, end)?;
            slice(&arguments[0], range, allowance)
        }
        F::Split => {
            let limit = arguments
                .get(2)
                .map(|limit| int_argument(limit, name))
                .transpose()?;
            split(
                &arguments[0],
                text_argument(&arguments[1], name)?,
                limit,
                allowance,
            )
        }
        F::Replace => {
            let limit = arguments
                .get(3)
                .map(|limit| int_argument(limit, name))
                .transpose()?;
            let (from, to) = (
                text_argument(&arguments[1], name)?,
                text_argument(&arguments[2], name)?,
            );
            replace(text, from, to, limit, allowance)
        }
        _ => {
            let part = text_argument(&arguments[1], name)?;
            Ok(CelValue::Bool(match function {
                F::StartsWith => text.starts_with(part),
                F::EndsWith => text.ends_with(part),
                _ => memmem::find(text.as_bytes(), part.as_bytes()).is_some(),
            }))
        }
    }
}

/// The elements of a list of texts, one after the other.
pub(super) fn join<'v>(
    elements: ListElements<'_, 'v>,
    separator: Option<&CelValue<'v>>,
    allowance: &mut EvaluationAllowance,
) -> Evaluated<'v> {
    let separator = separator.map_or(Ok(""), |separator| text_argument(separator, "join"))?;
    let mut joined = String::new();
    for (index, element) in elements.enumerate() {
        let element = element.value(allowance)?;
        let text = text_argument(&element, "join")?;
        let separator = if index == 0 { "" } else { separator };
        allowance.charge(1)?;
        allowance.charge_bytes(separator.len() + text.len())?;
        within_limit(joined.len() + separator.len() + text.len(), allowance)?;
        joined.push_str(separator);
        joined.push_str(text);
    }
    Ok(CelValue::from(joined))
}

fn name(function: CelFunction) -> &'static str {
    match function {
        CelFunction::StartsWith => "startsWith",
        CelFunction::EndsWith => "endsWith",
        CelFunction::LowerAscii => "lowerAscii",
        CelFunction::UpperAscii => "upperAscii",
        CelFunction::Split => "split",
        CelFunction::Substring => "substring",
        CelFunction::Replace => "replace",
        _ => "contains",
    }
}

fn int_argument(value: &CelValue<'_>, function: &str) -> Result<i64, InnerEvaluationError> {
    match value {
        CelValue::Int(value) => Ok(*value),
        other => Err(InnerEvaluationError::new(format!(
            "`{function}` needs an int, not {}",
            other.type_name()
        ))),
    }
}

/// The bytes between two positions that count code points.
fn substring(
    text: &str,
    start: i64,
    end: Option<i64>,
) -> Result<Range<usize>, InnerEvaluationError> {
    let beyond = || InnerEvaluationError::new("the range of `substring` is beyond the string");
    let mut offsets = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let start = usize::try_from(start).map_err(|_| beyond())?;
    let from = offsets.nth(start).ok_or_else(beyond)?;
    let Some(end) = end else {
        return Ok(from..text.len());
    };
    let end = usize::try_from(end).map_err(|_| beyond())?;
    let to = match end.checked_sub(start).ok_or_else(beyond)?.checked_sub(1) {
        Some(more) => offsets.nth(more).ok_or_else(beyond)?,
        None => from,
    };
    Ok(from..to)
}

/// A part of a text; borrowed if the text is.
fn slice<'v>(
    value: &CelValue<'v>,
    range: Range<usize>,
    allowance: &mut EvaluationAllowance,
) -> Evaluated<'v> {
    match value {
        CelValue::Text(CelText::Borrowed(text)) => {
            Ok(CelValue::Text(CelText::Borrowed(&text[range])))
        }
        CelValue::Text(CelText::Shared(text)) => {
            allowance.charge_bytes(range.len())?;
            Ok(CelValue::Text(CelText::Shared(text[range].into())))
        }
        _ => Ok(CelValue::Null),
    }
}

fn split<'v>(
    value: &CelValue<'v>,
    separator: &str,
    limit: Option<i64>,
    allowance: &mut EvaluationAllowance,
) -> Evaluated<'v> {
    let text = text_argument(value, "split")?;
    // A negative limit is none, as in CEL's extension.
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let mut ranges = Vec::new();
    let mut rest = 0;
    let mut cut = |range: Range<usize>, allowance: &mut EvaluationAllowance| {
        if ranges.len() == LIST_ELEMENTS {
            let message = format!("a list has more than {LIST_ELEMENTS} elements");
            return Err(InnerEvaluationError::new(message));
        }
        allowance.charge(1)?;
        ranges.push(range);
        Ok(ranges.len())
    };
    if limit != Some(0) {
        let mut count = 0;
        for range in separators(text, separator) {
            if limit.is_some_and(|limit| count + 1 >= limit) {
                break;
            }
            count = cut(rest..range.start, allowance)?;
            rest = range.end;
        }
        if !(separator.is_empty() && text.is_empty()) {
            cut(rest..text.len(), allowance)?;
        }
    }
    let mut parts = Vec::with_capacity(ranges.len());
    for range in ranges {
        parts.push(slice(value, range, allowance)?);
    }
    Ok(CelValue::List(parts.into()))
}

/// Where a text is separated; the empty separator separates every two code points.
fn separators<'t>(
    text: &'t str,
    separator: &'t str,
) -> Box<dyn Iterator<Item = Range<usize>> + 't> {
    match separator.is_empty() {
        true => Box::new(text.char_indices().skip(1).map(|(at, _)| at..at)),
        false => {
            let found = memmem::find_iter(text.as_bytes(), separator.as_bytes());
            Box::new(found.map(|at| at..at + separator.len()))
        }
    }
}

fn replace<'v>(
    text: &str,
    from: &str,
    to: &str,
    limit: Option<i64>,
    allowance: &mut EvaluationAllowance,
) -> Evaluated<'v> {
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let mut replaced = String::new();
    let mut rest = 0;
    for (at, _) in text.match_indices(from).take(limit.unwrap_or(usize::MAX)) {
        let before = &text[rest..at];
        allowance.charge(1)?;
        allowance.charge_bytes(before.len() + to.len())?;
        within_limit(replaced.len() + before.len() + to.len(), allowance)?;
        replaced.push_str(before);
        replaced.push_str(to);
        rest = at + from.len();
    }
    let after = &text[rest..];
    allowance.charge_bytes(after.len())?;
    within_limit(replaced.len() + after.len(), allowance)?;
    replaced.push_str(after);
    Ok(CelValue::from(replaced))
}

/// Refuses a text that becomes too long; its bytes are charged where they are copied.
fn within_limit(
    bytes: usize,
    allowance: &mut EvaluationAllowance,
) -> Result<(), InnerEvaluationError> {
    if bytes > TEXT_BYTES {
        return allowance.charge_text(bytes);
    }
    Ok(())
}
