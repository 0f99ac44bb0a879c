//! How a step of a chain is written: `name`, `{name: settings}`, `{if: expression, name: settings}` or `{use: chain}`.

use super::routes::{ChainStepConfig, OnConditionErrorConfig, StepIfExpressionConfig};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// The key that makes a step refer to a chain.
pub(super) const USE: &str = "use";
/// The key of a step's condition.
pub(super) const IF: &str = "if";
/// The key of what happens if the condition cannot be evaluated.
pub(super) const ON_ERROR: &str = "on_error";

impl<'de> Deserialize<'de> for ChainStepConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChainStepVisitor)
    }
}

/// Any step at all; the schema of a whole file lists the filters there are.
impl JsonSchema for ChainStepConfig {
    fn schema_name() -> Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "object"] })
    }
}

struct ChainStepVisitor;

impl<'de> Visitor<'de> for ChainStepVisitor {
    type Value = ChainStepConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a filter's name, or a mapping with one filter")
    }

    fn visit_str<E>(self, name: &str) -> Result<ChainStepConfig, E> {
        Ok(ChainStepConfig::Filter {
            name: name.to_owned(),
            settings: Value::Null,
            condition: None,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ChainStepConfig, A::Error> {
        let mut keys = ChainStepFields::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                IF => keys.condition = Some(map.next_value()?),
                ON_ERROR => keys.on_error = Some(map.next_value()?),
                _ if keys.filter.is_some() => {
                    return Err(A::Error::custom(
                        "a step has one filter; put further filters into steps of their own",
                    ));
                }
                _ => keys.filter = Some((key, map.next_value()?)),
            }
        }
        keys.into_step().map_err(A::Error::custom)
    }
}

/// The keys of a step that is a mapping.
#[derive(Default)]
struct ChainStepFields {
    filter: Option<(String, Value)>,
    condition: Option<String>,
    on_error: Option<OnConditionErrorConfig>,
}

impl ChainStepFields {
    fn into_step(self) -> Result<ChainStepConfig, &'static str> {
        let (name, settings) = self
            .filter
            .ok_or("expected the name of a filter, or `{use: chain}`")?;
        let condition = match (self.condition, self.on_error) {
            (Some(r#if), on_error) => Some(StepIfExpressionConfig { r#if, on_error }),
            (None, Some(_)) => return Err("`on_error` requires `if` in the same step"),
            (None, None) => None,
        };
        match (name.as_str(), settings, condition) {
            (USE, Value::String(chain), None) => Ok(ChainStepConfig::Use(chain)),
            (USE, _, None) => Err("expected the name of a chain after `use`"),
            (USE, _, Some(_)) => {
                Err("`use` takes no `if`; write the condition on the filters of the chain")
            }
            (_, settings, condition) => Ok(ChainStepConfig::Filter {
                name,
                settings,
                condition,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_step_is_a_name_or_a_mapping_with_one_filter() {
        let filter = |name: &str, settings| ChainStepConfig::Filter {
            name: name.into(),
            settings,
            condition: None,
        };
        let cases = [
            (json!("pass_sse"), filter("pass_sse", Value::Null)),
            (
                json!({"limit_body": "32MiB"}),
                filter("limit_body", json!("32MiB")),
            ),
            (json!({"use": "text"}), ChainStepConfig::Use("text".into())),
            (
                json!({"if": "caller == 'a'", "pass_sse": null, "on_error": "skip"}),
                ChainStepConfig::Filter {
                    name: "pass_sse".into(),
                    settings: Value::Null,
                    condition: Some(StepIfExpressionConfig {
                        r#if: "caller == 'a'".into(),
                        on_error: Some(OnConditionErrorConfig::Skip),
                    }),
                },
            ),
        ];
        for (written, step) in cases {
            assert_eq!(
                serde_json::from_value::<ChainStepConfig>(written).unwrap(),
                step
            );
        }
        for written in [
            json!({}),
            json!({"a": 1, "b": 2}),
            json!(3),
            json!({"use": 3}),
            json!({"if": "true"}),
            json!({"if": "true", "use": "text"}),
            json!({"on_error": "skip", "a": 1}),
            json!({"if": "true", "on_error": "ignore", "a": 1}),
        ] {
            assert!(serde_json::from_value::<ChainStepConfig>(written).is_err());
        }
    }
}
