//! Tests that programs and validators agree. A program that does not know is never wrong.

mod base64_patterns;
mod corpus;
mod keyword_table;
mod keywords;
mod random;

use super::{AcceptProgram, SchemaVerdict};
use crate::CompiledSchema;
use bytes::Bytes;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::Value;

fn compile(schema: &Value) -> CompiledSchema {
    CompiledSchema::compile(schema)
        .unwrap_or_else(|invalid| panic!("{schema}: {} {}", invalid.pointer, invalid.reason))
}

fn document(body: &str) -> JsonDocument {
    let body = Bytes::copy_from_slice(body.as_bytes());
    JsonDocument::parse(body, &JsonLimits::default()).unwrap()
}

/// The program's verdict, after it has been compared with the validator's.
fn checked_verdict(schema: &CompiledSchema, body: &str) -> SchemaVerdict {
    let document = document(body);
    let verdict = schema.program_verdict(&document);
    let is_valid = schema.validator.is_valid(document.root());
    assert!(
        verdict == SchemaVerdict::Unknown || verdict == SchemaVerdict::from(is_valid),
        "the program says {verdict:?} to {body} by {}",
        schema.source
    );
    assert_eq!(schema.accepts(&document), is_valid);
    verdict
}
