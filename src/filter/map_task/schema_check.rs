//! Whether a generic create, in a family's words, is one that the family and the model take.

use super::MapTask;
use crate::catalog::model::Model;
use crate::filter::kind::{BuildContext, InvalidSettings};
use crate::filter::schema_fault::{self, VIOLATIONS_MAX};
use crate::protocol::Protocol;
use crate::protocol::fault::Fault;
use crate::protocol::json::{JsonDocument, JsonLimits};
use crate::protocol::schema::{CompiledSchema, violations_of};
use crate::task::family::{MappedRequest, VideoFamily};
use std::path::Path;
use std::sync::Arc;

/// The schemas of the protocols that the channels' families have.
pub(super) struct FamilySchemas(Vec<(Protocol, Arc<CompiledSchema>)>);

impl FamilySchemas {
    /// # Errors
    /// Why a schema cannot be read.
    pub(super) fn of(context: &BuildContext<'_>) -> Result<Self, InvalidSettings> {
        let families = context
            .catalog
            .channels()
            .filter_map(|channel| channel.family.as_ref());
        let mut protocols: Vec<Protocol> = families.filter_map(|family| family.protocol).collect();
        protocols.sort_unstable();
        protocols.dedup();
        let read = |protocol: Protocol| {
            let path = format!("schemas/{}.schema.json", protocol.name());
            let schema = context.schemas.schema(Path::new(&path));
            schema
                .map(|schema| (protocol, schema))
                .map_err(InvalidSettings::new)
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

impl MapTask {
    /// Checks what was mapped against the rules of its family and of the model, which the provider would
    /// refuse it by, in the caller's names of the fields.
    ///
    /// # Errors
    /// Every rule that is broken.
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
        let mut violations = violations_of(schemas.into_iter().flatten(), &body, VIOLATIONS_MAX);
        // What the family's own request lacks is no field of the caller's.
        violations.iter_mut().for_each(|one| one.missing = None);
        let named = |pointer: &str| {
            let param = mapped.param_of(pointer).unwrap_or(pointer);
            (format!("`{param}`"), param.to_owned())
        };
        let Some(mut fault) = schema_fault::from_violations(&violations, named) else {
            return Ok(());
        };
        if let Some(model) = model {
            fault.message = format!("model `{}`: {}", model.name, fault.message);
        }
        Err(fault)
    }
}
