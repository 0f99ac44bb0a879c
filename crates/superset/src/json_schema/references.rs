//! Schemas in which nothing stands beside a reference, as Gemini takes them.
//!
//! Source: ai.google.dev/api/generate-content#GenerationConfig, `responseJsonSchema`: beside `$ref` only keywords that begin with a
//! `$`, and neither `const` nor `allOf`.

use super::{is_object, write_keyword};
use crate::json_writer::JsonWriter;
use crate::ledger::Ledger;
use crate::typed_value::json_text;
use headgate_protocol::json::{DocumentNode, ValueKind};
use std::borrow::Cow;
use std::collections::HashSet;

/// Keywords that describe a schema, and do not change what it accepts.
const ANNOTATIONS: [&str; 4] = ["title", "description", "default", "examples"];

/// A keyword of a schema.
struct SchemaKeyword<'a> {
    name: Cow<'a, str>,
    /// The name with its escapes.
    written: &'a str,
    value: DocumentNode<'a>,
}

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
    write_members(merged_members(schema), json, ledger);
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
    let has = |wanted: &str| members.iter().any(|member| member.name == wanted);
    if is_object(schema) && !has("type") && !has("$ref") {
        json.key("type").literal("object");
    }
    write_members(members, json, ledger);
    json.end_object();
}

fn write_members(members: Vec<SchemaKeyword<'_>>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let has = |wanted: &str| members.iter().any(|member| member.name == wanted);
    let (is_reference, has_enum) = (has("$ref"), has("enum"));
    for SchemaKeyword {
        name,
        written,
        value,
    } in members
    {
        if is_reference && !name.starts_with('$') {
            let reason = "stands beside `$ref`, where models of the gemini protocol take nothing";
            ledger.add_alike(value, reason);
            continue;
        }
        if name == "const" && !has_enum && is_enumerable(value) {
            json.key("enum").begin_array();
            json.raw(json_text(value)).end_array();
            continue;
        }
        if name == "allOf" {
            let reason = "is not enforced, since models of the gemini protocol do not take it";
            ledger.add_alike(value, reason);
        }
        write_keyword(
            &name,
            value,
            write_with_plain_references,
            json.key(written),
            ledger,
        );
    }
}

/// The members of a schema, with those of the only schema in its `allOf` if both can stand side by side.
fn merged_members(schema: DocumentNode<'_>) -> Vec<SchemaKeyword<'_>> {
    let mut own = Vec::with_capacity(schema.len());
    let mut members = schema.members();
    while let Some((name, value)) = members.next_raw() {
        own.push(SchemaKeyword {
            name: name.decode(),
            written: name.written(),
            value,
        });
    }
    let is_alone =
        |member: &SchemaKeyword<'_>| member.name == "allOf" && member.value.elements().count() == 1;
    let Some(at) = own.iter().position(is_alone) else {
        return own;
    };
    let mut inner: Vec<_> = own[at].value.elements().flat_map(merged_members).collect();
    let is_annotation = |member: &&SchemaKeyword<'_>| ANNOTATIONS.contains(&&*member.name);
    let others = own.iter().enumerate().filter(|(other, _)| *other != at);
    let others: Vec<&SchemaKeyword<'_>> = others.map(|(_, member)| member).collect();
    let names: HashSet<&str> = others.iter().map(|member| &*member.name).collect();
    let clashes = |member: &SchemaKeyword<'_>| names.contains(&*member.name);
    let refers = |member: &SchemaKeyword<'_>| member.name == "$ref";
    let can_refer = others.iter().all(is_annotation);
    let is_possible = !others.iter().any(|member| refers(member))
        && (can_refer || !inner.iter().any(refers))
        && inner
            .iter()
            .filter(|member| clashes(member))
            .all(|member| is_annotation(&member));
    if is_possible {
        inner.retain(|member| !clashes(member));
        own.remove(at);
        own.append(&mut inner);
    }
    own
}

/// Whether a constant can be the only value of an enumeration, which has texts and numbers.
fn is_enumerable(value: DocumentNode<'_>) -> bool {
    matches!(value.kind(), ValueKind::String | ValueKind::Number)
}
