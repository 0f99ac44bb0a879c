//! The native protocol of a family: a built-in one by its name, or a declaration.

use headgate_protocol::{BuiltInProtocolName, InvalidProtocol, Protocol, ProtocolConfig};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

/// The protocol of callers who use a family's native API.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum FamilyProtocolConfig {
    BuiltIn(BuiltInProtocolName),
    Declared(Box<ProtocolConfig>),
}

impl FamilyProtocolConfig {
    /// This protocol, as families inherit it that extend the family `name`: a declared one keeps its name.
    pub fn named_after(mut self, name: Option<&str>) -> Self {
        if let Self::Declared(config) = &mut self
            && config.name.is_none()
        {
            config.name = name.map(str::to_owned);
        }
        self
    }

    /// The protocol, of the family `name`.
    ///
    /// # Errors
    /// All that is wrong with the declaration.
    pub fn build(&self, name: &str) -> Result<Protocol, Vec<InvalidProtocol>> {
        match self {
            Self::BuiltIn(built_in) => Ok(built_in.0),
            Self::Declared(config) => {
                config.build_for_family(config.name.as_deref().unwrap_or(name))
            }
        }
    }
}

/// One object that may be a name, so that a mistake in either is named: `anyOf` could only say that neither fits.
impl JsonSchema for FamilyProtocolConfig {
    fn schema_name() -> Cow<'static, str> {
        "FamilyProtocolConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ProtocolConfig::json_schema(generator);
        let names = Protocol::BUILT_IN.iter().map(|protocol| protocol.name());
        let names: Vec<&str> = names.collect();
        let description = "The name of a built-in protocol, or a declaration as in `protocols`.";
        schema.insert("description".into(), json!(description));
        schema.insert("type".into(), json!(["string", "object"]));
        schema.insert("if".into(), json!({"type": "string"}));
        schema.insert("then".into(), json!({"enum": names}));
        schema
    }
}
