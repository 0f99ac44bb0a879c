//! The keywords of JSON Schema that programs do not compute themselves, and references.

use super::scalar::KindSet;
use crate::reason::WORDS;
use headgate_protocol::json::ValueKind;
use serde_json::Value;

/// The schema that a local `$ref` refers to. References with escapes of URIs are left to `jsonschema`.
pub fn target<'s>(root: &'s Value, reference: &Value) -> Option<&'s Value> {
    let pointer = reference.as_str()?.strip_prefix('#')?;
    match pointer.contains('%') {
        true => None,
        false => root.pointer(pointer),
    }
}

/// Whether a keyword says nothing about validity. That of `$id` at the root names the whole schema.
pub fn is_annotation(keyword: &str) -> bool {
    let known = [
        "$schema",
        "$id",
        "$comment",
        "$defs",
        "definitions",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        WORDS,
    ];
    known.contains(&keyword) || keyword.starts_with("x-")
}

/// The kinds that a keyword applies to which a validator of its own decides, as it contains no schemas.
pub fn kinds_of_judge(keyword: &str) -> Option<KindSet> {
    let kind = match keyword {
        "pattern" | "format" => ValueKind::String,
        "multipleOf" => ValueKind::Number,
        "uniqueItems" => ValueKind::Array,
        "dependentRequired" => ValueKind::Object,
        _ => return None,
    };
    Some(kind.into())
}

/// The kinds that a keyword applies to which is no part of a program.
pub fn kinds_of_unknown(keyword: &str) -> KindSet {
    match keyword {
        "patternProperties" | "propertyNames" | "unevaluatedProperties" | "dependentSchemas" => {
            ValueKind::Object.into()
        }
        "prefixItems" | "unevaluatedItems" => ValueKind::Array.into(),
        _ if is_annotation(keyword) => KindSet::NONE,
        _ => KindSet::ALL,
    }
}

/// Whether the schema is one whose references and keywords mean what programs take them for: draft 2020-12, in one
/// resource without anchors.
pub fn is_supported(root: &Value) -> bool {
    let draft = root.get("$schema").map(Value::as_str);
    let is_current = match draft {
        Some(uri) => uri.is_some_and(|uri| uri.trim_end_matches('#') == DRAFT),
        None => true,
    };
    let is_reserved = |(keyword, value): (&String, &Value)| {
        value.is_string() && RESOURCE_KEYWORDS.contains(&keyword.as_str())
    };
    let parts = match root {
        Value::Object(keywords) => keywords.iter().filter(|(keyword, _)| !is_name(keyword)),
        _ => return root.is_boolean(),
    };
    is_current
        && !parts
            .into_iter()
            .any(|part| is_reserved(part) || contains(part.1, &is_reserved))
}

/// The draft of schemas that do not declare one.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
/// The keywords that change what references or keywords mean.
const RESOURCE_KEYWORDS: [&str; 7] = [
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
];

/// Whether a keyword of the root names the schema or its draft.
fn is_name(keyword: &str) -> bool {
    matches!(keyword, "$schema" | "$id")
}

/// Whether any member within the value, however deep, is as described.
fn contains(value: &Value, is_wanted: &dyn Fn((&String, &Value)) -> bool) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|member| is_wanted(member) || contains(member.1, is_wanted)),
        Value::Array(items) => items.iter().any(|item| contains(item, is_wanted)),
        _ => false,
    }
}
