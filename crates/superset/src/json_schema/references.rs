//! Schemas in which nothing stands beside a reference, as Gemini takes them.
//!
//! Source: ai.google.dev/api/generate-content#GenerationConfig, `responseJsonSchema`: beside `$ref` only keywords that begin with a
//! `$`, and neither `const` nor `allOf`.

use super::{is_object, write_keyword};
use crate::json_writer::JsonWriter;
use crate::ledger::Ledger;
use crate::typed_value::json_text;
use headgate_protocol::json::{DocumentNode, ValueKind};

/// Writes a schema whose references stand alone, with the keywords that Gemini has for constants.
pub fn write_with_plain_references(
    schema: DocumentNode<'_>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    if schema.kind() != ValueKind::Object {
        json.raw(json_text(schema));
        return;
    }
    json.begin_object();
    write_members(schema, json, ledger);
    json.end_object();
}

/// Writes the schema of a tool's arguments, which must say that they are an object.
pub fn write_parameters_with_plain_references(
    schema: DocumentNode<'_>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    json.begin_object();
    let members = merged_members(schema);
    let has = |wanted: &str| members.iter().any(|(name, _)| *name == wanted);
    if is_object(schema) && !has("type") && !has("$ref") {
        json.key("type").literal("object");
    }
    write_members(schema, json, ledger);
    json.end_object();
}

fn write_members(schema: DocumentNode<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let members = merged_members(schema);
    let has = |wanted: &str| members.iter().any(|(name, _)| *name == wanted);
    let (is_reference, has_enum) = (has("$ref"), has("enum"));
    for (name, value) in members {
        if is_reference && !name.starts_with('$') {
            let reason = "stands beside `$ref`, where models of the gemini protocol take nothing";
            ledger.add_alike(value, reason);
        } else if name == "const" && !has_enum && is_enumerable(value) {
            json.key("enum")
                .begin_array()
                .raw(json_text(value))
                .end_array();
        } else {
            write_keyword(
                name,
                value,
                write_with_plain_references,
                json.key(name),
                ledger,
            );
        }
    }
}

/// The members of a schema, with those of the only schema in its `allOf`.
fn merged_members(schema: DocumentNode<'_>) -> Vec<(&str, DocumentNode<'_>)> {
    let mut all = Vec::with_capacity(schema.len());
    let mut members = schema.members();
    while let Some((name, value)) = members.next_raw() {
        all.push((name.written(), value));
    }
    let is_alone = |(name, value): &(&str, DocumentNode<'_>)| {
        *name == "allOf" && value.elements().count() == 1
    };
    let Some(at) = all.iter().position(is_alone) else {
        return all;
    };
    let (_, alternatives) = all.remove(at);
    let mut inner = alternatives.elements().flat_map(merged_members);
    for (name, value) in inner.by_ref() {
        if all.iter().all(|(known, _)| *known != name) {
            all.push((name, value));
        }
    }
    all
}

/// Whether a constant can be the only value of an enumeration, which has texts and numbers.
fn is_enumerable(value: DocumentNode<'_>) -> bool {
    matches!(value.kind(), ValueKind::String | ValueKind::Number)
}
