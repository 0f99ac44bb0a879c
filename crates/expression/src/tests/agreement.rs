//! The evaluation agrees with the one of the crate `cel` on what both have.

use std::sync::Arc;

use cel::{Context, Env, Value};
use serde_json::json;

use super::exchange::RecordedExchange;
use super::random::{ExpressionKind, SeededRandom};
use crate::{EvaluationPhase, Expression};

const ROUNDS: usize = 3_000;

#[test]
fn random_expressions_have_the_values_that_cel_gives_them() {
    let exchange = RecordedExchange::default();
    let env = Arc::new(Env::stdlib());
    let mut random = SeededRandom(4);
    let (mut values, mut errors) = (0, 0);
    for _ in 0..ROUNDS {
        let text = random.expression(ExpressionKind::Closed, 4);
        let ours = Expression::compile(&text, EvaluationPhase::Head);
        let Ok(program) = env.compile(&text) else {
            continue;
        };
        let ours = match ours {
            Ok(ours) => ours.json(&exchange),
            // What is refused at load has no value, or compares what is never equal.
            Err(_) => {
                let theirs = program.execute(&Context::with_env(Arc::clone(&env)));
                errors += usize::from(theirs.is_err());
                continue;
            }
        };
        match program.execute(&Context::with_env(Arc::clone(&env))) {
            Ok(theirs) => {
                let Some(theirs) = as_json(&theirs) else {
                    continue;
                };
                let Ok(ours) = &ours else {
                    panic!("{text}: {ours:?}, not {theirs}");
                };
                let ours: serde_json::Value = serde_json::from_slice(ours).unwrap();
                assert!(same(&ours, &theirs), "{text}: {ours}, not {theirs}");
                values += 1;
            }
            // Numbers of both kinds may be mixed here.
            Err(_) if text.contains('.') => {}
            Err(theirs) => {
                assert!(ours.is_err(), "{text}: {ours:?}, not {theirs}");
                errors += 1;
            }
        }
    }
    assert!(
        values > 200 && errors > 100,
        "{values} values, {errors} errors"
    );
}

/// A value of cel as JSON; `None` for doubles that JSON does not have.
fn as_json(value: &Value) -> Option<serde_json::Value> {
    Some(match value {
        Value::Null => json!(null),
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Float(value) if value.is_finite() => json!(value),
        Value::String(value) => json!(**value),
        Value::List(elements) => elements
            .iter()
            .map(as_json)
            .collect::<Option<Vec<_>>>()?
            .into(),
        Value::Map(map) => {
            let entries = map.map.iter();
            let entries = entries.map(|(key, value)| Some((key.to_string(), as_json(value)?)));
            serde_json::Value::Object(entries.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Whether two JSON values are equal, where 1 and 1.0 are.
fn same(left: &serde_json::Value, right: &serde_json::Value) -> bool {
    match (
        left.as_f64(),
        right.as_f64(),
        left.as_array(),
        right.as_array(),
    ) {
        (Some(left), Some(right), ..) => left == right,
        (_, _, Some(left), Some(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right))
        }
        _ => match (left.as_object(), right.as_object()) {
            (Some(left), Some(right)) => {
                let found = |(key, value): (&String, _)| {
                    right.get(key).is_some_and(|other| same(value, other))
                };
                left.len() == right.len() && left.iter().all(found)
            }
            _ => left == right,
        },
    }
}
