//! The catalog as built: callers, models and channels. Immutable, without I/O.

pub mod affinity;
pub mod aws_signer;
pub mod base_path;
pub mod base_url;
pub mod batch_price;
pub mod batch_work;
pub mod by_model_name;
pub mod caller;
pub mod caller_key;
pub mod channel;
pub mod channel_mask;
pub mod client_address;
pub mod credential;
pub mod credential_secret;
pub mod egress;
pub mod endpoint;
pub mod fallback;
pub mod fixed_query;
pub mod images;
pub mod jwt_key;
pub mod jwt_minter;
pub mod limits;
pub mod model;
pub mod model_access;
pub mod network;
pub mod outbound_proxy;
pub mod path_segment;
mod pattern_index;
pub mod pattern_models;
pub mod price;
pub mod price_list;
pub mod price_maximum;
pub mod public_url;
pub mod run_limits;
pub mod served_names;
pub mod text_work;
pub mod token_prices;
mod verified_keys;
pub mod webhook_secret;

use crate::scalar::model_pattern::ModelPattern;
use channel::Channel;
use headgate_protocol::Protocol;
use model::Model;
use pattern_models::PatternModels;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All platform models and all channels, by name.
#[derive(Debug, Default)]
pub struct Catalog {
    models: BTreeMap<Arc<str>, Arc<Model>>,
    by_pattern: PatternModels,
    channels: BTreeMap<Arc<str>, Arc<Channel>>,
}

impl Catalog {
    pub fn new(
        channels: Vec<Arc<Channel>>,
        models: impl IntoIterator<Item = Model>,
        by_pattern: PatternModels,
    ) -> Self {
        Self {
            models: models
                .into_iter()
                .map(|model| (model.name.clone(), Arc::new(model)))
                .collect(),
            by_pattern,
            channels: channels
                .into_iter()
                .map(|channel| (channel.name.clone(), channel))
                .collect(),
        }
    }

    /// The model of this name: a literal one, else one that a pattern serves.
    pub fn get(&self, name: &str) -> Option<Arc<Model>> {
        let literal = self.models.get(name).cloned();
        literal.or_else(|| self.by_pattern.get(name))
    }

    pub fn channel(&self, name: &str) -> Option<&Arc<Channel>> {
        self.channels.get(name)
    }

    /// All channels, in the order of their names.
    pub fn channels(&self) -> impl Iterator<Item = &Arc<Channel>> {
        self.channels.values()
    }

    /// The first channel of this protocol, or of any if there is none, that signs the bodies of its requests, so that it needs them
    /// whole.
    pub fn body_signing_channel(&self, protocol: Option<Protocol>) -> Option<&Arc<Channel>> {
        self.channels().find(|channel| {
            let mut credentials = channel.credentials.iter();
            protocol.is_none_or(|protocol| channel.protocols.contains(&protocol))
                && credentials.any(|credential| credential.signer.signs_body())
        })
    }

    /// All models that the configuration names, in the order of their names.
    pub fn models(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.models.values()
    }

    /// Whether a name that `pattern` matches is served, or might be.
    pub fn may_serve(&self, pattern: &ModelPattern) -> bool {
        let mut names = self.models.keys();
        names.any(|name| pattern.matches(name)) || self.by_pattern.may_serve(pattern)
    }

    /// The models that patterns serve.
    pub fn by_pattern(&self) -> &PatternModels {
        &self.by_pattern
    }

    /// All models with health of their own: those that the configuration names, and those that a pattern served since the
    /// process started.
    pub fn models_with_health(&self) -> impl Iterator<Item = Arc<Model>> {
        let by_pattern = self.by_pattern.served().into_iter();
        // The configuration may name a model now that a pattern served before.
        let by_pattern = by_pattern.filter(|model| !self.models.contains_key(&model.name));
        self.models.values().cloned().chain(by_pattern)
    }

    /// The model's name in metrics, whose number is bounded. `is_served` says whether a provider accepted the request.
    pub fn metric_label<'m>(&self, model: &'m Model, is_served: bool) -> &'m str {
        match model.is_by_pattern {
            false => &model.name,
            true => self.by_pattern.metric_label(model, is_served),
        }
    }
}
