//! JSON schemas of tools and answers, in the forms that providers take.

mod closed;
mod references;
mod strict;

#[cfg(test)]
mod tests;

pub use closed::{write_closed, write_closed_parameters};
pub use references::{write_parameters_with_plain_references, write_with_plain_references};
pub use strict::can_be_strict;

use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::Ledger;
use crate::typed_value::json_text;
use headgate_protocol::json::{DocumentNode, ValueKind};
use std::borrow::Cow;

/// The schema of a tool without one: it takes no arguments.
const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;

/// Writes what a tool takes, with the type and the properties that an object without them has: OpenAI refuses functions
/// whose schema lacks `properties`, Anthropic tools whose schema lacks `type`.
pub fn write_parameters(schema: Option<DocumentNode<'_>>, json: &mut JsonWriter) {
    let Some(schema) = schema else {
        json.raw(NO_PARAMETERS);
        return;
    };
    let has_type = schema.get("type").is_some();
    let lacks_properties = is_object(schema) && schema.get("properties").is_none();
    if has_type && !lacks_properties {
        json.raw(json_text(schema));
        return;
    }
    json.begin_object();
    if !has_type {
        json.key("type").literal("object");
    }
    let mut members = schema.members();
    while let Some((name, value)) = members.next_raw() {
        json.key(name.written()).raw(json_text(value));
    }
    if lacks_properties {
        json.key("properties").raw("{}");
    }
    json.end_object();
}

/// Whether a tool takes no arguments.
pub fn has_no_parameters(schema: DocumentNode<'_>) -> bool {
    let is_plain = |(name, value): (Cow<'_, str>, DocumentNode<'_>)| match &*name {
        "type" => true,
        "properties" => value.is_empty(),
        _ => false,
    };
    is_object(schema) && schema.members().all(is_plain)
}

/// Writes a schema below another one.
type WriteSchema = fn(DocumentNode<'_>, &mut JsonWriter, &mut Ledger);

/// Writes the value of a keyword: the schemas in it by `write`, other values as they are.
fn write_keyword(
    name: &str,
    value: DocumentNode<'_>,
    write: WriteSchema,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    match (name, value.kind()) {
        (
            "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas",
            ValueKind::Object,
        ) => {
            json.begin_object();
            let mut members = value.members();
            while let Some((name, schema)) = members.next_raw() {
                write(schema, json.key(name.written()), ledger);
            }
            json.end_object();
        }
        ("anyOf" | "allOf" | "oneOf" | "prefixItems" | "items", ValueKind::Array) => {
            json.begin_array();
            for schema in value.elements() {
                write(schema, json, ledger);
            }
            json.end_array();
        }
        (
            "items" | "additionalProperties" | "not" | "contains" | "if" | "then" | "else",
            ValueKind::Object,
        ) => write(value, json, ledger),
        _ => {
            json.raw(json_text(value));
        }
    }
}

/// Whether a schema is one of objects, also without saying so.
fn is_object(schema: DocumentNode<'_>) -> bool {
    match schema.get("type") {
        None => schema.kind() == ValueKind::Object,
        Some(kind) => is_text(kind, "object"),
    }
}

fn is_text(node: DocumentNode<'_>, text: &str) -> bool {
    EscapedText::from_node(node).is_some_and(|found| found.as_written() == text)
}
