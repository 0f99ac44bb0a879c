//! JSON Schema: the compiled program, the validator on the tape and the validator of `jsonschema` agree.
//!
//! An input is a schema, and after a line with `--` bodies, one a line.

use crate::input::parts;
use bytes::Bytes;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_schema::{CompiledSchema, find_violations};
use serde_json::Value;

/// Maximum number of bodies of an input.
const BODIES_MAX: usize = 8;
const VIOLATIONS_MAX: usize = 5;

pub fn run(input: &[u8]) {
    let [schema, bodies] = parts(input);
    let Ok(schema) = serde_json::from_slice::<Value>(schema) else {
        return;
    };
    if !is_bounded(&schema) {
        return;
    }
    let Ok(compiled) = CompiledSchema::compile(&schema) else {
        return;
    };
    assert_eq!(*compiled.source(), schema);
    let options = jsonschema::options().with_pattern_options(jsonschema::PatternOptions::regex());
    let reference = options
        .build(&schema)
        .unwrap_or_else(|error| panic!("jsonschema refuses the schema: {error}"));
    for body in bodies.split(|byte| *byte == b'\n').take(BODIES_MAX) {
        let limits = JsonLimits::default();
        let Ok(document) = JsonDocument::parse(Bytes::copy_from_slice(body), &limits) else {
            continue;
        };
        // A number beyond doubles is no value of the reference.
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            continue;
        };
        let expected = reference.is_valid(&value);
        assert_eq!(
            compiled.accepts(&document),
            expected,
            "{}",
            body.escape_ascii()
        );
        let violations = find_violations([&compiled], &document, VIOLATIONS_MAX);
        assert_eq!(violations.is_empty(), expected, "{violations:?}");
        for violation in violations {
            assert!(document.root().pointer(&violation.pointer).is_some());
            assert!(!violation.reason.is_empty());
        }
    }
}

/// Whether a validator ends: references may form a loop without a step into the body.
fn is_bounded(schema: &Value) -> bool {
    match schema {
        Value::Object(keywords) => {
            let has_reference = ["$ref", "$dynamicRef", "$recursiveRef"]
                .iter()
                .any(|name| keywords.contains_key(*name));
            !has_reference && keywords.values().all(is_bounded)
        }
        Value::Array(elements) => elements.iter().all(is_bounded),
        _ => true,
    }
}
