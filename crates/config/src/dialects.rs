//! Dialects in `routes.yaml`, and those that the program brings along.

use headgate_translate::SHIPPED_DIALECTS;
use headgate_translate::dialect::DialectConfig;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The dialect of a channel: a name, or what it has.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum ChannelDialectConfig {
    /// One of `dialects`, or one that comes with the program.
    Named(String),
    Inline(Box<DialectConfig>),
}

/// The name of the dialect that channels have if they name none.
pub(crate) const STANDARD: &str = "standard";

/// The shipped dialects, by name. A file that declares one of these names has its own.
///
/// # Panics
/// Never: a test reads them.
pub fn shipped() -> &'static BTreeMap<&'static str, DialectConfig> {
    static SHIPPED: LazyLock<BTreeMap<&str, DialectConfig>> = LazyLock::new(|| {
        let read = |(name, text): (&'static str, &str)| {
            let config = serde_saphyr::from_str(text);
            (name, config.expect("a shipped dialect is one"))
        };
        SHIPPED_DIALECTS.into_iter().map(read).collect()
    });
    &SHIPPED
}

/// One object that may be a name, so that a mistake in either is named: `anyOf` could only say that neither fits.
impl JsonSchema for ChannelDialectConfig {
    fn schema_name() -> Cow<'static, str> {
        "ChannelDialectConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = DialectConfig::json_schema(generator);
        let names: Vec<&str> = shipped().keys().copied().collect();
        schema.insert(
            "description".into(),
            json!("The name of a dialect, one of `dialects` or a shipped one, or what it has."),
        );
        schema.insert("type".into(), json!(["string", "object"]));
        schema.insert("minLength".into(), json!(1));
        schema.insert("examples".into(), json!(names));
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_dialects_are_read() {
        let names: Vec<&str> = shipped().keys().copied().collect();
        assert_eq!(names, SHIPPED_DIALECTS.map(|(name, _)| name));
        assert!(shipped().contains_key(STANDARD));
    }
}
