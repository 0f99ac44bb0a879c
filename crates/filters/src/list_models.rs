//! `list_models`: replies with the models that the caller may use, in the format of the caller's protocol or of the Codex CLI.

use crate::channel_listings::{ChannelListings, ProviderModel};
use bytes::Bytes;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::{Model, ModelProperties};
use headgate_core::catalog::pattern_models::ChannelPattern;
use headgate_core::filter::contract::{GatewayResponseContent, RouteApiDescription};
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite, FilterProvision,
    read_settings_or_default, settings_schema,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, FilterAction, HookResult, LocalReply};
use headgate_core::scalar::model_pattern::ModelPattern;
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::model_list::{ListedModel, PageQuery, codex_list, is_for_codex};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "list_models",
    summary: "Replies with the models this caller may use, or with the model `{id}`; in the format of the messages protocol if its version header is sent, and in that of the Codex CLI if its version is in the query.",
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
        let ListModelsConfig {
            version_header,
            codex_instructions,
        } = read_settings_or_default(settings)?;
        Ok(Arc::new(ListModelsFilter {
            catalog: context.catalog.clone(),
            listings: context.features.get::<ChannelListings>(),
            version_header: version_header.to_ascii_lowercase(),
            codex_instructions,
        }))
    },
};

/// Settings of `list_models`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ListModelsConfig {
    /// Name of the header that identifies callers of the messages protocol. Default: anthropic-version.
    version_header: String,
    /// System prompt of all models in the list for the Codex CLI, which then uses it in place of its own. Default: none, and that
    /// list is empty, so that Codex uses its own prompt for each model that it is told to use.
    codex_instructions: Option<String>,
}

/// What a channel's provider lists.
type ChannelModels = (Arc<Channel>, Arc<[ProviderModel]>);

struct ListModelsFilter {
    catalog: Arc<Catalog>,
    listings: Arc<ChannelListings>,
    version_header: String,
    codex_instructions: Option<String>,
}

impl Default for ListModelsConfig {
    fn default() -> Self {
        Self {
            version_header: "anthropic-version".into(),
            codex_instructions: None,
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
        if is_codex(request) {
            request.protocol = only_protocol(request);
            if self.codex_instructions.is_none() {
                return HookResult::Ready(reply_with(codex_list(&[], None)));
            }
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
        reply_with(self.render(request, listed)?)
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
    ) -> Vec<ListedModel> {
        let mut entries = Vec::new();
        let only = only_protocol(request);
        let is_served =
            |channel: &Channel| only.is_none_or(|only| channel.protocols.contains(&only));
        let patterns = self.catalog.by_pattern().patterns().iter();
        for pattern in patterns.filter(|pattern| is_served(&pattern.channel)) {
            let channel = &pattern.channel;
            let of_channel = listed.iter().find(|(one, _)| one.name == channel.name);
            for listed in of_channel.iter().flat_map(|(_, names)| names.iter()) {
                let captured = pattern.channel_name.capture(&listed.name);
                let name = captured.map(|text| pattern.pattern.fill(text));
                let Some(name) = name.filter(|name| may_list(request, name, listed, pattern))
                else {
                    continue;
                };
                let properties = self.catalog.by_pattern().listed(&name, channel);
                entries.extend(properties.map(|properties| entry(&name, properties)));
            }
        }
        entries
    }

    fn render(&self, request: &RequestView, listed: &[ChannelModels]) -> Result<Bytes, Fault> {
        let format = &Protocol::descriptor_for(request.protocol).models;
        let may_use = |model: &Model| {
            let caller = request.caller.as_ref();
            caller.is_none_or(|caller| caller.may_use_model(&model.name))
        };
        let Some(id) = request.param("id") else {
            let only = only_protocol(request);
            let is_served = |model: &Model| only.is_none_or(|only| model.supports(only));
            let usable = self.catalog.models();
            let usable = usable.filter(|model| may_use(model) && is_served(model));
            let usable = usable.map(|model| entry(&model.name, &model.properties));
            let mut entries: Vec<ListedModel> = usable.collect();
            entries.extend(self.models_by_pattern(request, listed));
            // The sort is stable, so that the entry of a model that the configuration names stays.
            entries.sort_by(|one, other| one.id.cmp(&other.id));
            entries.dedup_by(|other, one| one.id == other.id);
            if is_codex(request) {
                return Ok(codex_list(&entries, self.codex_instructions.as_deref()));
            }
            let page = PageQuery::from_query(request.query.as_deref().unwrap_or_default());
            return Ok((format.list)(&entries, &page));
        };
        let model = self.catalog.get(id).filter(|model| may_use(model));
        model
            .map(|model| (format.item)(&entry(&model.name, &model.properties)))
            .ok_or_else(|| {
                Fault::new(
                    FaultKind::UnknownModel,
                    "this model does not exist or your API key has no access to it; GET /v1/models lists the models you can use",
                )
                .param("model")
            })
    }
}

/// Whether the request is for the list of the Codex CLI.
fn is_codex(request: &RequestView) -> bool {
    let query = request.query.as_deref();
    request.param("id").is_none() && query.is_some_and(is_for_codex)
}

/// The protocol that listed models must have: the Codex CLI has no other one than that of stored responses.
fn only_protocol(request: &RequestView) -> Option<Protocol> {
    is_codex(request).then(Protocol::find_storing).flatten()
}

fn reply_with(body: Bytes) -> Result<FilterAction, Fault> {
    let content_type = HeaderValue::from_static("application/json");
    Ok(LocalReply {
        status: StatusCode::OK,
        headers: HeaderMap::from_iter([(header::CONTENT_TYPE, content_type)]),
        body,
    }
    .into())
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
        true => {
            let of_channel = ModelPattern::from(&pattern.pattern);
            caller.names_model(name, of_channel.literal_len())
        }
        false => caller.may_use_model(name),
    }
}

fn entry(name: &str, properties: &ModelProperties) -> ListedModel {
    ListedModel {
        id: name.to_owned(),
        display_name: properties.display_name.clone(),
        owned_by: properties.owned_by.clone(),
        created: properties.created,
    }
}
