//! How a step of a chain is written: `name`, `{name: settings}` or `{use: chain}`.

use super::routes::ChainStepConfig;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// The key that makes a step refer to a chain.
pub(super) const USE: &str = "use";

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
        f.write_str("a filter's name, or a mapping with one key")
    }

    fn visit_str<E>(self, name: &str) -> Result<ChainStepConfig, E> {
        Ok(ChainStepConfig::Filter {
            name: name.to_owned(),
            settings: Value::Null,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ChainStepConfig, A::Error> {
        let name: String = map
            .next_key()?
            .ok_or_else(|| A::Error::custom("expected the name of a filter, or `{use: chain}`"))?;
        let step = if name == USE {
            ChainStepConfig::Use(map.next_value()?)
        } else {
            let settings = map.next_value()?;
            ChainStepConfig::Filter { name, settings }
        };
        match map.next_key::<String>()? {
            None => Ok(step),
            Some(_) => Err(A::Error::custom("a step has exactly one key")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_step_is_a_name_or_a_mapping_with_one_key() {
        let filter = |name: &str, settings| ChainStepConfig::Filter {
            name: name.into(),
            settings,
        };
        let cases = [
            (json!("pass_sse"), filter("pass_sse", Value::Null)),
            (
                json!({"limit_body": "32MiB"}),
                filter("limit_body", json!("32MiB")),
            ),
            (json!({"use": "text"}), ChainStepConfig::Use("text".into())),
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
        ] {
            assert!(serde_json::from_value::<ChainStepConfig>(written).is_err());
        }
    }
}
