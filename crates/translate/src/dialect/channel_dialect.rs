//! The dialect of a channel: what its models take.

use super::model_features::ModelFeatures;
use headgate_scalar::model_pattern::ModelPattern;
use std::sync::Arc;

/// The dialect of a channel.
#[derive(Clone, Debug, Default)]
pub struct Dialect {
    pub(super) all: Arc<ModelFeatures>,
    /// What differs for some models; the first one that matches counts.
    pub(super) by_model: Vec<(Vec<ModelPattern>, Arc<ModelFeatures>)>,
}

impl Dialect {
    /// What requests for a model of this channel have, by the provider's name of it.
    pub fn for_model(&self, name: &str) -> &Arc<ModelFeatures> {
        let mut sections = self.by_model.iter();
        let matches = |patterns: &[ModelPattern]| patterns.iter().any(|one| one.matches(name));
        let section = sections.find(|(patterns, _)| matches(patterns));
        section.map_or(&self.all, |(_, dialect)| dialect)
    }
}
