//! The dialect of a channel: what its models take.

use super::model_features::ModelFeatures;
use headgate_scalar::model_pattern::ModelPattern;
use std::collections::HashMap;
use std::sync::Arc;

/// The dialect of a channel.
#[derive(Clone, Debug, Default)]
pub struct Dialect {
    pub(super) all: Arc<ModelFeatures>,
    /// What differs for some models; the first one that matches counts.
    pub(super) by_model: Arc<[(Vec<ModelPattern>, Arc<ModelFeatures>)]>,
    /// What models have whose names are known before a request has one, so that no pattern is tried for it.
    named: HashMap<Box<str>, Arc<ModelFeatures>>,
}

impl Dialect {
    /// `by_model` is what differs for some models.
    pub(super) fn new(
        all: Arc<ModelFeatures>,
        by_model: Vec<(Vec<ModelPattern>, Arc<ModelFeatures>)>,
    ) -> Self {
        Self {
            all,
            by_model: by_model.into(),
            named: HashMap::new(),
        }
    }

    /// The dialect with what it has for models of these names.
    #[must_use]
    pub fn with_models<'n>(&self, names: impl Iterator<Item = &'n str>) -> Self {
        let named = names.map(|name| (name.into(), self.by_pattern(name).clone()));
        Self {
            named: named.collect(),
            ..self.clone()
        }
    }

    /// What requests for a model of this channel have, by the provider's name of it.
    pub fn for_model(&self, name: &str) -> &Arc<ModelFeatures> {
        let named = self.named.get(name);
        named.unwrap_or_else(|| self.by_pattern(name))
    }

    fn by_pattern(&self, name: &str) -> &Arc<ModelFeatures> {
        let mut sections = self.by_model.iter();
        let matches = |patterns: &[ModelPattern]| patterns.iter().any(|one| one.matches(name));
        let section = sections.find(|(patterns, _)| matches(patterns));
        section.map_or(&self.all, |(_, dialect)| dialect)
    }
}
