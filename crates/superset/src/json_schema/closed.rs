//! Schemas that Claude's models are held to: those of answers and of strict tools.
//!
//! Their objects are closed, and few constraints are enforced: platform.claude.com/docs/en/build-with-claude/structured-outputs,
//! "JSON Schema limitations". Other constraints stand in descriptions, as Anthropic's SDKs write them.

use super::{has_no_parameters, is_text, write_keyword};
use crate::escaped_text::EscapedText;
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::typed_value::json_text;
use headgate_protocol::json::{DocumentNode, ValueKind};

/// Formats of strings that are enforced.
const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

/// What becomes of a keyword.
enum Keyword {
    Enforced,
    /// It says something of the schema itself, which is left out.
    Meta,
    /// It is written apart from the others.
    Apart,
    /// It stands in the description.
    Described,
}

/// Writes a schema with closed objects and the constraints that are enforced.
pub fn write_closed(schema: DocumentNode<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    if schema.kind() != ValueKind::Object {
        json.raw(json_text(schema));
        return;
    }
    json.begin_object();
    if schema.get("type").is_none() && schema.get("properties").is_some() {
        json.key("type").literal("object");
    }
    write_members(schema, json, ledger);
    json.end_object();
}

/// Writes the schema of a strict tool, whose arguments are an object in any case.
pub fn write_closed_parameters(
    schema: DocumentNode<'_>,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    if has_no_parameters(schema) {
        json.raw(r#"{"type":"object","properties":{},"additionalProperties":false}"#);
        return;
    }
    json.begin_object();
    if schema.get("type").is_none() && schema.get("$ref").is_none() {
        json.key("type").literal("object");
    }
    write_members(schema, json, ledger);
    json.end_object();
}

fn write_members(schema: DocumentNode<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    if schema.get("$ref").is_some() {
        write_reference(schema, json, ledger);
        return;
    }
    let mut described = Vec::new();
    let mut members = schema.members();
    while let Some((name, value)) = members.next_raw() {
        let (decoded, written) = (name.decode(), name.written());
        match keyword(&decoded, value) {
            Keyword::Enforced => {
                write_keyword(&decoded, value, write_closed, json.key(written), ledger);
            }
            Keyword::Described => described.push((written, value)),
            Keyword::Meta | Keyword::Apart => {}
        }
    }
    write_alternatives(schema, json, ledger);
    write_description(schema, &described, json, ledger);
    close(schema, json, ledger);
}

/// Writes a reference, with the definitions beside it.
fn write_reference(schema: DocumentNode<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let mut members = schema.members();
    while let Some((name, value)) = members.next_raw() {
        let (decoded, written) = (name.decode(), name.written());
        match &*decoded {
            "$ref" | "$defs" | "definitions" => {
                write_keyword(&decoded, value, write_closed, json.key(written), ledger);
            }
            _ => {
                let reason =
                    "stands beside `$ref`, where models of the messages protocol take nothing";
                ledger.add_alike(value, reason);
            }
        }
    }
}

fn keyword(name: &str, value: DocumentNode<'_>) -> Keyword {
    match name {
        "type" | "properties" | "required" | "items" | "anyOf" | "allOf" | "$defs"
        | "definitions" | "enum" | "const" | "default" | "title" | "pattern" => Keyword::Enforced,
        "format" if FORMATS.iter().any(|format| is_text(value, format)) => Keyword::Enforced,
        "minItems" if value.as_u64().is_some_and(|items| items < 2) => Keyword::Enforced,
        "description" | "additionalProperties" | "patternProperties" | "oneOf" => Keyword::Apart,
        "$schema" | "$id" | "$comment" => Keyword::Meta,
        _ => Keyword::Described,
    }
}

/// One of several is any of them here: none checks that the others do not match.
fn write_alternatives(schema: DocumentNode<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let [one, any, all, properties] = schema.get_each(["oneOf", "anyOf", "allOf", "properties"]);
    if let Some(one) = one {
        if any.is_some() {
            let reason = "stands beside `anyOf`, and the messages protocol has one of both";
            ledger.add(one, FieldOutcome::Refused, reason);
        } else {
            write_keyword("anyOf", one, write_closed, json.key("anyOf"), ledger);
            let reason = "becomes `anyOf`, since the messages protocol has no `oneOf`";
            ledger.add_alike(one, reason);
        }
    }
    // Each is closed by itself, so that no object would have the properties of both.
    let is_joined = |all: &DocumentNode<'_>| all.len() > 1 || properties.is_some();
    if let Some(all) = all.filter(is_joined) {
        let reason = "joins schemas, which the messages protocol closes one by one; write one schema with all properties";
        ledger.add(all, FieldOutcome::Refused, reason);
    }
}

/// Writes the description, with the constraints that are not enforced.
fn write_description(
    schema: DocumentNode<'_>,
    constraints: &[(&str, DocumentNode<'_>)],
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let description = schema.get("description");
    if constraints.is_empty() {
        if let Some(description) = description {
            json.key("description").raw(json_text(description));
        }
        return;
    }
    let mut whole = description
        .and_then(EscapedText::from_node)
        .unwrap_or_default();
    let mut start = if whole.is_empty() { "{" } else { "\n\n{" };
    for (name, value) in constraints {
        whole.push(&EscapedText::plain(start));
        whole.push(&EscapedText::plain(&format!(
            "{name}: {}",
            json_text(*value)
        )));
        start = ", ";
        let reason =
            "stands in the description, since models of the messages protocol are not held to it";
        ledger.add_alike(*value, reason);
    }
    whole.push(&EscapedText::literal("}"));
    json.key("description").text(&whole);
}

/// Closes objects, which only have their properties.
fn close(schema: DocumentNode<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let [kind, properties, additional, patterns] = schema.get_each([
        "type",
        "properties",
        "additionalProperties",
        "patternProperties",
    ]);
    let is_closed = additional.and_then(DocumentNode::as_bool) == Some(false);
    let has_kind = |kind: DocumentNode<'_>| {
        is_text(kind, "object") || kind.elements().any(|one| is_text(one, "object"))
    };
    let is_object = kind.is_some_and(has_kind) || properties.is_some();
    let is_empty = properties.is_none_or(DocumentNode::is_empty);
    let admits = patterns.or(additional.filter(|_| !is_closed));
    let admits = admits.or((is_object && is_empty && !is_closed).then_some(schema));
    if let Some(admits) = admits {
        let reason = "admits members that have no name, which models of the messages protocol cannot write in such an answer; name them, and set `additionalProperties` to false";
        ledger.add(admits, FieldOutcome::Refused, reason);
    } else if is_object && additional.is_none() {
        let reason = "is closed: in the messages protocol objects have their properties alone";
        ledger.add_alike(schema, reason);
    }
    if is_object {
        json.key("additionalProperties").bool(false);
    }
}
