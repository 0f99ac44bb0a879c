//! Rules between the fields of a generic request as written.

use super::scalars::AllowedWord;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A rule between fields: what some may be, depending on others.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FieldRuleConfig {
    /// When the rule applies: an expression over the create in the generic shape. One without a value does not apply.
    #[serde(rename = "if")]
    pub condition: String,
    /// When the rule applies, in words, as it reads after a value: "must be 8 at 1080p". Default: with the other fields.
    pub reason: Option<String>,
    /// Limits of fields and of roles of media, by their names.
    pub limits: BTreeMap<String, FieldLimitConfig>,
}

/// What a field may be while a rule applies.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct FieldLimitConfig {
    /// Allowed values; others are refused. Default: those of the field.
    pub allowed: Vec<AllowedWord>,
    /// Lowest number; a lower one is refused. Default: that of the field.
    pub min: Option<i64>,
    /// Highest number; a higher one is refused. Default: that of the field.
    pub max: Option<i64>,
    /// Whether a request without the field is refused. Default: false.
    pub required: bool,
    /// Reason why the field is refused, as it reads after "model `x`". Default: it is not.
    pub refuse: Option<String>,
}
