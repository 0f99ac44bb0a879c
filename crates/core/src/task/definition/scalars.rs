//! Values of a family's definition that have a short form: the place of a field, and places in a response.

use crate::scalar::one_or_more::OneOrMore;
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
    pub value: Option<Value>,
    pub allowed: Vec<String>,
    pub map: BTreeMap<String, Value>,
    pub refuse: Option<String>,
    pub ignore: Option<String>,
}

/// Where something lies in a response: the first of these that is there counts.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(from = "OneOrMore")]
pub struct ValueSourcesConfig(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum ShortOrFullFieldMapping {
    To(String),
    Full(FullFieldMapping),
}

/// Exactly one of `to`, `refuse` and `ignore`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FullFieldMapping {
    /// JSON pointer of the field's place in the provider's request; a trailing `-` appends to an array.
    to: Option<String>,
    /// What is written; `{}` stands for the value of the field. Default: the value itself.
    value: Option<Value>,
    /// Allowed values; others are refused. Default: any value.
    #[serde(default)]
    allowed: Vec<String>,
    /// Mapping of values to those of the provider; others are refused. Default: any value, unchanged.
    #[serde(default)]
    map: BTreeMap<String, Value>,
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
                    value,
                    allowed,
                    map,
                    refuse,
                    ignore,
                } = full;
                Self {
                    to,
                    value,
                    allowed,
                    map,
                    refuse,
                    ignore,
                }
            }
        }
    }
}

impl From<OneOrMore> for ValueSourcesConfig {
    fn from(OneOrMore(written): OneOrMore) -> Self {
        Self(written)
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

impl JsonSchema for ValueSourcesConfig {
    fn schema_name() -> Cow<'static, str> {
        "Sources".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A JSON pointer, `/a - /b`, `/a / /b` (rounded down) or text as `{/a}p`; or a list of these, tried in order.",
            "type": ["string", "array"],
            "minLength": 1,
            "items": {"type": "string", "minLength": 1}
        })
    }
}
