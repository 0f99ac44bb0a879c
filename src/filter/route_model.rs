//! `route_model`: selects the channels that serve a model, and replaces its name with the channel's name for it.

use super::kind::{
    ChainSide, FilterKind, FilterNeed, FilterPlacement, FilterProvision, InvalidSettings,
    ModelEndpoint,
};
use super::view::{AttemptView, RequestView, RouteDestination};
use super::{Filter, HookResult};
use crate::catalog::caller::Caller;
use crate::catalog::model::{Catalog, Model};
use crate::protocol::Protocol;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::json::JsonDocument;
use crate::protocol::nearest::nearest;
use bytes::Bytes;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "route_model",
    summary: "Selects the channels that serve the `model` of the body, and replaces it with the channel's model name; replies 404 for unknown models, with similar names, and 403 for models this caller may not use.",
    side: ChainSide::Request,
    placement: FilterPlacement {
        needs: &[FilterNeed::Body, FilterNeed::Caller],
        provides: &[FilterProvision::Channel, FilterProvision::Model],
        reason: ", since models depend on the caller",
        ..FilterPlacement::ANYWHERE
    },
    settings: None,
    bare: true,
    build: |_, context| {
        let protocol = context.protocol.ok_or_else(|| {
            InvalidSettings::new("`route_model` requires a route with `protocol`")
                .hint("add a protocol, such as `protocol: chat`, to the route")
        })?;
        Ok(Arc::new(RouteModel {
            catalog: context.catalog.clone(),
            endpoints: context.endpoints.clone(),
            protocol,
        }))
    },
};

/// Maximum number of similar names in the error for an unknown model.
const NEAREST_MAX: usize = 3;

struct RouteModel {
    catalog: Arc<Catalog>,
    endpoints: Arc<[ModelEndpoint]>,
    protocol: Protocol,
}

impl Filter for RouteModel {
    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::from(self.destination(request).map(|destination| {
            request.destination = Some(destination);
        }))
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        let Some(renamed) = &attempt.candidate.model else {
            return HookResult::done();
        };
        if let Some(form) = request.body.form() {
            if let Some(model) = form.part("model") {
                let name = Bytes::copy_from_slice(renamed.name.as_bytes());
                attempt.edits.replace(model.value.clone(), name);
            }
        } else if let Some(body) = request.body.document()
            && let Some(model) = body.root().get("model")
        {
            attempt.edits.replace(model.span(), renamed.json.clone());
        }
        HookResult::done()
    }
}

impl RouteModel {
    fn destination(&self, request: &RequestView) -> Result<RouteDestination, Fault> {
        let body = request.body.scanned();
        let name = model_named(body)?;
        let model = self.model(&name, request.caller.as_deref())?;
        let candidates = model.candidates(self.protocol);
        if candidates.is_empty() {
            return Err(self.not_here(model, request.caller.as_deref()));
        }
        Ok(RouteDestination {
            model: Some(model.clone()),
            candidates,
        })
    }

    fn model(&self, name: &str, caller: Option<&Caller>) -> Result<&Arc<Model>, Fault> {
        let Some(model) = self.catalog.get(name) else {
            return Err(unknown(
                format!("model `{}` does not exist", shortened(name)),
                self.nearest_names(name, caller),
            ));
        };
        match caller {
            Some(caller) if !caller.may_use_model(&model.name) => Err(Fault::new(
                FaultKind::Forbidden,
                format!(
                    "this API key has no access to model `{name}`; ask the operator of this gateway for access"
                ),
            )
            .param("model")),
            _ => Ok(model),
        }
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
        match serving.as_slice() {
            [] => unknown(what, self.nearest_names(&model.name, caller)),
            endpoints => unknown_model(format!("{what}; use {}", endpoints.join(" or "))),
        }
    }

    /// The nearest names among the models that this caller may use over this protocol.
    fn nearest_names(&self, name: &str, caller: Option<&Caller>) -> Vec<&str> {
        let usable = self
            .catalog
            .models()
            .filter(|model| caller.is_none_or(|caller| caller.may_use_model(&model.name)))
            .filter(|model| model.supports(self.protocol))
            .map(|model| &*model.name);
        nearest(name, usable, NEAREST_MAX)
    }
}

fn model_named(body: &JsonDocument) -> Result<std::borrow::Cow<'_, str>, Fault> {
    let wanted = |message| Fault::new(FaultKind::Invalid, message).param("model");
    let is_like_model = |name: &str| name != "model" && name.eq_ignore_ascii_case("model");
    let mut names = body.root().members().map(|(name, _)| name);
    if let Some(other) = names.find(|name| is_like_model(name)) {
        let message =
            format!("unknown field `{other}`; field names are case-sensitive, use `model`");
        return Err(Fault::new(FaultKind::Invalid, message).param(&*other));
    }
    let missing = || {
        let message = "missing required field `model`; set it to the name of a model";
        Fault::new(FaultKind::Missing, message).param("model")
    };
    let model = body.root().get("model").ok_or_else(missing)?;
    match model.as_str() {
        Some(name) if !name.is_empty() => Ok(name),
        Some(_) => Err(wanted(
            "`model` must not be empty; set it to the name of a model",
        )),
        None => Err(wanted(
            "`model` must be a string; set it to the name of a model",
        )),
    }
}

fn unknown(what: String, nearest: Vec<&str>) -> Fault {
    let advice = match nearest.as_slice() {
        [] => "; GET /v1/models lists the models you can use".to_string(),
        names => format!("; did you mean `{}`?", names.join("`, `")),
    };
    unknown_model(what + &advice)
}

fn unknown_model(message: String) -> Fault {
    Fault::new(FaultKind::UnknownModel, message).param("model")
}

/// The start of an unknown model name, at most 128 characters: values in error messages are bounded.
fn shortened(name: &str) -> &str {
    const MOST: usize = 128;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => &name[..end],
        None => name,
    }
}
