//! Error messages for schema violations: what the rule expects, and what was received.

use headgate_protocol::json::{DocumentNode, ValueKind};
use headgate_protocol::nearest::nearest;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, JsonTypeSet, ValidationError};
use serde_json::Value;

/// The schema keyword with a message for people, which replaces the rule's own message.
pub(super) const WORDS: &str = "errorMessage";

/// The message for a violation, to follow the field's name. It contains the type or length of the received value, never
/// the value. Null and empty text are not listed as expected values, because they mean an absent value.
pub(super) fn reason(error: &ValidationError<'_>, value: Option<DocumentNode<'_>>) -> String {
    match error.kind() {
        Kind::Type { kind } => match expected_types(kind).as_str() {
            "" => with_received("must be absent or null", error, value),
            types => with_received(&format!("must be {types}"), error, value),
        },
        Kind::Enum { options } => {
            with_received(&format!("must be {}", expected(options)), error, value)
                + &hint(options, value)
        }
        Kind::Constant { expected_value } => {
            with_received(&format!("must be {expected_value}"), error, value)
        }
        Kind::Minimum { limit } => {
            with_received(&format!("must be at least {limit}"), error, value)
        }
        Kind::Maximum { limit } => with_received(&format!("must be at most {limit}"), error, value),
        Kind::ExclusiveMinimum { limit } => format!("must be greater than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::Pattern { pattern } => {
            with_received(&format!("must match the pattern `{pattern}`"), error, value)
        }
        Kind::Format { format } => format!("must be a valid {format}"),
        kind => reason_of_length(kind, value)
            .or_else(|| reason_of_structure(kind).map(str::to_owned))
            .unwrap_or_else(|| format!("is not valid: {}", error.masked_with("the value"))),
    }
}

/// The message for a missing field, with the types in its schema.
pub(super) fn missing(field: &str, types: Option<&Value>) -> String {
    let types = match types {
        Some(Value::Array(several)) => named_types(several.iter().filter_map(Value::as_str)),
        Some(single) => named_types(single.as_str().into_iter()),
        None => String::new(),
    };
    match types.as_str() {
        "" => format!("missing required field `{field}`"),
        types => format!("missing required field `{field}` ({types})"),
    }
}

/// The schema's own message for a rule, with the received type or length.
pub(super) fn with_received(
    words: &str,
    error: &ValidationError<'_>,
    value: Option<DocumentNode<'_>>,
) -> String {
    match value.and_then(|value| received(error.kind(), value)) {
        Some(received) if words.starts_with("must ") => format!("{words}, received {received}"),
        _ => words.to_owned(),
    }
}

/// What was received; `None` if the rule is not about the type or the size of one value.
fn received(kind: &Kind, value: DocumentNode<'_>) -> Option<&'static str> {
    let needs_integer = |kind: &TypeKind| {
        let types = to_type_set(kind);
        types.contains(JsonType::Integer) && !types.contains(JsonType::Number)
    };
    Some(match (kind, value.kind()) {
        (Kind::Type { kind }, ValueKind::Number) if needs_integer(kind) => {
            "a number with a fraction"
        }
        (Kind::Type { .. }, _) => value.type_name(),
        (Kind::Minimum { .. }, _) => "a smaller number",
        (Kind::Maximum { .. }, _) => "a larger number",
        (Kind::MultipleOf { .. }, _) => "another number",
        (Kind::Enum { .. } | Kind::Constant { .. } | Kind::Pattern { .. }, kind) => match kind {
            ValueKind::String if value.str_len() != Some(0) => "another string",
            ValueKind::Number => "another number",
            _ => value.type_name(),
        },
        _ => return None,
    })
}

/// The message for a limit of a list, text or object, with the received length.
fn reason_of_length(kind: &Kind, value: Option<DocumentNode<'_>>) -> Option<String> {
    let items = value.map(DocumentNode::len);
    let characters = value.and_then(DocumentNode::str_len);
    let (bound, limit, unit, received) = match *kind {
        Kind::MinItems { limit: 1 } | Kind::MinLength { limit: 1 } => {
            return Some("must not be empty".to_owned());
        }
        Kind::MinItems { limit } => ("at least", limit, "item", items),
        Kind::MaxItems { limit } => ("at most", limit, "item", items),
        Kind::MinLength { limit } => ("at least", limit, "character", characters),
        Kind::MaxLength { limit } => ("at most", limit, "character", characters),
        Kind::MinProperties { limit } => ("at least", limit, "field", items),
        Kind::MaxProperties { limit } => ("at most", limit, "field", items),
        _ => return None,
    };
    let plural = if limit == 1 { "" } else { "s" };
    let received = received.map_or(String::new(), |count| format!(", received {count}"));
    Some(format!(
        "must have {bound} {limit} {unit}{plural}{received}"
    ))
}

/// The rules whose expectation is a schema or a list of schemas.
fn reason_of_structure(kind: &Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::UniqueItems => "must not have two equal items",
        Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } => {
            "must not have fields that the schema does not define"
        }
        Kind::AdditionalItems { .. } | Kind::UnevaluatedItems { .. } => {
            "must not have items that the schema does not define"
        }
        Kind::FalseSchema => "is not allowed here; remove it",
        Kind::AnyOf { .. } => "matches none of the schema's alternatives (`anyOf`)",
        Kind::OneOfNotValid { .. } => "matches none of the schema's alternatives (`oneOf`)",
        Kind::OneOfMultipleValid { .. } => {
            "matches more than one of the schema's alternatives (`oneOf`)"
        }
        _ => return None,
    })
}

/// The values of an `enum`.
/// Longer lists of options are not written out, and not searched for the one that was probably meant.
const NAMED_MAX: usize = 200;

fn expected(options: &Value) -> String {
    let named: Vec<String> = iter_options(options).map(Value::to_string).collect();
    match named.as_slice() {
        [] => "absent or null".to_owned(),
        [only] => only.clone(),
        several if several.len() > NAMED_MAX => {
            let (named, count) = (several[..3].join(", "), several.len());
            format!("one of {count} values such as {named}")
        }
        several => format!("one of {}", several.join(", ")),
    }
}

/// The option that was probably meant. Very short values and values like `16:9` are too similar for a guess.
fn hint(options: &Value, value: Option<DocumentNode<'_>>) -> String {
    const GUESSED_CHARS_MIN: usize = 3;
    let is_word = |text: &str| {
        text.chars().count() >= GUESSED_CHARS_MIN && text.starts_with(char::is_alphabetic)
    };
    let is_long = options
        .as_array()
        .is_some_and(|options| options.len() > NAMED_MAX);
    let text = value.and_then(DocumentNode::as_str).filter(|_| !is_long);
    let text = text.filter(|text| is_word(text)).unwrap_or_default();
    let near = nearest(&text, iter_options(options).filter_map(Value::as_str), 1);
    let near = near.first();
    near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"))
}

fn iter_options(options: &Value) -> impl Iterator<Item = &Value> {
    let options = options.as_array().into_iter().flatten();
    options.filter(|option| !option.is_null() && option.as_str() != Some(""))
}

fn expected_types(kind: &TypeKind) -> String {
    let types = to_type_set(kind).into_iter();
    named_types(types.map(|kind| kind.as_str()))
}

/// The types of JSON Schema as text. Null is omitted, because it means an absent value.
fn named_types<'t>(types: impl Iterator<Item = &'t str>) -> String {
    let names = types.filter_map(|name| match name {
        "boolean" => Some("a boolean"),
        "integer" => Some("an integer"),
        "number" => Some("a number"),
        "string" => Some("a string"),
        "array" => Some("an array"),
        "object" => Some("an object"),
        _ => None,
    });
    names.collect::<Vec<_>>().join(" or ")
}

fn to_type_set(kind: &TypeKind) -> JsonTypeSet {
    match *kind {
        TypeKind::Single(only) => only.into(),
        TypeKind::Multiple(several) => several,
    }
}

#[cfg(test)]
mod tests {
    use crate::CompiledSchema;
    use bytes::Bytes;
    use headgate_protocol::json::{JsonDocument, JsonLimits};
    use serde_json::json;

    #[test]
    fn a_reason_states_what_was_expected_and_what_was_received() {
        for (rule, value, reason) in [
            (
                json!({"type": ["null", "number"]}),
                json!("hot"),
                "must be a number, received a string",
            ),
            (
                json!({"type": "array"}),
                json!(""),
                "must be an array, received an empty string",
            ),
            (
                json!({"type": ["string", "array", "null"]}),
                json!(1),
                "must be a string or an array, received a number",
            ),
            (
                json!({"type": "integer"}),
                json!(1.5),
                "must be an integer, received a number with a fraction",
            ),
            (
                json!({"type": "null"}),
                json!({}),
                "must be absent or null, received an object",
            ),
            (
                json!({"type": "boolean"}),
                json!([]),
                "must be a boolean, received an array",
            ),
            (
                json!({"type": "string"}),
                json!(null),
                "must be a string, received null",
            ),
            (
                json!({"minimum": 1}),
                json!(0),
                "must be at least 1, received a smaller number",
            ),
            (
                json!({"maximum": 2}),
                json!(3),
                "must be at most 2, received a larger number",
            ),
            (
                json!({"exclusiveMinimum": 0}),
                json!(0),
                "must be greater than 0",
            ),
            (json!({"minItems": 1}), json!([]), "must not be empty"),
            (json!({"minLength": 1}), json!(""), "must not be empty"),
            (
                json!({"maxItems": 2}),
                json!([1, 2, 3]),
                "must have at most 2 items, received 3",
            ),
            (
                json!({"minLength": 3}),
                json!("né"),
                "must have at least 3 characters, received 2",
            ),
            (
                json!({"maxProperties": 1}),
                json!({"b": 1, "c": 2}),
                "must have at most 1 field, received 2",
            ),
            (
                json!({"enum": ["user", "tool", "", null]}),
                json!("x"),
                r#"must be one of "user", "tool", received another string"#,
            ),
            (
                json!({"enum": ["user", "tool"]}),
                json!("usr"),
                r#"must be one of "user", "tool", received another string; did you mean "user"?"#,
            ),
            (
                json!({"enum": ["user"]}),
                json!(7),
                r#"must be "user", received another number"#,
            ),
            (
                json!({"const": "function"}),
                json!([]),
                r#"must be "function", received an array"#,
            ),
            (
                json!({"pattern": "^a$"}),
                json!("b"),
                "must match the pattern `^a$`, received another string",
            ),
            (
                json!({"uniqueItems": true}),
                json!([1, 1]),
                "must not have two equal items",
            ),
            (json!(false), json!(1), "is not allowed here; remove it"),
            (
                json!({"anyOf": [{"type": "null"}, {"type": "string"}]}),
                json!(1),
                "matches none of the schema's alternatives (`anyOf`)",
            ),
            (
                json!({"required": ["b"]}),
                json!({}),
                "missing required field `b`",
            ),
            (
                json!({"type": "string", "errorMessage": "must be a name"}),
                json!(1),
                "must be a name, received a number",
            ),
            (
                json!({"maximum": 9, "errorMessage": "must be 1 to 9"}),
                json!(10),
                "must be 1 to 9, received a larger number",
            ),
            (
                json!({"pattern": "^a", "errorMessage": "must be a URL"}),
                json!("b"),
                "must be a URL, received another string",
            ),
            (
                json!({"not": {"const": 0}, "errorMessage": "must not be zero"}),
                json!(0),
                "must not be zero",
            ),
            (
                json!({"type": "null", "errorMessage": "`a` requires `b`"}),
                json!(0),
                "`a` requires `b`",
            ),
        ] {
            let schema = CompiledSchema::compile(&json!({"properties": {"a": rule}})).unwrap();
            let body = Bytes::from(json!({"a": value}).to_string());
            let body = JsonDocument::parse(body, &JsonLimits::default()).unwrap();
            let found = schema.violations(&body, 8);
            assert_eq!(found.len(), 1, "{rule}: {found:?}");
            assert_eq!(found[0].reason, reason, "{rule}");
        }
    }
}
