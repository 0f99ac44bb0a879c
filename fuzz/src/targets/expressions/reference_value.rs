//! The value of an expression that reads nothing, as the crate `cel` has it.

use cel::{Context, Env, Value as CelValue};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// Compares a value, as JSON, with the one of `cel`, where that has one.
pub fn check_against_reference(text: &str, ours: &[u8]) {
    let Ok(program) = ENVIRONMENT.compile(text) else {
        return;
    };
    let theirs = program.execute(&Context::with_env(Arc::clone(&ENVIRONMENT)));
    let Some(theirs) = theirs.ok().and_then(|value| as_json(&value)) else {
        return;
    };
    let ours: Value = serde_json::from_slice(ours).unwrap_or_default();
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
