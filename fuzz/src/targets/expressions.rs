//! Expressions: any text is compiled or refused at its position, evaluation is bounded, and values agree with those of `cel`.
//!
//! An input is an expression, and after a line with `--` a JSON document that it may read as request and response.

mod exchange_values;
mod reference_value;

use crate::input::parts;
use bytes::Bytes;
use exchange_values::{ExchangeValues, SECRET};
use headgate_expression::{EvaluationPhase, Expression};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use reference_value::check_against_reference;
use serde_json::Value;

/// All phases, in their order.
const PHASES: [EvaluationPhase; 6] = [
    EvaluationPhase::Head,
    EvaluationPhase::Body,
    EvaluationPhase::Attempt,
    EvaluationPhase::ResponseHead,
    EvaluationPhase::ResponseBody,
    EvaluationPhase::Event,
];
/// Functions and variables that only Headgate has; `cel` refuses them, or has others of that name.
const OWN_NAMES: [&str; 4] = ["min", "max", "matches", "now"];

pub fn run(input: &[u8]) {
    let [text, body] = parts(input);
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let Some(expression) = compile(text) else {
        return;
    };
    let body = match body.is_empty() {
        true => Bytes::from_static(b"null"),
        false => Bytes::copy_from_slice(body),
    };
    let Ok(document) = JsonDocument::parse(body, &JsonLimits::default()) else {
        return;
    };
    let values = ExchangeValues(document.root());
    let ours = expression.json(&values).map_err(|error| error.to_string());
    if let Ok(ours) = &ours {
        let is_json = serde_json::from_slice::<Value>(ours).is_ok();
        assert!(is_json || has_large_number(ours), "{}", ours.escape_ascii());
    }
    check_forms(&expression, &values, ours.as_deref().ok());
    for (name, shown) in expression.observed(&values) {
        assert!(
            !name.is_empty() && !shown.contains(SECRET),
            "{name}: {shown}"
        );
    }
    if let Ok(ours) = &ours
        && expression.references().is_empty()
        && !has_own_name(text)
        // `cel` writes all digits of a double.
        && !(text.contains("string") && has_large_number(ours))
    {
        check_against_reference(text, ours);
    }
}

/// Compiles a text; `None` if it is refused in all phases. It is compiled from its own phase on, and as condition or text
/// only if it may be one.
fn compile(text: &str) -> Option<Expression> {
    let compiled = PHASES.map(|phase| Expression::compile(text, phase));
    for error in compiled
        .iter()
        .filter_map(|compiled| compiled.as_ref().err())
    {
        assert!(!error.describe(text).is_empty());
    }
    let expression = compiled.iter().find_map(|compiled| compiled.as_ref().ok());
    let Some(expression) = expression.cloned() else {
        for phase in PHASES {
            assert!(Expression::compile_condition(text, phase).is_err());
            assert!(Expression::compile_text(text, phase).is_err());
        }
        return None;
    };
    assert_eq!(expression.text(), text);
    for (phase, compiled) in PHASES.iter().zip(&compiled) {
        // An event does not know what the whole response adds.
        if *phase < EvaluationPhase::Event {
            assert_eq!(compiled.is_ok(), *phase >= expression.phase());
        }
    }
    Some(expression)
}

/// The value as a condition and as a text is the one in JSON, and what is refused as either is none.
fn check_forms(expression: &Expression, values: &ExchangeValues<'_>, ours: Option<&[u8]>) {
    let condition = expression.is_true(values).ok();
    let text = expression.text_value(values).ok();
    let Some(value) = ours.and_then(|ours| serde_json::from_slice::<Value>(ours).ok()) else {
        return;
    };
    assert_eq!(condition, value.as_bool());
    if let (Some(text), Some(expected)) = (&text, value.as_str()) {
        assert_eq!(text, expected);
    }
    let (source, phase) = (expression.text(), EvaluationPhase::ResponseBody);
    if Expression::compile(source, phase).is_ok() {
        let is_condition = Expression::compile_condition(source, phase).is_ok();
        assert!(
            is_condition || condition.is_none(),
            "{source} is refused as a condition"
        );
        let is_text = Expression::compile_text(source, phase).is_ok();
        assert!(is_text || text.is_none(), "{source} is refused as a text");
    }
}

fn has_own_name(text: &str) -> bool {
    OWN_NAMES.iter().any(|name| text.contains(name))
}

fn has_large_number(json: &[u8]) -> bool {
    json.len() > 300 || json.iter().any(|byte| matches!(byte, b'e' | b'E'))
}
