//! JSON Schema: the compiled program, the validator on the tape and the validator of `jsonschema` agree.
//!
//! An input is a schema, or the name of a shipped one, and after a line with `--` bodies, one a line.

use crate::input::parts;
use bytes::Bytes;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_schema::{CompiledSchema, find_violations};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use std::sync::LazyLock;

/// Maximum number of bodies of an input.
const BODIES_MAX: usize = 8;
const VIOLATIONS_MAX: usize = 5;

/// Shipped schemas by their names, compiled once.
static SHIPPED: LazyLock<Vec<(&str, ComparedSchema)>> = LazyLock::new(|| {
    let schemas = [
        ("chat", include_str!("../../../schemas/chat.schema.json")),
        (
            "gemini",
            include_str!("../../../schemas/gemini.schema.json"),
        ),
        (
            "messages",
            include_str!("../../../schemas/messages.schema.json"),
        ),
        (
            "responses",
            include_str!("../../../schemas/responses.schema.json"),
        ),
        ("video", include_str!("../../../schemas/video.schema.json")),
    ];
    let schemas = schemas.iter().map(|(name, text)| {
        let schema = serde_json::from_str(text).expect("a shipped schema is JSON");
        let compiled = CompiledSchema::compile(&schema).expect("a shipped schema compiles");
        (*name, ComparedSchema::new(&schema, compiled))
    });
    schemas.collect()
});

/// A schema that both implementations have compiled.
struct ComparedSchema {
    compiled: CompiledSchema,
    reference: Validator,
}

pub fn run(input: &[u8]) {
    let [schema, bodies] = parts(input);
    let bodies = bodies.split(|byte| *byte == b'\n').take(BODIES_MAX);
    let mut shipped = SHIPPED.iter();
    if let Some((_, schema)) = shipped.find(|(name, _)| name.as_bytes() == schema) {
        bodies.for_each(|body| compare(schema, body));
    } else if let Some(schema) = compile(schema) {
        bodies.for_each(|body| compare(&schema, body));
    }
}

/// Compiles a text; `None` if it is no schema, or one whose validation may be endless.
fn compile(text: &[u8]) -> Option<ComparedSchema> {
    let schema: Value = serde_json::from_slice(text).ok()?;
    match CompiledSchema::compile(&schema) {
        Ok(compiled) => {
            assert_eq!(*compiled.source(), schema);
            is_bounded(&schema).then(|| ComparedSchema::new(&schema, compiled))
        }
        Err(invalid) => {
            assert!(!invalid.reason.is_empty());
            assert!(schema.pointer(&invalid.pointer).is_some(), "{invalid:?}");
            None
        }
    }
}

impl ComparedSchema {
    fn new(schema: &Value, compiled: CompiledSchema) -> Self {
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        let reference = options
            .build(schema)
            .unwrap_or_else(|error| panic!("jsonschema refuses the schema: {error}"));
        Self {
            compiled,
            reference,
        }
    }
}

fn compare(schema: &ComparedSchema, body: &[u8]) {
    let limits = JsonLimits::default();
    let Ok(document) = JsonDocument::parse(Bytes::copy_from_slice(body), &limits) else {
        return;
    };
    // A number beyond doubles is no value of the reference.
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return;
    };
    let expected = schema.reference.is_valid(&value);
    let is_accepted = schema.compiled.accepts(&document);
    assert_eq!(is_accepted, expected, "{}", body.escape_ascii());
    let violations = find_violations([&schema.compiled], &document, VIOLATIONS_MAX);
    assert_eq!(violations.is_empty(), expected, "{violations:?}");
    for violation in violations {
        assert!(document.root().pointer(&violation.pointer).is_some());
        assert!(!violation.reason.is_empty());
    }
}

/// Whether a validator ends: references may form a loop without a step into the body. Those to a definition that refers to
/// nothing end.
fn is_bounded(schema: &Value) -> bool {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let leaves: Vec<String> = definitions
        .into_iter()
        .flatten()
        .filter(|(_, definition)| refers_only_to(definition, &[]))
        .map(|(name, _)| format!("#/$defs/{name}"))
        .collect();
    refers_only_to(schema, &leaves)
}

fn refers_only_to(schema: &Value, targets: &[String]) -> bool {
    match schema {
        Value::Object(keywords) => keywords.iter().all(|(keyword, value)| {
            match (keyword.as_str(), value.as_str()) {
                ("$ref", Some(target)) => targets.iter().any(|known| known == target),
                ("$ref" | "$dynamicRef" | "$recursiveRef", _) => false,
                // References below it are relative to it.
                ("$id" | "id", Some(_)) => false,
                _ => refers_only_to(value, targets),
            }
        }),
        Value::Array(elements) => elements
            .iter()
            .all(|element| refers_only_to(element, targets)),
        _ => true,
    }
}
