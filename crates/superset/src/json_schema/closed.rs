//! Schemas that Claude's models are held to: those of answers and of strict tools.
//!
//! Their objects are closed, and few constraints are enforced: platform.claude.com/docs/en/build-with-claude/structured-outputs,
//! "JSON Schema limitations". Other constraints stand in descriptions, as Anthropic's SDKs write them.

use super::{is_text, write_keyword};
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
    if let Some(reference) = schema.get("$ref") {
        json.key("$ref").raw(json_text(reference));
        if schema.len() > 1 {
            let reason =
                "has keywords beside `$ref`, which models of the messages protocol do not take";
            ledger.add_alike(schema, reason);
        }
        json.end_object();
        return;
    }
    let mut described = Vec::new();
    let mut members = schema.members();
    while let Some((name, value)) = members.next_raw() {
        match keyword(&name.decode(), value) {
            Keyword::Enforced => {
                let name = name.written();
                write_keyword(name, value, write_closed, json.key(name), ledger);
            }
            Keyword::Described => described.push((name.written(), value)),
            Keyword::Meta | Keyword::Apart => {}
        }
    }
    if schema.get("type").is_none() && schema.get("properties").is_some() {
        json.key("type").literal("object");
    }
    write_alternatives(schema, json, ledger);
    write_description(schema, &described, json, ledger);
    close(schema, json, ledger);
    json.end_object();
}

fn keyword(name: &str, value: DocumentNode<'_>) -> Keyword {
    match name {
        "type" | "properties" | "required" | "items" | "anyOf" | "allOf" | "$defs"
        | "definitions" | "enum" | "const" | "default" | "title" | "pattern" => Keyword::Enforced,
        "format" if FORMATS.iter().any(|format| is_text(value, format)) => Keyword::Enforced,
        "minItems" if value.as_u64().is_some_and(|items| items < 2) => Keyword::Enforced,
        "description" | "additionalProperties" | "oneOf" => Keyword::Apart,
        "$schema" | "$id" | "$comment" => Keyword::Meta,
        _ => Keyword::Described,
    }
}

/// One of several is any of them here: none checks that the others do not match.
fn write_alternatives(schema: DocumentNode<'_>, json: &mut JsonWriter, ledger: &mut Ledger) {
    let [one, any] = schema.get_each(["oneOf", "anyOf"]);
    let Some(one) = one else {
        return;
    };
    let reason = match any {
        None => {
            write_keyword("anyOf", one, write_closed, json.key("anyOf"), ledger);
            "becomes `anyOf`, since the messages protocol has no `oneOf`"
        }
        Some(_) => "is left out beside `anyOf`, since the messages protocol has no `oneOf`",
    };
    ledger.add_alike(one, reason);
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
    let [kind, properties, additional] =
        schema.get_each(["type", "properties", "additionalProperties"]);
    let has_kind = |kind: DocumentNode<'_>| {
        is_text(kind, "object") || kind.elements().any(|one| is_text(one, "object"))
    };
    if !kind.is_some_and(has_kind) && properties.is_none() {
        return;
    }
    json.key("additionalProperties").bool(false);
    match additional {
        None => {
            let reason = "is closed: in the messages protocol objects have their properties alone";
            ledger.add_alike(schema, reason);
        }
        Some(additional) if additional.as_bool() == Some(false) => {}
        Some(additional) => {
            let reason = "admits members that have no name, which models of the messages protocol cannot write in such an answer; set it to false, or let the route close the object with `on_loss: drop`";
            ledger.add(additional, FieldOutcome::Refused, reason);
        }
    }
}
