//! Values of a family's definition that have a short form: the place of a field, and places in a response.

use headgate_scalar::text_or_expression::TextOrExpressionConfig;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Where a field of a generic request goes: a pointer, or more than that.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(from = "ShortOrFullFieldMapping")]
pub struct FieldMappingConfig {
    pub to: Option<String>,
    pub query: Option<String>,
    pub value: Option<Value>,
    pub allowed: Vec<AllowedWord>,
    pub map: BTreeMap<String, Value>,
    pub min: Option<i64>,
    pub max: Option<i64>,
    pub default: Option<Value>,
    pub required: bool,
    pub refuse: Option<String>,
    pub ignore: Option<String>,
}

/// Where something lies in a response: the first of these that is there counts.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(from = "OneOrMoreSources")]
pub struct ValueSourcesConfig(pub Vec<TextOrExpressionConfig>);

/// A value that a field may have, as text.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(from = "Value")]
pub struct AllowedWord(pub String);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMoreSources {
    // Before `One`: a mapping is also read from a list of its values.
    Several(Vec<TextOrExpressionConfig>),
    One(TextOrExpressionConfig),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ShortOrFullFieldMapping {
    To(String),
    Full(Box<FullFieldMapping>),
}

/// Exactly one of `to`, `query`, `refuse` and `ignore`; none of them for a field that only expressions read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FullFieldMapping {
    /// JSON pointer of the field's place in the provider's request; a number is an element of an array, and a trailing
    /// `-` appends to one.
    to: Option<String>,
    /// Member of the query in which the value is sent.
    query: Option<String>,
    /// What is written; `{}` stands for the value of the field, `{base64}`, `{media_type}` and `{url_or_base64}` for
    /// parts of a data URI, and `{cel: …}` for the value of an expression over the create. Default: the value itself.
    value: Option<Value>,
    /// Allowed values; others are refused. Default: any value.
    #[serde(default)]
    allowed: Vec<AllowedWord>,
    /// Mapping of values to those of the provider; others are refused. Default: any value, unchanged.
    #[serde(default)]
    map: BTreeMap<String, Value>,
    /// Lowest number; a lower one is refused. Default: none.
    min: Option<i64>,
    /// Highest number; a higher one is refused. Default: none.
    max: Option<i64>,
    /// Value of the field if the request has none. Default: none.
    default: Option<Value>,
    /// Whether a request without the field is refused. Default: false.
    #[serde(default)]
    required: bool,
    /// Reason why the field is refused, as it reads after "model `x`".
    refuse: Option<String>,
    /// Reason why the field is ignored, as it reads after "model `x`".
    ignore: Option<String>,
}

impl From<ShortOrFullFieldMapping> for FieldMappingConfig {
    fn from(written: ShortOrFullFieldMapping) -> Self {
        match written {
            ShortOrFullFieldMapping::To(to) => Self {
                to: Some(to),
                ..Self::default()
            },
            ShortOrFullFieldMapping::Full(full) => {
                let FullFieldMapping {
                    to,
                    query,
                    value,
                    allowed,
                    map,
                    min,
                    max,
                    default,
                    required,
                    refuse,
                    ignore,
                } = *full;
                Self {
                    to,
                    query,
                    value,
                    allowed,
                    map,
                    min,
                    max,
                    default,
                    required,
                    refuse,
                    ignore,
                }
            }
        }
    }
}

impl From<Value> for AllowedWord {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self(text),
            other => Self(other.to_string()),
        }
    }
}

impl From<OneOrMoreSources> for ValueSourcesConfig {
    fn from(written: OneOrMoreSources) -> Self {
        match written {
            OneOrMoreSources::One(one) => Self(vec![one]),
            OneOrMoreSources::Several(several) => Self(several),
        }
    }
}

impl JsonSchema for FieldMappingConfig {
    fn schema_name() -> Cow<'static, str> {
        "FieldConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = FullFieldMapping::json_schema(generator);
        let description = "A JSON pointer, or `{to: pointer, value: …, map: …}`, `{refuse: why}` or `{ignore: why}`.";
        schema.insert("description".into(), json!(description));
        schema.insert("type".into(), json!(["string", "object"]));
        schema.insert("minLength".into(), json!(1));
        schema
    }
}

impl JsonSchema for AllowedWord {
    fn schema_name() -> Cow<'static, str> {
        "AllowedWord".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A text, a number or a boolean.",
            "type": ["string", "number", "boolean"]
        })
    }
}

impl JsonSchema for ValueSourcesConfig {
    fn schema_name() -> Cow<'static, str> {
        "Sources".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let source = generator.subschema_for::<TextOrExpressionConfig>();
        json_schema!({
            "description": "A JSON pointer, `/a - /b`, `/a / /b` (rounded down), text as `{/a}p`, or `{cel: …}`; or a list of these, tried in order.",
            "type": ["string", "array", "object"],
            "minLength": 1,
            "items": source,
            "properties": {"cel": {"type": "string"}},
            "required": ["cel"],
            "additionalProperties": false
        })
    }
}
