//! Tests that programs and validators agree on random schemas and random bodies with the same few names and values.

use super::*;
use proptest::prelude::*;
use serde_json::{Map, json};

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "type"])
}

fn scalar() -> impl Strategy<Value = Value> {
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(1.0),
        json!(1.5),
        json!(""),
        json!("a"),
        json!("b"),
        json!([]),
        json!({}),
    ];
    prop::sample::select(values.to_vec())
}

fn any_body() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// A keyword that contains no schemas.
fn assertion() -> impl Strategy<Value = (&'static str, Value)> {
    let types = vec![
        "null", "boolean", "integer", "number", "string", "array", "object",
    ];
    let limits = vec![
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "minContains",
        "maxContains",
    ];
    prop_oneof![
        prop::sample::subsequence(types, 1..4).prop_map(|types| ("type", json!(types))),
        (prop::sample::select(limits), 0..3).prop_map(|(keyword, limit)| (keyword, json!(limit))),
        scalar().prop_map(|value| ("const", value)),
        prop::collection::vec(scalar(), 1..4).prop_map(|values| ("enum", json!(values))),
        prop::collection::btree_set(name(), 1..3).prop_map(|names| ("required", json!(names))),
        Just(("pattern", json!("a"))),
        Just(("uniqueItems", json!(true))),
    ]
}

/// A keyword that contains schemas.
fn applicator(
    schema: impl Strategy<Value = Value> + Clone,
) -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let one = vec!["not", "items", "contains", "additionalProperties"];
    let several = vec!["allOf", "anyOf", "oneOf"];
    let test = prop::collection::btree_map(name(), scalar(), 1..2).prop_map(|members| {
        let members = members
            .into_iter()
            .map(|(name, value)| (name.to_owned(), json!({"const": value})));
        json!({"properties": members.collect::<Map<_, _>>()})
    });
    prop_oneof![
        (prop::sample::select(one), schema.clone())
            .prop_map(|(keyword, schema)| vec![(keyword, schema)]),
        (
            prop::sample::select(several),
            prop::collection::vec(schema.clone(), 1..3)
        )
            .prop_map(|(keyword, schemas)| vec![(keyword, json!(schemas))]),
        prop::collection::btree_map(name(), schema.clone(), 1..3)
            .prop_map(|members| vec![("properties", json!(members))]),
        (prop_oneof![schema.clone(), test], schema.clone(), schema).prop_map(
            |(test, then, otherwise)| vec![("if", test), ("then", then), ("else", otherwise)]
        ),
        Just(vec![("prefixItems", json!([true]))]),
        Just(vec![("items", json!({"$ref": "#"}))]),
        Just(vec![("$ref", json!("#/$defs/shared"))]),
    ]
}

fn any_schema() -> impl Strategy<Value = Value> {
    let assertions = prop::collection::vec(assertion(), 0..3)
        .prop_map(|keywords| keywords.into_iter().collect::<Value>());
    let leaf = prop_oneof![8 => assertions, 1 => any::<bool>().prop_map(Value::from)];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let assertions = prop::collection::vec(assertion(), 0..2);
        let applicators = prop::collection::vec(applicator(inner), 1..4);
        (assertions, applicators)
            .prop_map(|(some, others)| others.into_iter().flatten().chain(some).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn programs_and_validators_agree_on_random_schemas(
        mut schema in any_schema(),
        shared in any_schema(),
        bodies in prop::collection::vec(any_body(), 24),
    ) {
        if let Value::Object(keywords) = &mut schema {
            keywords.insert("$defs".to_owned(), json!({"shared": shared}));
        }
        // A validator that never ends on a loop has nothing to compare.
        if AcceptProgram::compile(&schema).is_none() {
            return Ok(());
        }
        let Ok(compiled) = CompiledSchema::compile(&schema) else {
            return Err(TestCaseError::reject("it is no schema"));
        };
        for body in bodies {
            checked_verdict(&compiled, &body.to_string());
        }
    }
}
