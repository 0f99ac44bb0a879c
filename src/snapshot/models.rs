//! The catalog of platform models, gathered from the channels that serve them.

use super::Problems;
use super::channels::Served;
use crate::catalog::model::{Candidate, Catalog, Model};
use crate::config::routes::ModelConfig;
use std::collections::BTreeMap;

/// Builds the catalog; a declared model that no channel serves is reported.
pub(crate) fn build(
    served: Vec<Served>,
    configs: &BTreeMap<String, ModelConfig>,
    problems: &mut Problems<'_>,
) -> Catalog {
    let mut candidates: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    let mut channels = Vec::with_capacity(served.len());
    for Served { channel, models } in served {
        for (name, model) in models {
            candidates.entry(name).or_default().push(Candidate {
                channel: channel.clone(),
                model: Some(model),
            });
        }
        channels.push(channel);
    }
    for name in configs
        .keys()
        .filter(|name| !candidates.contains_key(*name))
    {
        problems.warning(
            &format!("/models/{}", name.replace('~', "~0").replace('/', "~1")),
            format!("no channel serves model `{name}`"),
            Some("add it to a channel's `models`, or remove it here"),
        );
    }
    let models = candidates.into_iter().map(|(name, candidates)| {
        let ModelConfig {
            display_name,
            owned_by,
            created,
        } = configs.get(&name).cloned().unwrap_or_default();
        let mut model = Model::new(&name, candidates);
        model.display_name = display_name;
        model.owned_by = owned_by.unwrap_or_else(|| "headgate".into());
        model.created = created.unwrap_or(0);
        model
    });
    Catalog::new(channels, models)
}
