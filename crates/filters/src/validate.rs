//! `validate`: the body against its JSON Schema; one error names every field at fault, up to eight.

use headgate_core::filter::body_edit::EditedBody;
use headgate_core::filter::contract::RouteApiDescription;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite, InvalidSettings,
    read_settings_or_default, settings_schema,
};
use headgate_core::filter::schema_fault::VIOLATIONS_MAX;
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, HookResult, schema_fault};
use headgate_protocol::Protocol;
use headgate_protocol::fault::Fault;
use headgate_protocol::form::MultipartForm;
use headgate_protocol::images::field_of_image;
use headgate_protocol::json::JsonDocument;
use headgate_schema::{CompiledSchema, find_violations};
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "validate",
    summary: "Validates the body against the JSON Schema of the protocol, or `schema`, and against the schema of the model's `profile`; replies 400 with each invalid field.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        needs: &[FilterPrerequisite::Body, FilterPrerequisite::Model],
        reason: ", since models have rules of their own",
        ..FilterChainRules::GUARD
    },
    settings: Some(settings_schema::<ValidateBodySchemaConfig>),
    bare: true,
    build: |settings, context| {
        let ValidateBodySchemaConfig { schema } = read_settings_or_default(settings)?;
        let label = schema.as_ref().map(|path| path.display().to_string());
        let schema = match (schema, context.protocol) {
            (Some(path), _) => context.schemas.schema(&path),
            (None, Some(protocol)) => context.schemas.request_schema(protocol),
            (None, None) => {
                return Err(InvalidSettings::new(
                    "`validate` requires `schema` on a route without `protocol`",
                )
                .hint("add a protocol to the route, or write `validate: {schema: path}`"));
            }
        };
        Ok(Arc::new(ValidateBodySchemaFilter {
            schema: schema.map_err(|invalid| invalid.at("/schema"))?,
            label,
            protocol: context.protocol,
        }))
    },
};

/// Settings of `validate`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ValidateBodySchemaConfig {
    /// Path of a JSON Schema, relative to the folder of `routes.yaml`. Required on routes without a `protocol`.
    /// Default: `schemas/<protocol>.schema.json`.
    schema: Option<PathBuf>,
}

struct ValidateBodySchemaFilter {
    schema: Arc<CompiledSchema>,
    /// The path of the schema, unless it is that of the protocol.
    label: Option<String>,
    protocol: Option<Protocol>,
}

impl Filter for ValidateBodySchemaFilter {
    fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    fn add_to_contract(&self, contract: &mut RouteApiDescription) {
        contract.body = Some(self.schema.clone());
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let body = request.body.scanned();
        HookResult::from(self.check(body, self.profile(request), request.body.form()))
    }

    fn check_edited_body(
        &self,
        request: &RequestView,
        edited: EditedBody<'_>,
    ) -> Result<(), Fault> {
        self.check(edited.document, self.profile(request), None)
    }

    fn on_fallback<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a, ()> {
        let checked = match self.profile(request) {
            Some(profile) => self.check(request.body.scanned(), Some(profile), request.body.form()),
            None => Ok(()),
        };
        HookResult::Ready(checked)
    }
}

impl ValidateBodySchemaFilter {
    /// The schema of the model's profile for this protocol, if there is one.
    fn profile<'r>(&self, request: &'r RequestView) -> Option<&'r CompiledSchema> {
        Some(request.model()?.profile(self.protocol?)?)
    }

    fn check(
        &self,
        body: &JsonDocument,
        profile: Option<&CompiledSchema>,
        form: Option<&MultipartForm>,
    ) -> Result<(), Fault> {
        let schemas = [Some(&*self.schema), profile];
        let violations = find_violations(schemas.into_iter().flatten(), body, VIOLATIONS_MAX);
        let path_of = |pointer: &str| match form {
            None => spelled(pointer, self.protocol),
            Some(form) => field_at(pointer, form),
        };
        match schema_fault::from_violations(&violations, path_of) {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }
}

/// The form field of a JSON pointer into the form's JSON description.
fn field_at(pointer: &str, form: &MultipartForm) -> String {
    let mut steps = pointer.split('/').skip(1);
    let name = steps.next().unwrap_or_default();
    if name == "images" {
        let index = steps.next().and_then(|index| index.parse().ok());
        return field_of_image(form, index).to_owned();
    }
    let list = format!("{name}[]");
    match form.part(&list) {
        Some(_) => list,
        None => name.to_owned(),
    }
}

/// A JSON pointer in the spelling of the protocol's own errors: `messages.0.role` or `messages[0].role`.
fn spelled(pointer: &str, protocol: Option<Protocol>) -> String {
    let has_brackets = Protocol::descriptor_for(protocol).errors.has_brackets;
    let mut path = String::new();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let is_index = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
        if is_index && has_brackets {
            let _ = write!(path, "[{step}]");
        } else {
            let separator = if path.is_empty() { "" } else { "." };
            let _ = write!(path, "{separator}{step}");
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::spelled;
    use headgate_protocol::Protocol;

    #[test]
    fn a_pointer_reads_as_a_path() {
        for (pointer, path) in [
            ("/model", "model"),
            ("/messages/0/content/1/type", "messages[0].content[1].type"),
            ("/metadata/a~1b", "metadata.a/b"),
        ] {
            assert_eq!(spelled(pointer, Some(Protocol::Chat)), path);
        }
        let path = spelled("/messages/0/content/1/type", Some(Protocol::Messages));
        assert_eq!(path, "messages.0.content.1.type");
    }
}
