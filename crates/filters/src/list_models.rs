//! `list_models`: replies with the models that the caller may use, in the format of the caller's protocol.

use headgate_core::catalog::Catalog;
use headgate_core::catalog::model::Model;
use headgate_core::filter::contract::{GatewayResponseContent, RouteApiDescription};
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite, FilterProvision,
    read_settings_or_default, settings_schema,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, HookResult, LocalReply};
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::model_list::{ListedModel, PageQuery};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "list_models",
    summary: "Replies with the models this caller may use, or with the model `{id}`; in the format of the messages protocol if its version header is sent.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        needs: &[FilterPrerequisite::Caller],
        provides: &[FilterProvision::Reply],
        reason: ", since models depend on the caller",
        ..FilterChainRules::ANYWHERE
    },
    settings: Some(settings_schema::<ListModelsConfig>),
    bare: true,
    build: |settings, context| {
        let ListModelsConfig { version_header } = read_settings_or_default(settings)?;
        Ok(Arc::new(ListModelsFilter {
            catalog: context.catalog.clone(),
            version_header: version_header.to_ascii_lowercase(),
        }))
    },
};

/// Settings of `list_models`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ListModelsConfig {
    /// Name of the header that identifies callers of the messages protocol. Default: anthropic-version.
    version_header: String,
}

struct ListModelsFilter {
    catalog: Arc<Catalog>,
    version_header: String,
}

impl Default for ListModelsConfig {
    fn default() -> Self {
        Self {
            version_header: "anthropic-version".into(),
        }
    }
}

impl Filter for ListModelsFilter {
    fn add_to_contract(&self, contract: &mut RouteApiDescription) {
        contract.content = Some(GatewayResponseContent::Models);
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        if request.headers.contains_key(&self.version_header) {
            request.protocol = Protocol::find_versioned();
        }
        match self.render(request) {
            Ok(body) => HookResult::reply(LocalReply {
                status: StatusCode::OK,
                headers: HeaderMap::from_iter([(
                    header::CONTENT_TYPE,
                    HeaderValue::from_static("application/json"),
                )]),
                body,
            }),
            Err(fault) => HookResult::fail(fault),
        }
    }
}

impl ListModelsFilter {
    fn render(&self, request: &RequestView) -> Result<bytes::Bytes, Fault> {
        let format = &Protocol::descriptor_for(request.protocol).models;
        let may_use = |model: &Model| {
            let caller = request.caller.as_ref();
            caller.is_none_or(|caller| caller.may_use_model(&model.name))
        };
        let Some(id) = request.param("id") else {
            let usable = self.catalog.models().filter(|model| may_use(model));
            let entries: Vec<ListedModel> = usable.map(|model| entry(model)).collect();
            let page = PageQuery::from_query(request.query.as_deref().unwrap_or_default());
            return Ok((format.list)(&entries, &page));
        };
        let model = self.catalog.get(id).filter(|model| may_use(model));
        model
            .map(|model| (format.item)(&entry(&model)))
            .ok_or_else(|| {
                Fault::new(
                    FaultKind::UnknownModel,
                    "this model does not exist or your API key has no access to it; GET /v1/models lists the models you can use",
                )
                .param("model")
            })
    }
}

fn entry(model: &Model) -> ListedModel {
    ListedModel {
        id: model.name.to_string(),
        display_name: model.properties.display_name.clone(),
        owned_by: model.properties.owned_by.clone(),
        created: model.properties.created,
    }
}
