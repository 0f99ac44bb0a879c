//! Names of protocols in `routes.yaml`, and which of them a file may use.

use headgate_core::task::definition::FamilyProtocolConfig;
use headgate_protocol::Protocol;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The name of a protocol: a built-in one, one of `protocols`, or that of a family.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
pub struct ProtocolName(pub String);

/// The name of the definition of [`ProtocolName`] in schemas.
const DEFINITION: &str = "ProtocolName";

impl JsonSchema for ProtocolName {
    fn schema_name() -> Cow<'static, str> {
        DEFINITION.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The name of a protocol: a built-in one, one of `protocols`, or that of a family.",
            "type": "string",
            "examples": built_in_names().collect::<Vec<_>>()
        })
    }
}

/// Restricts the names of protocols in `schema` to those that a file with these values declares, and the built-in ones.
pub(crate) fn restrict_names(schema: &mut Value, file: &Value) {
    let declared = file["protocols"].as_object().into_iter().flatten();
    let families = file["families"].as_object().into_iter().flatten();
    let families = families.filter(|(_, family)| family["protocol"].is_object());
    let own = declared.chain(families).map(|(name, _)| name.clone());
    let shipped = crate::families::shipped();
    let shipped = shipped.into_iter().filter(|(_, family)| {
        let protocol = family.protocol.as_ref();
        matches!(protocol, Some(FamilyProtocolConfig::Declared(_)))
    });
    let names = built_in_names().map(str::to_owned);
    let names = names.chain(own).chain(shipped.map(|(name, _)| name));
    let names: Vec<String> = names.collect();
    schema["$defs"][DEFINITION]["enum"] = json!(names);
}

fn built_in_names() -> impl Iterator<Item = &'static str> {
    Protocol::BUILT_IN.iter().map(|protocol| protocol.name())
}
