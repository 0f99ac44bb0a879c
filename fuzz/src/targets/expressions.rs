//! Expressions: any text is compiled or refused at its position, evaluation is bounded, and values agree with those of `cel`.
//!
//! An input is an expression, and after a line with `--` a JSON document that it may read.

use crate::input::parts;
use bytes::Bytes;
use cel::{Context, Env, Value as CelValue};
use headgate_expression::{DocumentKind, DocumentValues, EvaluationPhase, Expression};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));
/// Functions and variables that only Headgate has; `cel` refuses them, or has others of that name.
const OWN_NAMES: [&str; 4] = ["min", "max", "matches", "now"];

pub fn run(input: &[u8]) {
    let [text, body] = parts(input);
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let expression = match Expression::compile(text, EvaluationPhase::Head) {
        Ok(expression) => expression,
        Err(error) => {
            assert!(!error.describe(text).is_empty());
            return;
        }
    };
    assert_eq!(expression.text(), text);
    let body = match body.is_empty() {
        true => Bytes::from_static(b"null"),
        false => Bytes::copy_from_slice(body),
    };
    let Ok(document) = JsonDocument::parse(body, &JsonLimits::default()) else {
        return;
    };
    let values = DocumentValues {
        kind: DocumentKind::Request,
        root: document.root(),
    };
    let ours = expression.json(&values).map_err(|error| error.to_string());
    if let Ok(ours) = &ours {
        let is_json = serde_json::from_slice::<Value>(ours).is_ok();
        assert!(is_json || has_large_number(ours), "{}", ours.escape_ascii());
    }
    check_forms(&expression, &values, ours.as_deref().ok());
    let is_closed = expression.references().is_empty() && !has_own_name(text);
    if is_closed {
        compare(text, ours.map(|ours| ours.to_vec()));
    }
}

/// The value as a condition and as a text is the one in JSON.
fn check_forms(expression: &Expression, values: &DocumentValues<'_>, ours: Option<&[u8]>) {
    let condition = expression.is_true(values).ok();
    let text = expression.text_value(values).ok();
    expression.observed(values);
    let Some(value) = ours.and_then(|ours| serde_json::from_slice::<Value>(ours).ok()) else {
        return;
    };
    let is_clock = expression
        .references()
        .iter()
        .any(|reference| format!("{reference:?}").contains("Now"));
    if is_clock {
        return;
    }
    assert_eq!(condition, value.as_bool());
    if let (Some(text), Some(expected)) = (text, value.as_str()) {
        assert_eq!(text, expected);
    }
}

fn has_own_name(text: &str) -> bool {
    OWN_NAMES.iter().any(|name| text.contains(name))
}

fn has_large_number(json: &[u8]) -> bool {
    json.len() > 300 || json.iter().any(|byte| matches!(byte, b'e' | b'E'))
}

/// Compares a value with the one of `cel`, where that has one.
fn compare(text: &str, ours: Result<Vec<u8>, String>) {
    let Ok(program) = ENVIRONMENT.compile(text) else {
        return;
    };
    let theirs = program.execute(&Context::with_env(Arc::clone(&ENVIRONMENT)));
    let Some(theirs) = theirs.ok().and_then(|value| as_json(&value)) else {
        return;
    };
    // An evaluation has limits that `cel` does not have.
    let Ok(ours) = ours else {
        return;
    };
    let ours: Value = serde_json::from_slice(&ours).unwrap_or_default();
    assert!(is_same(&ours, &theirs), "{text}: {ours}, not {theirs}");
}

/// A value of `cel` as JSON; `None` for what JSON does not have.
fn as_json(value: &CelValue) -> Option<Value> {
    Some(match value {
        CelValue::Null => Value::Null,
        CelValue::Bool(value) => json!(value),
        CelValue::Int(value) => json!(value),
        CelValue::Float(value) if value.is_finite() => json!(value),
        CelValue::String(value) => json!(**value),
        CelValue::List(elements) => {
            let elements = elements.iter().map(as_json);
            Value::Array(elements.collect::<Option<Vec<_>>>()?)
        }
        CelValue::Map(map) => {
            let entries = map.map.iter();
            let entries = entries.map(|(key, value)| Some((key.to_string(), as_json(value)?)));
            Value::Object(entries.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Whether two JSON values are equal, where 1 and 1.0 are.
fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            let mut pairs = left.iter().zip(right);
            left.len() == right.len() && pairs.all(|(left, right)| is_same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let found = |(key, value): (&String, _)| {
                right.get(key).is_some_and(|other| is_same(value, other))
            };
            left.len() == right.len() && left.iter().all(found)
        }
        _ => left == right,
    }
}
