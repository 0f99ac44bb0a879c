//! Schemas as each provider gets them, and what the ledger has of it.

use super::*;
use bytes::Bytes;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::{Value, json};

fn written(schema: &Value, write: WriteSchema) -> (Value, Vec<(String, String, u64)>) {
    let document = JsonDocument::parse(Bytes::from(schema.to_string()), &JsonLimits::default());
    let document = document.unwrap();
    let (mut json, mut ledger) = (JsonWriter::default(), Ledger::default());
    write(document.root(), &mut json, &mut ledger);
    let entries = ledger.entries().iter();
    let entries = entries.map(|entry| {
        let outcome = entry.outcome.name().to_owned();
        (entry.path.clone(), outcome, entry.count)
    });
    let entries = entries.collect();
    (serde_json::from_slice(json.as_bytes()).unwrap(), entries)
}

#[test]
fn parameters_always_have_a_type_and_properties() {
    let property = json!({"a": {"type": "string"}});
    let cases = [
        (json!({}), json!({"type": "object", "properties": {}})),
        (
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}}),
        ),
        (
            json!({"properties": property}),
            json!({"type": "object", "properties": property}),
        ),
        (
            json!({"type": "object", "properties": property}),
            json!({"type": "object", "properties": property}),
        ),
        (
            json!({"a\"b": 1, "$ref": "#/$defs/A"}),
            json!({"type": "object", "properties": {}, "a\"b": 1, "$ref": "#/$defs/A"}),
        ),
        (json!({"type": ["object"]}), json!({"type": ["object"]})),
    ];
    for (schema, expected) in cases {
        let (sent, losses) = written(&schema, |node, json, _| write_parameters(Some(node), json));
        assert_eq!(sent, expected, "{schema}");
        assert!(losses.is_empty(), "{losses:?}");
    }
    let mut json = JsonWriter::default();
    write_parameters(None, &mut json);
    assert_eq!(json.as_bytes(), NO_PARAMETERS.as_bytes());
}

#[test]
fn schemas_for_claude_are_closed_and_describe_what_is_not_enforced() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "description": "A person",
        "minProperties": 1,
        "properties": {
            "name": {"type": "string", "minLength": 1, "pattern": "^a", "description": "Full \"name\""},
            "mail": {"type": "string", "format": "email"},
            "site": {"type": "string", "format": "iri"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
            "one": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/A", "description": "x"}]},
            "description": {"const": 1}},
        "required": ["name"],
        "$defs": {"A": {"type": ["object", "null"], "properties": {}, "additionalProperties": false}}});
    let (sent, losses) = written(&schema, write_closed);
    let expected = json!({
        "type": "object",
        "description": "A person\n\n{minProperties: 1}",
        "properties": {
            "name": {"type": "string", "pattern": "^a", "description": "Full \"name\"\n\n{minLength: 1}"},
            "mail": {"type": "string", "format": "email"},
            "site": {"type": "string", "description": "{format: \"iri\"}"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "{maxItems: 3}"},
            "one": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/A"}]},
            "description": {"const": 1}},
        "required": ["name"],
        "additionalProperties": false,
        "$defs": {"A": {"type": ["object", "null"], "properties": {}, "additionalProperties": false}}});
    assert_eq!(sent, expected);
    let losses: Vec<(&str, &str, u64)> = losses
        .iter()
        .map(|(path, outcome, count)| (&**path, &**outcome, *count))
        .collect();
    let expected = [
        ("properties.name.minLength", "approximated", 4),
        ("properties.one.oneOf[1].description", "approximated", 1),
        ("properties.one.oneOf", "approximated", 1),
        ("", "approximated", 1),
    ];
    assert_eq!(losses, expected);
}

#[test]
fn a_schema_that_claude_cannot_be_held_to_is_refused() {
    let plain = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false});
    for (schema, path) in [
        (json!({"type": "object"}), ""),
        (
            json!({"additionalProperties": {"type": "string"}}),
            "additionalProperties",
        ),
        (
            json!({"type": "object", "patternProperties": {"^x": {}}}),
            "patternProperties",
        ),
        (json!({"allOf": [plain, plain]}), "allOf"),
        (
            json!({"properties": {"a": {}}, "allOf": [plain], "additionalProperties": false}),
            "allOf",
        ),
        (json!({"oneOf": [plain], "anyOf": [plain]}), "oneOf"),
        (
            json!({"$defs": {"A": {"pr\u{6f}perties": {"b": {"additionalProperties": true}}, "additionalProperties": false}}, "$ref": "#/$defs/A"}),
            "$defs.A.properties.b.additionalProperties",
        ),
    ] {
        let (_, losses) = written(&schema, write_closed);
        let refused: Vec<&str> = losses
            .iter()
            .filter(|(_, outcome, _)| outcome == "refused")
            .map(|(path, ..)| &**path)
            .collect();
        assert_eq!(refused, [path], "{schema}");
    }
}

#[test]
fn keywords_are_the_same_in_every_spelling() {
    let schema = r##"{"pr\u006fperties":{"a":{"\u0024ref":"#/$defs/A","title":"t"}},"\u0024defs":{"A":{"type":"object","properties":{"b":{}}}}}"##;
    let document = JsonDocument::parse(Bytes::from(schema), &JsonLimits::default()).unwrap();
    for write in [write_closed as WriteSchema, write_with_plain_references] {
        let (mut json, mut ledger) = (JsonWriter::default(), Ledger::default());
        write(document.root(), &mut json, &mut ledger);
        let sent: Value = serde_json::from_slice(json.as_bytes()).unwrap();
        assert_eq!(sent["properties"]["a"], json!({"$ref": "#/$defs/A"}));
        assert!(sent["$defs"]["A"].is_object(), "{sent}");
    }
}

#[test]
fn strict_tools_have_arguments_that_are_a_closed_object() {
    let closed = |more: Value| {
        let mut schema = json!({"type": "object", "additionalProperties": false});
        let members = schema.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        schema
    };
    for (schema, expected) in [
        (json!({}), closed(json!({"properties": {}}))),
        (json!({"type": "object"}), closed(json!({"properties": {}}))),
        (
            json!({"properties": {"a": {}}, "required": ["a"], "additionalProperties": false}),
            closed(json!({"properties": {"a": {}}, "required": ["a"]})),
        ),
    ] {
        let (sent, losses) = written(&schema, write_closed_parameters);
        assert_eq!(sent, expected);
        assert!(losses.is_empty(), "{losses:?}");
    }
}

#[test]
fn an_object_with_members_without_names_is_refused_for_claude() {
    for additional in [json!(true), json!({"type": "string"})] {
        let schema = json!({"type": "object", "properties": {"a": {"type": "object",
            "additionalProperties": additional}}, "additionalProperties": false});
        let (sent, losses) = written(&schema, write_closed);
        assert_eq!(sent["properties"]["a"]["additionalProperties"], false);
        assert_eq!(
            losses,
            [(
                "properties.a.additionalProperties".to_owned(),
                "refused".to_owned(),
                1
            )]
        );
    }
}

#[test]
fn references_stand_alone_for_gemini() {
    let plain =
        json!({"type": "object", "properties": {"const": {"type": "string", "minLength": 1}}});
    let cases = [
        (plain.clone(), plain, 0),
        (
            json!({"$ref": "#/$defs/A", "$defs": {"A": {"const": "a"}}, "description": "d"}),
            json!({"$ref": "#/$defs/A", "$defs": {"A": {"enum": ["a"]}}}),
            1,
        ),
        (
            json!({"properties": {"a": {"allOf": [{"$ref": "#/$defs/A"}], "default": 1, "title": "A"}}}),
            json!({"properties": {"a": {"$ref": "#/$defs/A"}}}),
            2,
        ),
        (
            json!({"allOf": [{"type": "string", "title": "inner"}], "title": "outer"}),
            json!({"type": "string", "title": "outer"}),
            0,
        ),
        // What cannot stand side by side stays where it is, and is named.
        (
            json!({"required": ["a"], "allOf": [{"required": ["b"]}]}),
            json!({"required": ["a"], "allOf": [{"required": ["b"]}]}),
            1,
        ),
        (
            json!({"properties": {"b": {}}, "allOf": [{"$ref": "#/$defs/A"}]}),
            json!({"properties": {"b": {}}, "allOf": [{"$ref": "#/$defs/A"}]}),
            1,
        ),
        (
            json!({"anyOf": [{"const": 1}, {"const": true}, {"const": "a", "enum": ["a"]}, true]}),
            json!({"anyOf": [{"enum": [1]}, {"const": true}, {"const": "a", "enum": ["a"]}, true]}),
            0,
        ),
    ];
    for (schema, expected, lost) in cases {
        let (sent, losses) = written(&schema, write_with_plain_references);
        assert_eq!(sent, expected, "{schema}");
        let count: u64 = losses.iter().map(|(.., count)| count).sum();
        assert_eq!(count, lost, "{losses:?}");
    }
}

#[test]
fn arguments_for_gemini_have_the_type_of_an_object() {
    let cases = [
        (
            json!({"required": ["a"]}),
            json!({"type": "object", "required": ["a"]}),
        ),
        (json!({"$ref": "#/$defs/A"}), json!({"$ref": "#/$defs/A"})),
        (
            json!({"allOf": [{"type": "object"}]}),
            json!({"type": "object"}),
        ),
    ];
    for (schema, expected) in cases {
        let (sent, _) = written(&schema, write_parameters_with_plain_references);
        assert_eq!(sent, expected);
    }
    for (schema, expected) in [
        (json!({}), true),
        (json!({"type": "object", "properties": {}}), true),
        (json!({"type": "object", "required": []}), false),
        (json!({"properties": {"a": {}}}), false),
    ] {
        let schema = JsonDocument::parse(Bytes::from(schema.to_string()), &JsonLimits::default());
        assert_eq!(has_no_parameters(schema.unwrap().root()), expected);
    }
}
