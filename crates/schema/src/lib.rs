//! JSON Schemas of requests: compiled once, applied to scanned bodies in place.

mod accept_program;
mod constants;
mod invalid_schema;
mod reason;

use accept_program::{AcceptProgram, SchemaVerdict};
use headgate_protocol::json::tape_values::JsonSchemaTapeAdapter;
use headgate_protocol::json::{DocumentNode, JsonDocument};
use invalid_schema::invalid_schema;
use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::json::Json;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// A compiled JSON Schema; draft 2020-12, unless it declares another.
pub struct CompiledSchema {
    validator: Validator<JsonSchemaTapeAdapter>,
    /// Proves faster than the validator that a body is valid. It never refuses a body.
    program: Option<AcceptProgram>,
    /// The schema as written, for its messages.
    source: Value,
}

/// A violation of a schema by a body.
#[derive(Debug, PartialEq, Eq)]
pub struct SchemaViolation {
    /// JSON pointer of the value at fault; empty for the body as a whole.
    pub pointer: String,
    /// The violated schema keyword, such as `maximum`.
    pub rule: String,
    /// What was expected and what was received, to follow the field's name, or a whole sentence of the schema. It does
    /// not contain the value, which may be large and is the caller's content.
    pub reason: String,
    /// The missing member, if that is all that is wrong; of several alternatives the first.
    pub missing: Option<String>,
}

/// Why a JSON value is not a valid schema.
#[derive(Debug, PartialEq, Eq)]
pub struct InvalidSchema {
    /// JSON pointer to the error in the schema.
    pub pointer: String,
    pub reason: String,
    /// What to write instead, if that can be guessed.
    pub hint: Option<String>,
}

impl CompiledSchema {
    /// Compiles a schema. References to other documents are not resolved.
    ///
    /// # Errors
    /// What is wrong with the schema, and where.
    pub fn compile(schema: &Value) -> Result<Self, InvalidSchema> {
        let mut merged = schema.clone();
        constants::merge(&mut merged);
        let built = build_validator(&merged);
        built
            .map(|validator| Self {
                validator,
                program: AcceptProgram::compile(&merged),
                source: schema.clone(),
            })
            .map_err(|error| invalid_schema(&error, schema))
    }

    /// The schema as written.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Whether the body is valid. Faster than [`Self::violations`].
    pub fn accepts(&self, body: &JsonDocument) -> bool {
        self.program_verdict(body) == SchemaVerdict::Yes || self.validator.is_valid(body.root())
    }

    fn program_verdict(&self, body: &JsonDocument) -> SchemaVerdict {
        let program = self.program.as_ref();
        program.map_or(SchemaVerdict::Unknown, |program| {
            program.verdict(body.root())
        })
    }

    /// Whether [`Self::violations`] is worth its time: it finds nothing in a valid body, but slowly.
    fn is_suspicious(&self, body: &JsonDocument) -> bool {
        match self.program_verdict(body) {
            SchemaVerdict::Yes => false,
            SchemaVerdict::No => true,
            SchemaVerdict::Unknown => !self.validator.is_valid(body.root()),
        }
    }

    /// The first violations, at most `at_most`.
    pub fn violations(&self, body: &JsonDocument, at_most: usize) -> Vec<SchemaViolation> {
        self.validator
            .iter_errors(body.root())
            .take(at_most)
            .map(|error| {
                let value = body.root().pointer(error.instance_path().as_str());
                SchemaViolation {
                    pointer: error.instance_path().to_string(),
                    rule: rule(&error).to_owned(),
                    missing: missing(&error),
                    reason: self.reason(&error, value),
                }
            })
            .collect()
    }

    /// The schema's own message for the rule, or a generated one.
    fn reason(&self, error: &ValidationError<'_>, value: Option<DocumentNode<'_>>) -> String {
        match (self.words(error.schema_path().as_str()), error.kind()) {
            (Some(words), _) => reason::with_received(words, error, value),
            (None, Kind::Required { property }) => {
                let field = property.as_str().unwrap_or_default();
                reason::missing(field, self.types_of_missing(error, field))
            }
            (None, _) => reason::reason(error, value),
        }
    }

    /// The `type` of a field whose absence is the error, if the schema that requires it says so.
    fn types_of_missing(&self, error: &ValidationError<'_>, field: &str) -> Option<&Value> {
        let path = error.schema_path().as_str();
        let (parent, _required) = path.rsplit_once('/')?;
        let parent = self.source.pointer(parent)?;
        let is_whole = error.instance_path().as_str().is_empty();
        let mut schemas = [Some(parent), is_whole.then_some(&self.source)].into_iter();
        let property = schemas.find_map(|schema| schema?.get("properties")?.get(field))?;
        let reference = property.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|target| self.source.pointer(target.strip_prefix('#')?));
        target.unwrap_or(property).get("type")
    }

    /// The message of the schema that contains the rule at `path`.
    fn words(&self, path: &str) -> Option<&str> {
        let (schema, _rule) = path.rsplit_once('/')?;
        self.source.pointer(schema)?.get(reason::WORDS)?.as_str()
    }
}

/// A validator whose patterns take time that is linear in the text.
///
/// # Errors
/// The schema is invalid, or has a pattern that takes longer.
fn build_validator<F: Json>(schema: &Value) -> Result<Validator<F>, ValidationError<'static>> {
    jsonschema::options_for::<F>()
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
}

/// The first violations of several schemas by a body, at most `at_most`.
///
/// If an earlier schema reports a value, later ones do not report the same value again.
pub fn find_violations<'s>(
    schemas: impl IntoIterator<Item = &'s CompiledSchema>,
    body: &JsonDocument,
    at_most: usize,
) -> Vec<SchemaViolation> {
    let mut found: Vec<SchemaViolation> = Vec::new();
    let schemas = schemas.into_iter();
    for schema in schemas.filter(|schema| schema.is_suspicious(body)) {
        let before = found.len();
        for violation in schema.violations(body, at_most) {
            let known = found[..before]
                .iter()
                .any(|known| known.pointer == violation.pointer);
            if !known {
                found.push(violation);
            }
        }
    }
    found.truncate(at_most);
    found
}

/// The violated keyword. `Contains` is the kind of three keywords, so its keyword comes from the path.
fn rule<'e>(error: &'e ValidationError<'_>) -> &'e str {
    match error.kind() {
        Kind::Contains => {
            let path = error.schema_path().as_str();
            path.rsplit_once('/').map_or(path, |(_, keyword)| keyword)
        }
        kind => kind.keyword(),
    }
}

/// The member whose absence is the error.
fn missing(error: &ValidationError<'_>) -> Option<String> {
    match error.kind() {
        Kind::Required { property } => property.as_str().map(str::to_owned),
        // Each alternative requires a member, and all of these are missing.
        Kind::AnyOf { context } if context.len() > 1 => {
            let of_branch = |errors: &Vec<ValidationError<'_>>| match errors.as_slice() {
                [only] if only.instance_path() == error.instance_path() => missing(only),
                _ => None,
            };
            let members: Option<Vec<String>> = context.iter().map(of_branch).collect();
            members?.into_iter().next()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use headgate_protocol::json::JsonLimits;
    use serde_json::json;

    fn document(body: &'static str) -> JsonDocument {
        JsonDocument::parse(Bytes::from_static(body.as_bytes()), &JsonLimits::default()).unwrap()
    }

    #[test]
    fn the_error_message_of_a_schema_replaces_the_built_in_one() {
        let schema = CompiledSchema::compile(&json!({
            "properties": {
                "n": {"if": {"not": {"const": -1}}, "then": {"minimum": 2, "errorMessage": "2 or more, or -1"}},
                "a": {"$ref": "#/$defs/a~1b"},
                "plain": {"minimum": 2},
                "word": {"enum": ["a", "b", "c", "d", null]},
            },
            "$defs": {"a/b": {"not": {"const": true}, "errorMessage": "never true"}},
        }))
        .unwrap();
        for (body, reason) in [
            (r#"{"n": 1}"#, "2 or more, or -1"),
            (r#"{"a": true}"#, "never true"),
            (
                r#"{"plain": 1}"#,
                "must be at least 2, received a smaller number",
            ),
            (
                r#"{"word": "e"}"#,
                r#"must be one of "a", "b", "c", "d", received another string"#,
            ),
        ] {
            let found = schema.violations(&document(body), 8);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].reason, reason);
        }
    }

    #[test]
    fn an_invalid_schema_is_reported_with_its_own_place() {
        for (schema, pointer, words) in [
            (
                json!({"properties": {"a": {"type": "strng"}}}),
                "/properties/a/type",
                "string",
            ),
            (
                json!({"properties": {"a": {"minimum": "1"}}}),
                "/properties/a/minimum",
                "number",
            ),
            (json!({"required": "a"}), "/required", "array"),
            (
                json!({"items": {"$ref": "#/$defs/none"}}),
                "/items/$ref",
                "none",
            ),
            (
                json!({"properties": {"a": {"pattern": "("}}}),
                "/properties/a/pattern",
                "regex",
            ),
        ] {
            let invalid = CompiledSchema::compile(&schema)
                .err()
                .expect("it is refused");
            assert_eq!(invalid.pointer, pointer, "{schema}: {}", invalid.reason);
            assert!(invalid.reason.contains(words), "{}", invalid.reason);
        }
    }

    #[test]
    fn a_member_that_is_missing_is_named() {
        let schema = CompiledSchema::compile(&json!({
            "required": ["a"],
            "properties": {"list": {"items": {"required": ["b"]}}},
            "anyOf": [{"required": ["c"], "properties": {"c": {"not": {"const": null}}}}, {"required": ["d"]}],
        }))
        .unwrap();
        for (body, missing) in [
            (r#"{"d": 1}"#, Some("a")),
            (r#"{"a": 1, "d": 1, "list": [{}]}"#, Some("b")),
            (r#"{"a": 1}"#, Some("c")),
            (r#"{"a": 1, "c": null}"#, None),
        ] {
            let found = schema.violations(&document(body), 8);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].missing.as_deref(), missing, "{body}");
        }
    }

    #[test]
    fn the_rule_of_a_count_is_the_one_that_was_broken() {
        let schema = CompiledSchema::compile(&json!({
            "contains": {"const": 1}, "minContains": 1, "maxContains": 2,
        }))
        .unwrap();
        for (body, rule) in [("[1, 1, 1]", "maxContains"), ("[2]", "minContains")] {
            let found = schema.violations(&document(body), 8);
            assert_eq!(found[0].rule, rule, "{body}");
        }
    }

    #[test]
    fn of_several_schemas_the_first_one_speaks_for_each_place() {
        let general = json!({"properties": {"a": {"type": "integer"}}});
        let narrow = json!({"properties": {"a": {"enum": [1]}, "b": {"enum": [1]}}});
        let schemas = [general, narrow].map(|schema| CompiledSchema::compile(&schema).unwrap());
        let reported = |body, at_most| {
            let found = find_violations(&schemas, &document(body), at_most).into_iter();
            found
                .map(|violation| format!("{} {}", violation.pointer, violation.rule))
                .collect::<Vec<_>>()
        };
        assert!(reported(r#"{"a": 1, "b": 1}"#, 8).is_empty());
        assert_eq!(reported(r#"{"a": 2}"#, 8), ["/a enum"]);
        assert_eq!(reported(r#"{"a": "2", "b": 2}"#, 8), ["/a type", "/b enum"]);
        assert_eq!(reported(r#"{"a": "2", "b": 2}"#, 1), ["/a type"]);
    }

    #[test]
    fn every_violation_has_its_place_and_rule() {
        let schema = CompiledSchema::compile(&json!({
            "required": ["model"],
            "properties": {"temperature": {"type": "number", "maximum": 2}, "user": {"type": "string"}}
        }))
        .unwrap();
        let body = Bytes::from_static(br#"{"temperature": 3, "user": 1}"#);
        let body = JsonDocument::parse(body, &JsonLimits::default()).unwrap();
        assert!(!schema.accepts(&body));
        let mut found: Vec<_> = schema
            .violations(&body, 8)
            .into_iter()
            .map(|violation| (violation.pointer, violation.rule))
            .collect();
        found.sort();
        let expected = [
            ("", "required"),
            ("/temperature", "maximum"),
            ("/user", "type"),
        ];
        assert_eq!(
            found,
            expected.map(|(pointer, rule)| (pointer.to_string(), rule.to_string()))
        );
        assert_eq!(schema.violations(&body, 1).len(), 1);
    }
}
