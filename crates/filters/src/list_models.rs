//! `list_models`: replies with the models that the caller may use, in the format of the caller's protocol.

use crate::channel_listings::{ChannelListings, ProviderModel};
use headgate_core::catalog::Catalog;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::Model;
use headgate_core::catalog::pattern_models::ChannelPattern;
use headgate_core::filter::contract::{GatewayResponseContent, RouteApiDescription};
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite, FilterProvision,
    read_settings_or_default, settings_schema,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, FilterAction, HookResult, LocalReply};
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
            listings: context.features.get::<ChannelListings>(),
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

/// What a channel's provider lists.
type ChannelModels = (Arc<Channel>, Arc<[ProviderModel]>);

struct ListModelsFilter {
    catalog: Arc<Catalog>,
    listings: Arc<ChannelListings>,
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
        let channels = self.listing_channels();
        let (Some(subrequests), false, None) = (
            request.subrequests.clone(),
            channels.is_empty(),
            request.param("id"),
        ) else {
            return HookResult::Ready(self.reply(request, &[]));
        };
        let id = request.id.clone();
        HookResult::later(async move {
            let listed = self
                .listings
                .for_channels(channels, &subrequests, &id)
                .await;
            self.reply(request, &listed)
        })
    }
}

impl ListModelsFilter {
    fn reply(
        &self,
        request: &RequestView,
        listed: &[ChannelModels],
    ) -> Result<FilterAction, Fault> {
        let body = self.render(request, listed)?;
        let content_type = HeaderValue::from_static("application/json");
        Ok(LocalReply {
            status: StatusCode::OK,
            headers: HeaderMap::from_iter([(header::CONTENT_TYPE, content_type)]),
            body,
        }
        .into())
    }

    /// The channels whose patterns can name what their providers list.
    fn listing_channels(&self) -> Vec<Arc<Channel>> {
        let mut channels: Vec<Arc<Channel>> = Vec::new();
        for pattern in self.catalog.by_pattern().patterns() {
            let is_known = channels.iter().any(|one| one.name == pattern.channel.name);
            if pattern.channel_name.has_star() && !is_known {
                channels.push(pattern.channel.clone());
            }
        }
        channels
    }

    /// The models that providers list and that the caller may use by a pattern of their channel.
    fn models_by_pattern(
        &self,
        request: &RequestView,
        listed: &[ChannelModels],
    ) -> Vec<Arc<Model>> {
        let mut models = Vec::new();
        for pattern in self.catalog.by_pattern().patterns() {
            let of_channel = listed
                .iter()
                .find(|(one, _)| one.name == pattern.channel.name);
            for listed in of_channel.iter().flat_map(|(_, names)| names.iter()) {
                let captured = pattern.channel_name.capture(&listed.name);
                let name = captured.map(|text| pattern.pattern.fill(text));
                let Some(name) = name.filter(|name| may_list(request, name, listed, pattern))
                else {
                    continue;
                };
                let model = self.catalog.get(&name).filter(|model| model.is_by_pattern);
                models.extend(model.filter(|model| {
                    let mut candidates = model.all_candidates.iter();
                    candidates.any(|one| one.channel.name == pattern.channel.name)
                }));
            }
        }
        models
    }

    fn render(
        &self,
        request: &RequestView,
        listed: &[ChannelModels],
    ) -> Result<bytes::Bytes, Fault> {
        let format = &Protocol::descriptor_for(request.protocol).models;
        let may_use = |model: &Model| {
            let caller = request.caller.as_ref();
            caller.is_none_or(|caller| caller.may_use_model(&model.name))
        };
        let Some(id) = request.param("id") else {
            let usable = self
                .catalog
                .models()
                .filter(|model| may_use(model))
                .cloned();
            let mut usable: Vec<Arc<Model>> = usable.collect();
            usable.extend(self.models_by_pattern(request, listed));
            usable.sort_by(|one, other| one.name.cmp(&other.name));
            usable.dedup_by(|one, other| one.name == other.name);
            let entries: Vec<ListedModel> = usable.iter().map(|model| entry(model)).collect();
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

/// Whether the caller sees the model: a private one only if it is named by more than the pattern of the channel.
fn may_list(
    request: &RequestView,
    name: &str,
    listed: &ProviderModel,
    pattern: &ChannelPattern,
) -> bool {
    let Some(caller) = &request.caller else {
        return !listed.is_private;
    };
    match listed.is_private {
        true => caller.names_model(name, pattern.pattern.literal_len()),
        false => caller.may_use_model(name),
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
