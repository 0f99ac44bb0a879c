//! Models that channels serve by a pattern of their names: a name becomes a [`Model`] when a request first names it.

use super::by_model_name::ByModelName;
use super::channel::Channel;
use super::model::{Candidate, ChannelModel, Model, ModelProperties};
use super::pattern_index::PatternIndex;
use super::price_list::PatternPricing;
use super::served_names::ServedModelNames;
use crate::scalar::model_pattern::{ModelPattern, NameTemplate};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Longest name of a model that a pattern serves, in bytes.
pub const MODEL_NAME_BYTES_MAX: usize = 256;
/// Models that are kept after they were resolved. They are dropped together when there are more, since callers choose the
/// names.
const RESOLVED_MAX: usize = 4096;
/// What metrics name in place of a model without a label of its own.
pub const OTHER_MODEL: &str = "other";

/// A pattern in the `models` of a channel.
#[derive(Debug)]
pub struct ChannelPattern {
    pub channel: Arc<Channel>,
    /// Platform models, with one star.
    pub pattern: NameTemplate,
    /// The provider's name; its star, if it has one, stands for what the pattern's does.
    pub channel_name: NameTemplate,
    pub pricing: PatternPricing,
}

/// All models that a pattern serves.
#[derive(Debug, Default)]
pub struct PatternModels {
    patterns: Vec<ChannelPattern>,
    index: PatternIndex,
    properties: ByModelName<Arc<ModelProperties>>,
    default_properties: Arc<ModelProperties>,
    served: Arc<ServedModelNames>,
    /// How many names have metrics and health of their own.
    served_max: usize,
    resolved: RwLock<HashMap<Arc<str>, Arc<Model>>>,
}

impl PatternModels {
    pub fn new(
        patterns: Vec<ChannelPattern>,
        properties: ByModelName<Arc<ModelProperties>>,
        served: Arc<ServedModelNames>,
        served_max: usize,
    ) -> Self {
        Self {
            index: PatternIndex::new(patterns.iter().map(|one| &one.pattern)),
            patterns,
            properties,
            default_properties: Arc::default(),
            served,
            served_max,
            resolved: RwLock::default(),
        }
    }

    pub fn patterns(&self) -> &[ChannelPattern] {
        &self.patterns
    }

    /// Whether a channel's pattern might serve a name that `pattern` matches.
    pub fn may_serve(&self, pattern: &ModelPattern) -> bool {
        let mut patterns = self.patterns.iter();
        patterns.any(|one| ModelPattern::from(&one.pattern).may_overlap(pattern))
    }

    /// The properties of the model of this name.
    pub fn properties(&self, name: &str) -> &Arc<ModelProperties> {
        let found = self.properties.find(name);
        found.unwrap_or(&self.default_properties)
    }

    /// The model of this name; `None` if no pattern serves it, or it would need a price.
    pub fn get(&self, name: &str) -> Option<Arc<Model>> {
        if self.patterns.is_empty() {
            return None;
        }
        let resolved = self.resolved.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = resolved.get(name) {
            return Some(model.clone());
        }
        drop(resolved);
        let model = Arc::new(self.resolve(name)?);
        let mut resolved = self
            .resolved
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if resolved.len() >= RESOLVED_MAX {
            resolved.clear();
        }
        resolved.insert(model.name.clone(), model.clone());
        Some(model)
    }

    /// Whether a pattern matches `name`, but no channel serves it without a price.
    pub fn lacks_price(&self, name: &str) -> bool {
        is_model_name(name) && !self.index.find(name).is_empty() && self.candidates(name).is_empty()
    }

    /// The candidates for `name`: of the channels whose matching pattern is the longest one.
    pub fn candidates(&self, name: &str) -> Vec<Candidate> {
        self.candidates_with(name, true)
    }

    /// The model's name in metrics. A name gets a label of its own when `is_served` for the first time.
    pub fn metric_label<'m>(&self, model: &'m Model, is_served: bool) -> &'m str {
        let is_known = match is_served {
            true => self.served.record(&model.name, self.served_max),
            false => self.served.contains(&model.name),
        };
        if is_known && !model.has_health() {
            // The next request finds it with health of its own.
            let resolved = self.resolved.write();
            let mut resolved = resolved.unwrap_or_else(PoisonError::into_inner);
            resolved.remove(&model.name);
        }
        if is_known { &model.name } else { OTHER_MODEL }
    }

    /// The models that were served since the process started and that a pattern still serves.
    pub fn served(&self) -> Vec<Arc<Model>> {
        if self.patterns.is_empty() {
            return Vec::new();
        }
        let names = self.served.all();
        names.iter().filter_map(|name| self.get(name)).collect()
    }

    /// The properties of the model of this name, if `channel` serves it by a pattern. Resolves nothing: lists have thousands of
    /// names.
    pub fn listed(&self, name: &str, channel: &Channel) -> Option<&Arc<ModelProperties>> {
        let mut matching = self.index.find(name).into_iter();
        let is_served = matching.any(|index| {
            let pattern = &self.patterns[index];
            pattern.channel.name == channel.name && pattern.pricing.price(name).is_some()
        });
        (is_served && is_model_name(name)).then(|| self.properties(name))
    }

    fn resolve(&self, name: &str) -> Option<Model> {
        if !is_model_name(name) {
            return None;
        }
        let is_served = self.served.contains(name);
        let candidates = self.candidates_with(name, is_served);
        if candidates.is_empty() {
            return None;
        }
        let properties = self.properties(name).clone();
        Some(Model::new(name, properties, candidates).by_pattern())
    }

    fn candidates_with(&self, name: &str, has_health: bool) -> Vec<Candidate> {
        let matching = self.index.find(name).into_iter();
        let candidates = matching.filter_map(|index| {
            let ChannelPattern {
                channel,
                pattern,
                channel_name,
                pricing,
            } = &self.patterns[index];
            let price = pricing.price(name)?;
            let there = channel_name.fill(pattern.capture(name)?);
            let mut model = ChannelModel::new(&there, channel.fingerprint);
            model.price = price;
            if !has_health {
                model = model.without_health();
            }
            (!there.is_empty()).then(|| Candidate::for_model(channel.clone(), model))
        });
        candidates.collect()
    }
}

/// Whether a pattern may serve `name`: it is not too long, and has no control characters.
fn is_model_name(name: &str) -> bool {
    name.len() <= MODEL_NAME_BYTES_MAX && !name.chars().any(char::is_control)
}
