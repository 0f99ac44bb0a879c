//! A file's values against the schema: every mistake found at once.

use super::decimal_places::schema_options;
use super::document::{ConfigDocument, HighlightTarget, PointerLocatedProblem};
use super::explain::{explain, keys, parent_schema};
use super::problem::PROBLEMS_MAX;
use super::renamed_keys::new_key;
use headgate_core::pointer::child;
use headgate_protocol::nearest::nearest;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Number, Value};
use std::collections::{HashMap, HashSet};

/// Unknown keys that are compared with known ones; in a file with more, some consequences are printed, too.
const COMPARED_KEYS_MAX: usize = 1_000;

/// Everything about these values that the schema does not allow.
///
/// A scalar that came from a variable becomes a number or boolean where the schema wants one. Values
/// at the `skipped` pointers have a problem already.
///
/// # Panics
/// If the schema is none: it is generated, and a test compiles it.
pub fn check(
    value: &mut Value,
    schema: &Value,
    document: &ConfigDocument,
    skipped: &HashSet<&str>,
) -> SchemaCheckResult {
    let validator = schema_options()
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
    let consequences = FollowOnErrorMatcher::from_errors(&errors, schema);
    let mut broken: Vec<BrokenSchemaRule<'_>> = Vec::new();
    for error in errors.iter().filter(|error| !consequences.has(error)) {
        let pointer = error.instance_path().as_str();
        if skipped.contains(pointer) {
            continue;
        }
        match error.kind() {
            Kind::AdditionalProperties { unexpected } => {
                broken.extend(unexpected.iter().map(|key| {
                    BrokenSchemaRule {
                        start: document
                            .bytes_at(&child(pointer, key), HighlightTarget::Key)
                            .start,
                        error,
                        key: Some(key),
                    }
                }));
            }
            Kind::Required { .. } => broken.push(BrokenSchemaRule {
                start: document.bytes_at(pointer, HighlightTarget::Key).start,
                error,
                key: None,
            }),
            _ => broken.push(BrokenSchemaRule {
                start: document.bytes_at(pointer, HighlightTarget::Value).start,
                error,
                key: None,
            }),
        }
    }
    broken.sort_by_key(|broken| broken.start);
    // What an anchor names is wrong once, however many aliases repeat it.
    broken.dedup_by(|next, kept| next.is_same(kept));
    let more = broken.len().saturating_sub(PROBLEMS_MAX);
    let shown = broken.into_iter().take(PROBLEMS_MAX);
    SchemaCheckResult {
        findings: shown
            .flat_map(|broken| explain(broken.error, broken.key, schema, document))
            .collect(),
        more,
    }
}

/// What the schema does not allow.
pub struct SchemaCheckResult {
    /// The first ones in the file, at most [`PROBLEMS_MAX`] broken rules.
    pub findings: Vec<PointerLocatedProblem>,
    /// How many there are besides.
    pub more: usize,
}

/// A rule of the schema that a value breaks.
struct BrokenSchemaRule<'error> {
    /// The first byte to underline.
    start: usize,
    error: &'error ValidationError<'error>,
    /// The unknown key, if the rule is that there be none.
    key: Option<&'error String>,
}

impl BrokenSchemaRule<'_> {
    fn missing_key(&self) -> Option<&Value> {
        match self.error.kind() {
            Kind::Required { property } => Some(property),
            _ => None,
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.start == other.start
            && self.key == other.key
            && self.missing_key() == other.missing_key()
            && self.error.schema_path().as_str() == other.error.schema_path().as_str()
    }
}

/// Errors that vanish with the unknown keys of the same mapping: a misspelt key is not missing as well.
#[derive(Default)]
struct FollowOnErrorMatcher<'schema> {
    /// By the pointer of a mapping, known keys that were most likely meant by its unknown ones.
    meant: HashMap<String, HashSet<&'schema str>>,
}

impl<'schema> FollowOnErrorMatcher<'schema> {
    fn from_errors(errors: &[ValidationError<'_>], schema: &'schema Value) -> Self {
        let mut meant = HashMap::new();
        let mut compared = 0;
        for error in errors {
            let Kind::AdditionalProperties { unexpected } = error.kind() else {
                continue;
            };
            let wanted = parent_schema(error, schema);
            let compared_here = unexpected.iter().take(COMPARED_KEYS_MAX - compared);
            compared += compared_here.len();
            let pointer = error.instance_path().as_str();
            let near = compared_here.flat_map(|key| match new_key(pointer, key) {
                Some(new) => vec![new],
                None => nearest(key, keys(wanted), 1),
            });
            meant.insert(pointer.to_owned(), near.collect());
        }
        Self { meant }
    }

    fn has(&self, error: &ValidationError<'_>) -> bool {
        let Some(meant) = self.meant.get(error.instance_path().as_str()) else {
            return false;
        };
        match error.kind() {
            Kind::Required { property } => property.as_str().is_some_and(|key| meant.contains(key)),
            Kind::MaxProperties { .. } => true,
            _ => false,
        }
    }
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
