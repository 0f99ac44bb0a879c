//! `route_model`: selects the channels that serve a model, and replaces its name with the channel's name for it.

use super::channel_condition::accepts;
use super::form_field::set_field;
use super::model_place::ModelPlace;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::model::Model;
use headgate_core::filter::body_edit::EditedBody;
use headgate_core::filter::contract::RouteApiDescription;
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
    FilterProvision, InvalidSettings, ModelNamingEndpoint,
};
use headgate_core::filter::schema_fault::VIOLATIONS_MAX;
use headgate_core::filter::view::{AttemptView, RequestDestination, RequestView};
use headgate_core::filter::{Filter, HookResult, schema_fault};
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::JsonDocument;
use headgate_protocol::nearest::nearest;
use headgate_schema::CompiledSchema;
use headgate_translate::TranslationPolicy;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "route_model",
    summary: "Selects the channels that serve the `model` of the body or the path, and replaces it with the channel's model name; replies 404 for unknown models, with similar names, and 403 for models this caller may not use.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        needs: &[FilterPrerequisite::Body, FilterPrerequisite::Caller],
        provides: &[FilterProvision::Channel, FilterProvision::Model],
        reason: ", since models depend on the caller",
        ..FilterChainRules::ANYWHERE
    },
    settings: None,
    bare: true,
    build: |_, context| {
        let protocol = context.protocol.ok_or_else(|| {
            InvalidSettings::new("`route_model` requires a route with `protocol`")
                .hint("add a protocol, such as `protocol: chat`, to the route")
        })?;
        let model = ModelPlace::new(DESCRIPTOR.name, protocol, context)?;
        check_forms(protocol, context)?;
        Ok(Arc::new(RouteModelFilter {
            model,
            catalog: context.catalog.clone(),
            endpoints: context.endpoints.clone(),
            // Only for what an error says: `validate` reports a schema that cannot be read.
            schema: context.schemas.request_schema(protocol).ok(),
            protocol,
            translation: context.translation.clone(),
        }))
    },
};

/// Nearest names in the response to an unknown model.
const NEAREST_MAX: usize = 3;
/// Models of the path in the response to an unknown model that is near none.
const LISTED_MAX: usize = 6;

struct RouteModelFilter {
    catalog: Arc<Catalog>,
    endpoints: Arc<[ModelNamingEndpoint]>,
    protocol: Protocol,
    translation: TranslationPolicy,
    model: ModelPlace,
    /// Of the protocol's requests.
    schema: Option<Arc<CompiledSchema>>,
}

/// # Errors
/// The requests of the protocol are forms, and no earlier filter of the route accepts them.
fn check_forms(protocol: Protocol, context: &BuildContext<'_>) -> Result<(), InvalidSettings> {
    let mut contract = RouteApiDescription::default();
    for filter in (context.earlier_filters)() {
        filter.add_to_contract(&mut contract);
    }
    match protocol.descriptor().is_form_only && !contract.accepts_form {
        false => Ok(()),
        true => Err(InvalidSettings::new(format!(
            "requests of `{}` are forms, which no earlier filter of the route accepts",
            protocol.name()
        ))
        .hint("place a filter that accepts forms before it, see docs/filters/require_form.md")),
    }
}

impl Filter for RouteModelFilter {
    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::from(self.destination(request).and_then(|destination| {
            request.destination = Some(destination);
            self.model.prepare(request)?;
            keep_accepting(request)
        }))
    }

    fn check_edited_body(
        &self,
        request: &RequestView,
        edited: EditedBody<'_>,
    ) -> Result<(), Fault> {
        let Some(member) = self.model.member() else {
            return Ok(());
        };
        let name_in = |body: &JsonDocument| Some(member.find(body)?.as_str()?.into_owned());
        let of_attempt = edited
            .candidate
            .and_then(|candidate| candidate.model.as_ref());
        let expected = match of_attempt {
            Some(renamed) => Some(renamed.name.to_string()),
            None => request.body.document().and_then(name_in),
        };
        match name_in(edited.document) == expected {
            true => Ok(()),
            false => Err(Fault::new(
                FaultKind::Internal,
                "the edit changes `model`, by which channels are already selected",
            )),
        }
    }

    fn on_fallback<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a, ()> {
        HookResult::Ready(keep_accepting(request))
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        let Some(renamed) = &attempt.candidate.model else {
            return HookResult::done();
        };
        if let ModelPlace::ProviderPath(path) = &self.model {
            let path = path.fill(request, &renamed.name);
            return HookResult::from(path.map(|path| {
                attempt.request_override.path = Some(path);
            }));
        }
        let Some(member) = self.model.member() else {
            return HookResult::done();
        };
        if let Some(form) = request.body.form() {
            if let Some(field) = member.field()
                && !set_field(form, field, &renamed.name, &mut attempt.edits)
            {
                let message = "the name of the model contains the boundary of the form; send the form with another boundary";
                let fault = Fault::new(FaultKind::Invalid, message).param(field);
                return HookResult::from(Err(fault));
            }
        } else if let Some(body) = request.body.document()
            && let Some(model) = member.find(body)
        {
            attempt.edits.replace(model.span(), renamed.json.clone());
        }
        HookResult::done()
    }
}

impl RouteModelFilter {
    fn destination(&self, request: &RequestView) -> Result<RequestDestination, Fault> {
        let body = request.body.scanned();
        let name = match (self.model.named_in_path(request)?, self.model.member()) {
            (None, Some(member)) => {
                let form = request.body.form();
                let named = member.named(body, form.is_some());
                named.map_err(|fault| match fault.kind {
                    FaultKind::Missing if form.is_none() => self.all_missing(body, fault),
                    _ => fault,
                })?
            }
            (named, _) => named.unwrap_or_default().into(),
        };
        let model = self.model(&name, request.caller.as_deref())?;
        let candidates = model.candidates_with_translation(self.protocol, &self.translation);
        if candidates.is_empty() {
            return Err(self.not_here(&model, request.caller.as_deref()));
        }
        Ok(RequestDestination {
            model: Some(model),
            candidates,
        })
    }

    fn model(&self, name: &str, caller: Option<&Caller>) -> Result<Arc<Model>, Fault> {
        self.catalog.usable_model(name, caller).map_err(|refusal| {
            let hint = || {
                let nearest = nearest(name, self.usable_names(caller), NEAREST_MAX);
                match nearest.as_slice() {
                    [] => self.models_of_path(caller),
                    names => format!("did you mean {}?", quoted(names)),
                }
            };
            let fault = Fault::new(refusal.kind(), refusal.sentence(name, hint)).param("model");
            match refusal.detail(name) {
                Some(detail) => fault.detail(detail),
                None => fault,
            }
        })
    }

    /// The error for a model that no channel serves over this protocol. It names the endpoints that serve the model.
    fn not_here(&self, model: &Model, caller: Option<&Caller>) -> Fault {
        let what = format!(
            "model `{}` does not support {} requests",
            model.name,
            self.protocol.name()
        );
        let serving: Vec<&str> = self
            .endpoints
            .iter()
            .filter(|endpoint| model.supports(endpoint.protocol))
            .map(|endpoint| endpoint.pattern.as_str())
            .collect();
        let models = self.models_of_path(caller);
        unknown_model(match serving.as_slice() {
            [] => format!("{what}; {models}"),
            endpoints => format!("{what}; use {} for it; {models}", endpoints.join(" or ")),
        })
    }

    /// Only names that this caller may use and that speak this protocol: others would be no help.
    fn usable_names(&self, caller: Option<&Caller>) -> impl Iterator<Item = &str> {
        let usable = self.catalog.usable_models(caller);
        usable
            .filter(|model| self.serves(model))
            .map(|model| &*model.name)
    }

    /// Whether a channel serves the model, with or without a translation.
    fn serves(&self, model: &Model) -> bool {
        let translated = self
            .translation
            .protocols_for(&model.properties.translation);
        model.supports(self.protocol) || translated.iter().any(|one| model.supports(*one))
    }

    /// The models that this caller can use on this path, or the first few of them.
    fn models_of_path(&self, caller: Option<&Caller>) -> String {
        let mut names: Vec<&str> = self.usable_names(caller).collect();
        names.sort_unstable();
        let total = names.len();
        names.truncate(LISTED_MAX);
        match (names.as_slice(), total - names.len()) {
            ([], _) => "GET /v1/models lists the models you can use".to_owned(),
            ([only], 0) => format!("this path serves model `{only}`"),
            (names, 0) => format!("this path serves models {}", quoted(names)),
            (names, more) => format!(
                "this path serves models {} and {more} more; GET /v1/models lists them",
                quoted(names)
            ),
        }
    }

    /// The fault of a missing `model` with the other fields that the protocol requires, so that all are added at once.
    fn all_missing(&self, body: &JsonDocument, mut fault: Fault) -> Fault {
        let schema = self.schema.as_deref();
        let mut violations =
            schema.map_or(Vec::new(), |schema| schema.violations(body, VIOLATIONS_MAX));
        violations.retain(|violation| violation.pointer.is_empty() && violation.missing.is_some());
        if !violations
            .iter()
            .any(|one| one.missing.as_deref() == Some("model"))
        {
            return fault;
        }
        let path_of = |pointer: &str| pointer.trim_start_matches('/').to_owned();
        let all = schema_fault::from_violations(&violations, path_of);
        if let Some(mut all) = all
            && violations.len() > 1
        {
            fault.message = std::mem::take(&mut all.message);
        }
        fault
    }
}

/// Removes the candidates whose channels do not accept the request.
fn keep_accepting(request: &mut RequestView) -> Result<(), Fault> {
    let Some(destination) = &request.destination else {
        return Ok(());
    };
    let candidates = &destination.candidates;
    if candidates.iter().all(|one| one.channel.condition.is_none()) {
        return Ok(());
    }
    let mut accepting = Vec::with_capacity(candidates.len());
    for candidate in candidates.iter() {
        if accepts(&candidate.channel, request)? {
            accepting.push(candidate.clone());
        }
    }
    if accepting.is_empty() {
        let model = request.model().map_or("", |model| &model.name);
        let message = format!("no channel for model `{model}` accepts this request");
        return Err(Fault::new(FaultKind::NoChannel, message));
    }
    if let Some(destination) = &mut request.destination {
        destination.candidates = accepting.into();
    }
    Ok(())
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn unknown_model(message: String) -> Fault {
    Fault::new(FaultKind::UnknownModel, message).param("model")
}
