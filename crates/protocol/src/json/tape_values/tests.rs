//! Tests that validators have the same result for a document read in place as for serde_json's values.

use proptest::prelude::*;
use serde_json::json;

use super::super::JsonLimits;
use super::super::tests::random::any_json;
use super::*;

fn schemas() -> Vec<Value> {
    vec![
        json!({"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"minimum": 0}}}),
        json!({"type": ["string", "null", "array"], "maxLength": 3, "maxItems": 2}),
        json!({"type": "integer", "multipleOf": 3, "exclusiveMaximum": 1000}),
        json!({"minLength": 2, "pattern": "^[a-z]", "items": {"type": "number"}}),
        json!({"additionalProperties": {"type": "boolean"}, "propertyNames": {"maxLength": 1}, "maxProperties": 3}),
        json!({"uniqueItems": true, "contains": {"const": 1}, "minItems": 1}),
        json!({"enum": [1, "a", null, [1.0, {"a": [0]}], {"a": 1, "b": null}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "object", "minProperties": 1}], "not": {"const": "b"}}),
        json!({"if": {"properties": {"a": {"const": true}}}, "then": {"required": ["b"]}, "else": {"maxProperties": 2}}),
        json!({"patternProperties": {"^a": {"type": "array"}}, "unevaluatedProperties": false}),
        json!({"prefixItems": [{"type": "integer"}, {"type": "string"}], "unevaluatedItems": false}),
        json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "additionalProperties": {"$ref": "#/$defs/tree"}}}}),
        json!({"dependentRequired": {"a": ["b"]}, "format": "uri"}),
    ]
}

/// The violations of a body in both representations, as lists with their pointers.
fn verdicts(schema: &Value, body: &str) -> (Vec<String>, Vec<String>) {
    let document = JsonDocument::parse(
        Bytes::copy_from_slice(body.as_bytes()),
        &JsonLimits::default(),
    )
    .unwrap();
    let value: Value = serde_json::from_str(body).unwrap();
    let theirs = jsonschema::options().build(schema).unwrap();
    let ours = jsonschema::options_for::<JsonSchemaTapeAdapter>()
        .build(schema)
        .unwrap();
    assert_eq!(
        ours.is_valid(document.root()),
        theirs.is_valid(&value),
        "{schema} {body}"
    );
    let reported = |error: jsonschema::ValidationError<'_>| {
        format!("{} {}: {error}", error.instance_path(), error.schema_path())
    };
    let mut of_document: Vec<String> = ours.iter_errors(document.root()).map(reported).collect();
    let mut of_value: Vec<String> = theirs.iter_errors(&value).map(reported).collect();
    // serde_json sorts the members of objects, a document keeps the order of its body.
    of_document.sort();
    of_value.sort();
    (of_document, of_value)
}

#[test]
fn documents_and_values_break_the_same_rules() {
    let bodies = [
        "null",
        "true",
        "0",
        "3",
        "3.0",
        "9e0",
        "-3",
        "1000",
        "18446744073709551616",
        "4.5",
        "\"\"",
        "\"ab\"",
        "\"日本語\"",
        r#""\ud83e\udd80\n""#,
        r#""\u0061bcd""#,
        "[]",
        "[1]",
        "[1,1.0]",
        "[1,\"1\"]",
        "[[1,{\"a\":[0.0]}]]",
        "[1,{\"a\":[0]}]",
        r#"{"a":"x","b":1}"#,
        r#"{"a":1,"b":-1}"#,
        r#"{"b":null,"a":1.0}"#,
        r#"{"\u0061":true}"#,
        r#"{"a":true,"b":false,"c":true,"d":true}"#,
        r#"{"aa":[],"b":{}}"#,
        r#"{"a":{"b":{"c":{}}}}"#,
        r#"{"a":{"b":{"c":1}}}"#,
        r#"{"é":true,"éé":true}"#,
        "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,1]",
    ];
    for schema in schemas() {
        for body in bodies {
            let (of_document, of_value) = verdicts(&schema, body);
            assert_eq!(of_document, of_value, "{schema} {body}");
        }
    }
}

#[test]
fn a_number_beyond_all_doubles_is_a_large_whole_number() {
    let table = [
        (json!({"type": "integer"}), true),
        (json!({"maximum": 2}), false),
        (json!({"minimum": 2}), true),
        (json!({"const": 1}), false),
        (json!({"type": "string"}), false),
    ];
    let document =
        JsonDocument::parse(Bytes::from_static(b"1e400"), &JsonLimits::default()).unwrap();
    for (schema, valid) in table {
        let validator = jsonschema::options_for::<JsonSchemaTapeAdapter>()
            .build(&schema)
            .unwrap();
        assert_eq!(validator.is_valid(document.root()), valid, "{schema}");
    }
}

#[test]
fn a_violation_shows_an_excerpt_of_a_large_body() {
    let body = format!("[\"{}\",{}0]", "x".repeat(100_000), "[1],".repeat(100_000));
    let document = JsonDocument::parse(Bytes::from(body), &JsonLimits::default()).unwrap();
    let validator = jsonschema::options_for::<JsonSchemaTapeAdapter>()
        .build(&json!({"type": "object"}))
        .unwrap();
    let error = validator.validate(document.root()).unwrap_err();
    assert!(error.to_string().len() < 3_000);
}

#[test]
fn patterns_see_the_start_of_a_long_string_and_lengths_all_of_it() {
    let body = format!("\"data:{}\"", r"\/".repeat(100_000));
    let document = JsonDocument::parse(Bytes::from(body), &JsonLimits::default()).unwrap();
    for (schema, valid) in [
        (json!({"pattern": "^data:/"}), true),
        (json!({"not": {"pattern": "^data:"}}), false),
        (json!({"minLength": 100_005, "maxLength": 100_005}), true),
        (json!({"enum": ["data:", "", null]}), false),
        (json!({"const": "data:"}), false),
    ] {
        let validator = jsonschema::options_for::<JsonSchemaTapeAdapter>()
            .build(&schema)
            .unwrap();
        assert_eq!(
            validator.is_valid(document.root()),
            valid,
            "{:.80}",
            schema.to_string()
        );
    }
}

proptest! {
    #[test]
    fn documents_and_values_break_the_same_rules_for_random_bodies(value in any_json()) {
        for schema in schemas() {
            let (of_document, of_value) = verdicts(&schema, &value.to_string());
            prop_assert_eq!(of_document.is_empty(), of_value.is_empty());
        }
    }
}
