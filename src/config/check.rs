//! A file's values against the schema: every mistake found at once.

use super::document::{Document, Finding};
use super::explain::{explain, keys, parent_schema};
use crate::protocol::nearest::nearest;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Number, Value};

/// Everything about these values that the schema does not allow.
///
/// A scalar that came from a variable becomes a number or boolean where the schema wants one.
///
/// # Panics
/// If the schema is none: it is generated, and a test compiles it.
pub fn check(value: &mut Value, schema: &Value, document: &Document) -> Vec<Finding> {
    let validator = jsonschema::draft202012::options()
        .build(schema)
        .expect("the generated schema is a schema");
    let mistyped: Vec<(String, String)> = validator
        .iter_errors(value)
        .filter_map(|error| {
            let pointer = error.instance_path().as_str();
            let path = error.schema_path().as_str();
            let is_type = path.ends_with("/type") && document.is_expanded(pointer);
            is_type.then(|| (pointer.to_owned(), path.to_owned()))
        })
        .collect();
    for (pointer, path) in mistyped {
        if let (Some(wanted), Some(scalar)) = (schema.pointer(&path), value.pointer_mut(&pointer)) {
            retype(scalar, wanted);
        }
    }
    let errors: Vec<_> = validator.iter_errors(value).collect();
    let unknown: Vec<_> = errors
        .iter()
        .filter_map(|error| unknown_keys(error, schema))
        .collect();
    let mut findings = Vec::new();
    for error in &errors {
        if !unknown.iter().any(|unknown| unknown.explains(error)) {
            findings.extend(explain(error, schema, document));
        }
    }
    findings
}

/// Unknown keys of a mapping.
struct UnknownKeys<'schema> {
    pointer: String,
    /// Known keys that were most likely meant.
    meant: Vec<&'schema str>,
}

impl UnknownKeys<'_> {
    /// Whether this other error vanishes with the unknown keys: a misspelt key is not missing as well.
    fn explains(&self, error: &ValidationError<'_>) -> bool {
        let is_consequence = match error.kind() {
            Kind::Required { property } => self.meant.iter().any(|key| property == key),
            Kind::MaxProperties { .. } => true,
            _ => false,
        };
        is_consequence && self.pointer == error.instance_path().as_str()
    }
}

fn unknown_keys<'schema>(
    error: &ValidationError<'_>,
    schema: &'schema Value,
) -> Option<UnknownKeys<'schema>> {
    let Kind::AdditionalProperties { unexpected } = error.kind() else {
        return None;
    };
    let wanted = parent_schema(error, schema);
    let meant = unexpected
        .iter()
        .flat_map(|key| nearest(key, keys(wanted), 1));
    Some(UnknownKeys {
        pointer: error.instance_path().as_str().to_owned(),
        meant: meant.collect(),
    })
}

/// Reads a text as the scalar that is wanted instead, if it is one.
fn retype(scalar: &mut Value, wanted: &Value) {
    let Value::String(text) = &*scalar else {
        return;
    };
    let typed = match wanted.as_str() {
        Some("integer") => text.parse::<i64>().ok().map(Value::from),
        Some("number") => text
            .parse()
            .ok()
            .and_then(Number::from_f64)
            .map(Value::Number),
        Some("boolean") => text.parse::<bool>().ok().map(Value::Bool),
        _ => None,
    };
    if let Some(typed) = typed {
        *scalar = typed;
    }
}
