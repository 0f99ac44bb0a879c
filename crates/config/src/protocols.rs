//! Names of protocols in `routes.yaml`, which of them a file may use, and the declarations that the program brings along.

use headgate_core::task::definition::FamilyProtocolConfig;
use headgate_protocol::{Protocol, ProtocolConfig, SHIPPED_PROTOCOLS};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The name of a protocol: one that `headgate protocols` lists, one of `protocols`, or that of a family.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
pub struct ProtocolName(pub String);

/// The shipped declarations of endpoints, by name. A file that declares one of these names has its own.
///
/// # Panics
/// Never: a test reads them.
pub fn shipped() -> &'static BTreeMap<&'static str, ProtocolConfig> {
    static SHIPPED: LazyLock<BTreeMap<&str, ProtocolConfig>> = LazyLock::new(|| {
        let read = |(name, text): (&'static str, &str)| {
            let config = serde_saphyr::from_str(text);
            (name, config.expect("a shipped protocol is a declaration"))
        };
        SHIPPED_PROTOCOLS.into_iter().map(read).collect()
    });
    &SHIPPED
}

/// The name of the definition of [`ProtocolName`] in schemas.
const DEFINITION: &str = "ProtocolName";

impl JsonSchema for ProtocolName {
    fn schema_name() -> Cow<'static, str> {
        DEFINITION.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The name of a protocol: one that `headgate protocols` lists, one of `protocols`, or that of a family.",
            "type": "string",
            "examples": known_names().collect::<Vec<_>>()
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
    let names = known_names().map(str::to_owned);
    let names = names.chain(own).chain(shipped.map(|(name, _)| name));
    let mut names: Vec<String> = names.collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    schema["$defs"][DEFINITION]["enum"] = json!(names);
}

/// The names that every file may use.
fn known_names() -> impl Iterator<Item = &'static str> {
    let built_in = Protocol::BUILT_IN.iter().map(|protocol| protocol.name());
    built_in.chain(shipped().keys().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shipped_protocol_can_be_built_and_has_its_cost_and_its_path() {
        for (name, config) in shipped() {
            let protocol = config.build(name);
            let protocol = protocol.unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
            assert!(protocol.descriptor().path.starts_with("/v"), "{name}");
            assert!(config.retry.is_some(), "{name}");
        }
        let names: Vec<&str> = shipped().keys().copied().collect();
        assert_eq!(names, SHIPPED_PROTOCOLS.map(|(name, _)| name));
    }
}
