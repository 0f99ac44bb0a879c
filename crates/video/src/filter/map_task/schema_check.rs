//! Checks a translated create against the schemas of its family and its model.

use super::MapTaskFilter;
use headgate_core::catalog::model::Model;
use headgate_core::filter::descriptor::{BuildContext, InvalidSettings};
use headgate_core::filter::schema_fault;
use headgate_core::filter::schema_fault::VIOLATIONS_MAX;
use headgate_core::task::family::{MappedRequest, VideoFamily};
use headgate_protocol::Protocol;
use headgate_protocol::fault::Fault;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_schema::{CompiledSchema, find_violations};
use std::sync::Arc;

/// Compiled schemas of the protocols of all channels' families.
pub(super) struct FamilySchemas(Vec<(Protocol, Arc<CompiledSchema>)>);

impl FamilySchemas {
    /// # Errors
    /// A schema cannot be read.
    pub(super) fn from_context(context: &BuildContext<'_>) -> Result<Self, InvalidSettings> {
        let families = context
            .catalog
            .channels()
            .filter_map(|channel| channel.family.as_ref());
        let protocols = families.filter_map(|family| family.protocol);
        // A declared protocol has no schema.
        let mut protocols: Vec<Protocol> = protocols.filter(|it| it.is_built_in()).collect();
        protocols.sort_unstable();
        protocols.dedup();
        let read = |protocol: Protocol| {
            let schema = context.schemas.request_schema(protocol);
            schema.map(|schema| (protocol, schema))
        };
        protocols
            .into_iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn schema(&self, protocol: Protocol) -> Option<&CompiledSchema> {
        let known = self.0.iter().find(|(known, _)| *known == protocol);
        known.map(|(_, schema)| &**schema)
    }
}

impl MapTaskFilter {
    /// Checks a translated create against the schemas of its family and of the model, by which the provider would
    /// reject it. The error uses the caller's field names.
    ///
    /// # Errors
    /// The create violates a schema; the error lists the violations.
    pub(super) fn check_schemas(
        &self,
        model: Option<&Arc<Model>>,
        family: &VideoFamily,
        mapped: &MappedRequest,
    ) -> Result<(), Fault> {
        let Some(protocol) = family.protocol else {
            return Ok(());
        };
        let profile = model.and_then(|model| model.profile(protocol));
        let schemas = [self.rules.schema(protocol), profile.map(|schema| &**schema)];
        let body = JsonDocument::parse(mapped.body.clone(), &JsonLimits::default())?;
        let mut violations = find_violations(schemas.into_iter().flatten(), &body, VIOLATIONS_MAX);
        // A field that is missing in the family's request may have no counterpart in the caller's protocol.
        violations.iter_mut().for_each(|one| one.missing = None);
        let path_of = |pointer: &str| mapped.param_at(pointer).unwrap_or(pointer).to_owned();
        let Some(mut fault) = schema_fault::from_violations(&violations, path_of) else {
            return Ok(());
        };
        if let Some(model) = model {
            fault.message = format!("model `{}`: {}", model.name, fault.message);
        }
        Err(fault)
    }
}
