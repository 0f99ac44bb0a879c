//! What is wrong with a schema that does not compile, and what to write instead.

use super::{InvalidSchema, reason};
use headgate_protocol::nearest::nearest;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

/// The format that patterns must have.
const REGEX: &str = "regex";
const LINEAR_HINT: &str =
    "state the parts as several patterns: `allOf` for what must match, `not` for what must not";

/// The error for a schema that jsonschema does not compile.
pub fn invalid_schema(error: &ValidationError<'_>, schema: &Value) -> InvalidSchema {
    // An expression that does not compile has its place in the schema only.
    let pointer = match (error.instance_path().as_str(), error.kind()) {
        ("", Kind::Format { .. }) => error.schema_path().to_string(),
        (pointer, _) => pointer.to_owned(),
    };
    let keyword = pointer.rsplit('/').next().unwrap_or_default();
    let value = schema.pointer(&pointer);
    let (pointer, reason, hint) = match error.kind() {
        Kind::Referencing(cause) => (
            dangling_reference(schema, schema, "").unwrap_or(pointer),
            cause.to_string(),
            Some("correct the reference, or add the definition it refers to".to_owned()),
        ),
        Kind::AnyOf { .. } if keyword == "type" => {
            let given = value.and_then(Value::as_str).unwrap_or_default();
            let near = nearest(given, TYPES, 1);
            let hint = near.first().map(|near| format!("did you mean `{near}`?"));
            let reason = format!("must be one of {}, or a list of them", TYPES.join(", "));
            (pointer, reason, hint)
        }
        Kind::Format { format } if format == REGEX => match nonlinear_pattern(schema, "") {
            Some((pointer, part)) => (
                pointer,
                format!(
                    "must be a regular expression without {part}, which cannot be matched in linear time"
                ),
                Some(LINEAR_HINT.to_owned()),
            ),
            None => (pointer, reason::reason(error, None), None),
        },
        _ => (pointer, reason::reason(error, None), None),
    };
    InvalidSchema {
        pointer,
        reason,
        hint,
    }
}

/// The values of `type`.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// The pointer of the first `$ref` without a target in the schema.
fn dangling_reference(root: &Value, schema: &Value, pointer: &str) -> Option<String> {
    match schema {
        Value::Object(members) => members.iter().find_map(|(key, value)| {
            let at = format!("{pointer}/{}", escaped(key));
            let target = value.as_str().filter(|_| key == "$ref");
            match target.and_then(|target| target.strip_prefix('#')) {
                Some(target) => root.pointer(target).is_none().then_some(at),
                None => dangling_reference(root, value, &at),
            }
        }),
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            dangling_reference(root, item, &format!("{pointer}/{index}"))
        }),
        _ => None,
    }
}

/// The pointer of the first pattern that cannot be matched in linear time, and what it has that is the reason.
fn nonlinear_pattern(schema: &Value, pointer: &str) -> Option<(String, &'static str)> {
    match schema {
        Value::Object(keywords) => keywords.iter().find_map(|(keyword, value)| {
            let at = format!("{pointer}/{}", escaped(keyword));
            let part = match (keyword.as_str(), value) {
                ("pattern", Value::String(pattern)) => nonlinear_construct(pattern),
                ("patternProperties", Value::Object(names)) => {
                    names.keys().find_map(|name| nonlinear_construct(name))
                }
                _ => None,
            };
            match part {
                Some(part) => Some((at, part)),
                None => nonlinear_pattern(value, &at),
            }
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| nonlinear_pattern(item, &format!("{pointer}/{index}"))),
        _ => None,
    }
}

/// A key as a step of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn nonlinear_construct(pattern: &str) -> Option<&'static str> {
    let has = |openings: &[&str]| openings.iter().any(|opening| pattern.contains(opening));
    let refers_back = |escape: &[u8]| matches!(escape, [b'\\', b'1'..=b'9' | b'k']);
    if has(&["(?=", "(?!"]) {
        Some("look-ahead")
    } else if has(&["(?<=", "(?<!"]) {
        Some("look-behind")
    } else if pattern.as_bytes().windows(2).any(refers_back) {
        Some("back-references")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::CompiledSchema;
    use serde_json::json;

    #[test]
    fn a_pattern_that_takes_more_than_linear_time_is_refused_with_its_place() {
        for (pattern, part) in [
            (r"^(?=.*a)(?=.*b)", "look-ahead"),
            (r"^(?!.*secret)", "look-ahead"),
            (r"(?<=a)b", "look-behind"),
            (r"(?<!a)b", "look-behind"),
            (r"^(a+)\1$", "back-references"),
            (r"(?<x>a)\k<x>", "back-references"),
        ] {
            for (schema, pointer) in [
                (
                    json!({"properties": {"a": {"pattern": pattern}}}),
                    "/properties/a/pattern",
                ),
                (
                    json!({"$defs": {"b": {"pattern": pattern}}, "items": {"$ref": "#/$defs/b"}}),
                    "/$defs/b/pattern",
                ),
                (
                    json!({"items": {"patternProperties": {pattern: true}}}),
                    "/items/patternProperties",
                ),
            ] {
                let invalid = CompiledSchema::compile(&schema).err();
                let invalid = invalid.unwrap_or_else(|| panic!("{pattern} is refused"));
                assert!(invalid.pointer.starts_with(pointer), "{}", invalid.pointer);
                assert!(invalid.reason.contains(part), "{}", invalid.reason);
                assert!(invalid.hint.unwrap().contains("`not`"));
            }
        }
    }

    #[test]
    fn patterns_that_take_linear_time_keep_their_meaning() {
        for pattern in [
            r"^\d{3}-[a-z]+$",
            r"(?i)abc",
            r"(?:a|b)+c",
            r"\u00e9",
            r"^\p{L}+$",
            r"^\S*$",
        ] {
            let schema = json!({"properties": {"a": {"pattern": pattern}}});
            assert!(CompiledSchema::compile(&schema).is_ok(), "{pattern}");
        }
    }
}
