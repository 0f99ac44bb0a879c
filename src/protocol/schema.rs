//! JSON Schemas of requests: compiled once, applied to scanned bodies in place.

use super::json::Document;
use super::json::tape_values::Tape;
use jsonschema::Validator;
use serde_json::Value;

/// A compiled JSON Schema, draft 2020-12 unless it names another.
pub struct Schema {
    validator: Validator<Tape>,
}

/// One way in which a body breaks its schema.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer of the value at fault; empty for the body as a whole.
    pub pointer: String,
    /// The schema keyword that it breaks, such as `maximum`.
    pub rule: String,
    /// What is wrong, without quoting the value: it may be large, and is the caller's.
    pub reason: String,
}

impl Schema {
    /// Compiles a schema. References to other documents are not followed.
    ///
    /// # Errors
    /// A sentence that says why this is no schema.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        jsonschema::options_for::<Tape>()
            .build(schema)
            .map(|validator| Self { validator })
            .map_err(|error| format!("{} (at {})", error, error.schema_path()))
    }

    /// Whether the body keeps every rule; the quick question, asked first.
    pub fn accepts(&self, body: &Document) -> bool {
        self.validator.is_valid(body.root())
    }

    /// The first violations, at most `at_most`.
    pub fn violations(&self, body: &Document, at_most: usize) -> Vec<Violation> {
        self.validator
            .iter_errors(body.root())
            .take(at_most)
            .map(|error| Violation {
                pointer: error.instance_path().to_string(),
                rule: error.kind().keyword().to_string(),
                reason: error.masked_with("the value").to_string(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::Limits;
    use bytes::Bytes;
    use serde_json::json;

    #[test]
    fn every_violation_has_its_place_and_rule() {
        let schema = Schema::compile(&json!({
            "required": ["model"],
            "properties": {"temperature": {"type": "number", "maximum": 2}, "user": {"type": "string"}}
        }))
        .unwrap();
        let body = Bytes::from_static(br#"{"temperature": 3, "user": 1}"#);
        let body = Document::parse(body, &Limits::default()).unwrap();
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
