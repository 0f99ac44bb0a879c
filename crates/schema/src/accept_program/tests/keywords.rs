//! Tests of each keyword at its edges.

use super::keyword_table::table;
use super::*;
use serde_json::json;

#[test]
fn programs_decide_every_keyword_they_know() {
    for (schema, accepted, refused) in table() {
        let compiled = compile(&schema);
        for body in accepted {
            assert_eq!(
                checked_verdict(&compiled, body),
                SchemaVerdict::Yes,
                "{schema} {body}"
            );
        }
        for body in refused {
            assert_eq!(
                checked_verdict(&compiled, body),
                SchemaVerdict::No,
                "{schema} {body}"
            );
        }
    }
}

#[test]
fn programs_and_validators_agree_on_the_bodies_of_all_keywords() {
    let table = table();
    for (schema, ..) in &table {
        let compiled = compile(schema);
        for (_, accepted, refused) in &table {
            for body in accepted.iter().chain(refused) {
                checked_verdict(&compiled, body);
            }
        }
    }
}

#[test]
fn a_keyword_that_is_not_known_matters_only_to_the_values_it_applies_to() {
    for (schema, unknown, known) in [
        (json!({"patternProperties": {"a": false}}), "{}", "[]"),
        (json!({"prefixItems": [true], "items": false}), "[1]", "{}"),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            r#"{"ab":1}"#,
            "1",
        ),
        (json!({"unevaluatedProperties": false}), r#"{"ab":1}"#, "1"),
        (
            json!({"maximum": 9_007_199_254_740_993_u64}),
            "9007199254740993",
            "\"\"",
        ),
        (
            json!({"not": {"unevaluatedItems": false}, "type": ["array", "null"]}),
            "[1]",
            "1",
        ),
        (
            json!({"anyOf": [{"properties": {"a": {"patternProperties": {}}}}, false]}),
            r#"{"a":{}}"#,
            r#"{"a":1}"#,
        ),
        (
            json!({"if": {"patternProperties": {}}, "then": true, "type": "object"}),
            "{}",
            "1",
        ),
    ] {
        let compiled = compile(&schema);
        assert_eq!(
            checked_verdict(&compiled, unknown),
            SchemaVerdict::Unknown,
            "{schema}"
        );
        assert_ne!(
            checked_verdict(&compiled, known),
            SchemaVerdict::Unknown,
            "{schema}"
        );
    }
}

#[test]
fn a_schema_that_means_something_else_to_a_program_has_none() {
    for schema in [
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "maxLength": 1, "definitions": {"a": {}}}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": [false]}),
        json!({"$defs": {"a": {"$id": "urn:a", "$ref": "#/$defs/b", "$defs": {"b": false}}, "b": true}, "$ref": "#/$defs/a"}),
        json!({"$anchor": "a", "properties": {"a": {"$ref": "#a"}}}),
        json!({"$dynamicAnchor": "a", "items": {"$dynamicRef": "#a"}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}),
        json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}, "items": {"$ref": "#/$defs/a"}}),
    ] {
        assert!(AcceptProgram::compile(&schema).is_none(), "{schema}");
    }
}

#[test]
fn references_of_references_are_followed_in_bounded_time() {
    let all = json!(vec![json!({"$ref": "#/$defs/a"}); 10]);
    let endless = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": all, "if": {"anyOf": all}, "then": {"not": {"allOf": all}}}}});
    assert!(AcceptProgram::compile(&endless).is_none());
    let level = |level: usize| {
        let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
        (
            level.to_string(),
            json!({"allOf": [next, next], "if": {"allOf": [next, next]}}),
        )
    };
    let mut levels: serde_json::Map<String, Value> = (0..40).map(level).collect();
    levels.insert("40".to_owned(), json!({"const": 1}));
    let wide = json!({"$ref": "#/$defs/0", "$defs": levels});
    let program = AcceptProgram::compile(&wide).unwrap();
    assert_eq!(program.verdict(document("1").root()), SchemaVerdict::Yes);
    assert_eq!(program.verdict(document("2").root()), SchemaVerdict::No);
}

#[test]
fn a_reference_to_another_place_than_the_schema_itself_is_not_known() {
    let schema = json!({"$id": "urn:a", "$defs": {"a b": false}, "properties": {"a": {"$ref": "urn:a#/$defs/a%20b"}}});
    let compiled = compile(&schema);
    assert_eq!(
        checked_verdict(&compiled, r#"{"a":1}"#),
        SchemaVerdict::Unknown
    );
    assert_eq!(checked_verdict(&compiled, r#"{"b":1}"#), SchemaVerdict::Yes);
}

#[test]
fn more_required_members_than_bits_are_not_known() {
    for (count, verdict) in [(64, SchemaVerdict::Yes), (65, SchemaVerdict::Unknown)] {
        let names: Vec<String> = (0..count).map(|name| name.to_string()).collect();
        let body: Value = names
            .iter()
            .map(|name| (name.clone(), Value::Null))
            .collect();
        let compiled = compile(&json!({"required": names}));
        assert_eq!(
            checked_verdict(&compiled, &body.to_string()),
            verdict,
            "{count}"
        );
    }
}

#[test]
fn a_recursive_schema_follows_a_deep_body() {
    let compiled = compile(&json!({"type": ["array", "null"], "items": {"$ref": "#"}}));
    let nested = |depth: usize, inner: &str| "[".repeat(depth) + inner + &"]".repeat(depth);
    assert_eq!(
        checked_verdict(&compiled, &nested(64, "null")),
        SchemaVerdict::Yes
    );
    assert_eq!(
        checked_verdict(&compiled, &nested(64, "1")),
        SchemaVerdict::No
    );
}

#[test]
fn a_schema_that_grows_too_large_has_no_program() {
    let literals = |name: &str| (0..60).map(|n| format!("{name}{n}")).collect::<Vec<_>>();
    let test = |name: &str| {
        let cases = literals(name).into_iter().map(|literal| {
            json!({"if": {"properties": {name: {"const": literal}}}, "then": {"required": [literal]}})
        });
        cases.collect::<Vec<_>>()
    };
    let large = json!({"type": "object", "allOf": ([test("a"), test("b")].concat())});
    let of_two =
        json!({"items": large, "properties": {"a": {"allOf": [large, {"minProperties": 1}]}}});
    assert!(AcceptProgram::compile(&of_two).is_none());
}
