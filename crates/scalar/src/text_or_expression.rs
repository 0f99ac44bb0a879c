//! A text, or `{cel: …}`, which computes it.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::borrow::Cow;

/// A text, or an expression that computes it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum TextOrExpressionConfig {
    Text(String),
    Computed(ExpressionConfig),
}

/// An expression in place of a value.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ExpressionConfig {
    pub cel: String,
}

/// One object that may be text, so that a mistake in a mapping is named: `anyOf` could only say that neither fits.
impl JsonSchema for TextOrExpressionConfig {
    fn schema_name() -> Cow<'static, str> {
        "TextTemplateConfig".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A text, or `{cel: …}` to compute it.",
            "type": ["string", "object"],
            "properties": {"cel": {"description": "Expression whose result is the text.", "type": "string"}},
            "required": ["cel"],
            "additionalProperties": false
        })
    }
}
