//! Long lists of alternatives that are constants, as one `enum`: its values are looked up, alternatives are tried in turn.

use serde_json::{Map, Value};
use std::collections::HashSet;

/// Shorter lists stay as they are, with the messages that their alternatives may have.
const ALTERNATIVES_MIN: usize = 64;
/// Keywords whose values are data, not schemas.
const DATA_KEYWORDS: [&str; 5] = ["const", "default", "enum", "example", "examples"];
/// Keywords that say nothing about what is valid.
const ANNOTATIONS: [&str; 4] = ["$comment", "deprecated", "description", "title"];

/// Replaces long `anyOf` and `oneOf` of `const` and `enum` by an `enum` with the same values.
pub fn merge(schema: &mut Value) {
    let draft = schema.get("$schema").and_then(Value::as_str);
    // Draft 4 has no `const`: such an alternative is valid for every value.
    if draft.is_none_or(|draft| !draft.contains("draft-04")) {
        merge_within(schema);
    }
}

fn merge_within(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(merge_within),
        Value::Object(keywords) => {
            for keyword in ["anyOf", "oneOf"] {
                merge_alternatives(keywords, keyword);
            }
            let parts = keywords.iter_mut();
            let schemas = parts.filter(|(keyword, _)| !DATA_KEYWORDS.contains(&keyword.as_str()));
            schemas.for_each(|(_, part)| merge_within(part));
        }
        _ => {}
    }
}

fn merge_alternatives(keywords: &mut Map<String, Value>, keyword: &str) {
    let alternatives = keywords.get(keyword).and_then(Value::as_array);
    let long = alternatives.filter(|alternatives| alternatives.len() >= ALTERNATIVES_MIN);
    let values = long.and_then(|alternatives| admitted_values(alternatives));
    let Some(values) = values.filter(|values| keyword == "anyOf" || are_distinct(values)) else {
        return;
    };
    if !keywords.contains_key("enum") {
        keywords.remove(keyword);
        keywords.insert("enum".to_owned(), Value::Array(values));
    }
}

/// The values that the alternatives admit, if each is a list of scalars.
fn admitted_values(alternatives: &[Value]) -> Option<Vec<Value>> {
    let mut values = Vec::with_capacity(alternatives.len());
    for alternative in alternatives {
        let keywords = alternative.as_object()?;
        let admitted = match (keywords.get("const"), keywords.get("enum")) {
            (Some(only), None) => std::slice::from_ref(only),
            (None, Some(Value::Array(list))) => list,
            _ => return None,
        };
        let admits = |value: &Value| !value.is_array() && !value.is_object();
        let is_implied = |(keyword, value): (&String, &Value)| match keyword.as_str() {
            "const" | "enum" => true,
            "type" => admitted.iter().all(|one| is_of_type(one, value)),
            other => ANNOTATIONS.contains(&other),
        };
        if !admitted.iter().all(admits) || !keywords.iter().all(is_implied) {
            return None;
        }
        values.extend_from_slice(admitted);
    }
    Some(values)
}

fn is_of_type(value: &Value, word: &Value) -> bool {
    match word.as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        _ => false,
    }
}

/// Whether no two of the values are equal. Numbers with a fraction may equal others, and are not compared.
fn are_distinct(values: &[Value]) -> bool {
    let mut known = HashSet::with_capacity(values.len());
    let mut values = values.iter();
    values.all(|value| !value.is_f64() && known.insert(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompiledSchema, find_violations};
    use headgate_protocol::json::{JsonDocument, JsonLimits};
    use serde_json::json;

    fn merged(keyword: &str, alternatives: Vec<Value>) -> Value {
        let mut schema = json!({"properties": {"a": {keyword: alternatives}}});
        merge(&mut schema);
        schema["properties"]["a"].clone()
    }

    fn consts(count: usize) -> Vec<Value> {
        (0..count)
            .map(|n| json!({"const": format!("v{n}")}))
            .collect()
    }

    #[test]
    fn long_lists_of_constants_become_one_list_of_values() {
        for keyword in ["anyOf", "oneOf"] {
            let short = merged(keyword, consts(ALTERNATIVES_MIN - 1));
            assert!(short.get("enum").is_none());
            let long = merged(keyword, consts(ALTERNATIVES_MIN));
            assert_eq!(long["enum"].as_array().unwrap().len(), ALTERNATIVES_MIN);
            assert_eq!(long.as_object().unwrap().len(), 1);
        }
    }

    #[test]
    fn only_lists_that_mean_the_same_are_merged() {
        for (keyword, one, is_merged) in [
            (
                "anyOf",
                json!({"enum": ["x", 1, null], "description": "more"}),
                true,
            ),
            ("anyOf", json!({"const": "x", "type": "string"}), true),
            ("anyOf", json!({"const": "x", "type": "integer"}), false),
            ("anyOf", json!({"const": "x", "minLength": 2}), false),
            ("anyOf", json!({"const": {"a": 1}}), false),
            ("anyOf", json!({"type": "string"}), false),
            ("anyOf", json!(true), false),
            ("anyOf", json!({"const": "v0"}), true),
            ("oneOf", json!({"const": "v0"}), false),
            ("oneOf", json!({"const": 1.0}), false),
            ("oneOf", json!({"const": 1}), true),
        ] {
            let mut alternatives = consts(ALTERNATIVES_MIN);
            alternatives.push(one.clone());
            let list = merged(keyword, alternatives);
            assert_eq!(list.get("enum").is_some(), is_merged, "{keyword} {one}");
        }
    }

    #[test]
    fn a_long_list_admits_its_values_in_every_spelling_and_no_others() {
        let texts = (0..20_000).map(|n| json!({"const": format!("v{n}")}));
        let integers = (0..100).map(|n| json!({"const": n}));
        let others = [
            json!({"const": 0.5}),
            json!({"const": -3}),
            json!({"const": false}),
        ];
        let alternatives: Vec<Value> = texts.chain(integers).chain(others).collect();
        for keyword in ["anyOf", "oneOf"] {
            let mut alternatives = alternatives.clone();
            if keyword == "oneOf" {
                alternatives.retain(|alternative| !alternative["const"].is_f64());
            }
            let schema = CompiledSchema::compile(&json!({keyword: alternatives})).unwrap();
            for (body, is_valid) in [
                (r#""v17""#, true),
                (r#""\u0076\u0031""#, true),
                (r#""v20000""#, false),
                (r#""V1""#, false),
                ("7", true),
                ("7.0", true),
                ("70e-1", true),
                ("7.5", false),
                ("0.5", keyword == "anyOf"),
                ("-3", true),
                ("-7", false),
                ("100", false),
                ("false", true),
                ("true", false),
                ("null", false),
                ("[]", false),
            ] {
                let document = JsonDocument::parse(body.into(), &JsonLimits::default()).unwrap();
                assert_eq!(schema.accepts(&document), is_valid, "{keyword} {body}");
                let violations = find_violations([&schema], &document, 8);
                assert_eq!(violations.is_empty(), is_valid, "{keyword} {body}");
                for violation in violations {
                    let reason = &violation.reason;
                    assert!(
                        reason.contains("values such as \"v0\"") && reason.len() < 200,
                        "{reason}"
                    );
                }
            }
        }
    }

    #[test]
    fn values_that_look_like_schemas_are_left_alone() {
        let mut schema = json!({"default": {"anyOf": consts(ALTERNATIVES_MIN)}});
        let before = schema.clone();
        merge(&mut schema);
        assert_eq!(schema, before);
        let mut old = json!({"anyOf": consts(ALTERNATIVES_MIN)});
        old["$schema"] = json!("http://json-schema.org/draft-04/schema#");
        let before = old.clone();
        merge(&mut old);
        assert_eq!(old, before);
    }
}
