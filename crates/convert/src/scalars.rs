//! Numbers and booleans of a source file, as its gateway reads them.

use serde_json::Value;

/// A number; also one in a text, and one with underscores, which YAML 1.1 allows.
pub fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().replace('_', "").parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// A number without a fraction, at least 1.
pub fn count(value: &Value) -> Option<u64> {
    let number = number(value)?;
    let is_count = (1.0..=1e15).contains(&number) && number.fract() == 0.0;
    is_count.then_some(number as u64)
}

/// Seconds as milliseconds, at least one.
pub fn milliseconds(value: &Value) -> Option<u64> {
    let seconds = number(value)?;
    let is_time = seconds > 0.0 && seconds <= 30.0 * 24.0 * 3600.0;
    is_time.then_some(((seconds * 1000.0).round() as u64).max(1))
}

/// A boolean; also one of the words that YAML 1.1 takes for one.
pub fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// The text of a scalar; nothing for an empty one.
pub fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A duration as routes.yaml has it.
pub fn duration(milliseconds: u64) -> String {
    match milliseconds % 1000 {
        0 => format!("{}s", milliseconds / 1000),
        _ => format!("{milliseconds}ms"),
    }
}
