//! `affinity` of a model in `routes.yaml`: which requests go to the same channel.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::borrow::Cow;

/// Which requests for a model go to the same channel.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AffinityConfig {
    /// What requests of one session have in common: `caller`, `prefix`, `{header: name}` or `{pointer: /member}`.
    pub by: AffinitySourceConfig,
    /// Whether requests of different callers may go to the same channel because of it. Set it where callers share long
    /// prompts. Default: false.
    #[serde(default)]
    pub share: bool,
    /// Load of a channel up to which it gets the requests that belong to it, in percent of its share of all requests in
    /// flight, 100 to 1000; also that of one caller's requests. Raise it for more cached tokens, lower it for an even load.
    /// Default: 150.
    #[serde(default = "default_balance_factor")]
    #[schemars(range(min = 100, max = 1000))]
    pub hash_balance_factor: u16,
}

/// What requests of one session have in common.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AffinitySourceConfig {
    /// Their caller.
    Caller,
    /// Tools, instructions, and the messages up to the first one of the user.
    Prefix,
    /// The value of this header.
    Header(String),
    /// A text or number in the body, by its JSON pointer.
    Pointer(String),
}

fn default_balance_factor() -> u16 {
    150
}

impl AffinityConfig {
    pub fn is_by_prefix(&self) -> bool {
        matches!(self.by, AffinitySourceConfig::Prefix)
    }
}

impl JsonSchema for AffinitySourceConfig {
    fn schema_name() -> Cow<'static, str> {
        "AffinitySourceConfig".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What requests of one session have in common.",
            "type": ["string", "object"],
            "if": {"type": "string"},
            "then": {"enum": ["caller", "prefix"]},
            "properties": {
                "header": {"type": "string", "description": "The value of this header."},
                "pointer": {
                    "type": "string",
                    "description": "A text or number in the body, by its JSON pointer.",
                },
            },
            "additionalProperties": false,
            "minProperties": 1,
            "maxProperties": 1,
        })
    }
}
