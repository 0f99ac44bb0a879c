//! `fallbacks` of a LiteLLM configuration: channels of another model that serve a model in later tiers.

use super::serving_channels;
use crate::channel_draft::{ChannelDraft, ChannelDraftSettings};
use crate::source_settings::SourceSettingsTracker;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A model, and the model to use if all deployments of it fail.
pub struct LitellmFallback {
    pub path: String,
    /// `None` for every model that has no fallbacks of its own.
    pub model: Option<String>,
    /// Models to use in this order, each with its path.
    pub targets: Vec<(String, Option<String>)>,
}

/// The channels before any fallback, and those with the fallbacks so far.
struct FallbackChannelBuilder<'c> {
    base: &'c [ChannelDraft],
    /// For each model, the channels of `base` that serve it.
    serving: HashMap<String, Vec<usize>>,
    channels: &'c mut Vec<ChannelDraft>,
    /// The added channels by account, name and tier.
    added: HashMap<String, Vec<usize>>,
}

/// Adds a channel for each step of a fallback: a channel has one tier for all of its models.
pub fn add(
    fallbacks: &[LitellmFallback],
    channels: &mut Vec<ChannelDraft>,
    settings: &mut SourceSettingsTracker,
) {
    let base = channels.clone();
    let own: HashSet<&String> = fallbacks
        .iter()
        .filter_map(|one| one.model.as_ref())
        .collect();
    let models: BTreeSet<&String> = base
        .iter()
        .flat_map(|channel| channel.models.keys())
        .collect();
    let mut result = FallbackChannelBuilder {
        serving: serving_channels(&base),
        base: &base,
        channels,
        added: HashMap::new(),
    };
    for fallback in fallbacks {
        match &fallback.model {
            Some(model) => result.add(fallback, model, settings),
            None => {
                for model in models.iter().filter(|model| !own.contains(*model)) {
                    result.add(fallback, model, settings);
                }
            }
        }
    }
}

impl<'c> FallbackChannelBuilder<'c> {
    fn serving(&self, model: &str) -> Vec<&'c ChannelDraft> {
        let base = self.base;
        let serving = self.serving.get(model).into_iter().flatten();
        serving.map(|at| &base[*at]).collect()
    }

    fn add(
        &mut self,
        fallback: &LitellmFallback,
        model: &str,
        settings: &mut SourceSettingsTracker,
    ) {
        let served = self.serving(model);
        let Some(mut tier) = served.iter().map(|channel| channel.settings.tier).max() else {
            return settings.unconverted(
                &fallback.path,
                "no channel of the result serves the model",
                "add a channel for the model, then one in a higher `tier` for the fallback",
            );
        };
        for (path, target) in &fallback.targets {
            let target = target.as_deref().unwrap_or_default();
            if target == model {
                continue;
            }
            let from: Vec<&ChannelDraft> = self
                .serving(target)
                .into_iter()
                .filter(|channel| served.iter().any(|one| shares_protocol(one, channel)))
                .collect();
            if from.is_empty() {
                settings.unconverted(
                    path,
                    "no channel of the result serves the fallback over a protocol of the model",
                    "add such a channel in a higher `tier`, with the model's name in `models`",
                );
                continue;
            }
            tier = tier.saturating_add(1);
            settings.converted(path);
            for channel in from {
                self.insert(fallback_channel(channel, model, target, tier), model);
            }
        }
    }

    /// Adds the channel, or its model to an added one of the same account that does not have it.
    fn insert(&mut self, copy: ChannelDraft, model: &str) {
        let key = format!("{} {:?}", copy.name, copy.settings);
        let same = self.added.entry(key).or_default();
        let channels = &mut *self.channels;
        let free = same
            .iter()
            .find(|at| !channels[**at].models.contains_key(model));
        match free {
            Some(at) => {
                channels[*at].models.extend(copy.models);
                channels[*at].prices.extend(copy.prices);
            }
            None => {
                same.push(channels.len());
                channels.push(copy);
            }
        }
    }
}

/// The channel of a fallback: the same account, in a later tier, with the model that callers name.
fn fallback_channel(channel: &ChannelDraft, model: &str, target: &str, tier: u8) -> ChannelDraft {
    let prices = channel.prices.get(target).cloned();
    ChannelDraft {
        name: format!("{}-fallback", channel.name),
        settings: ChannelDraftSettings {
            tier,
            ..channel.settings.clone()
        },
        models: [(model.to_owned(), channel.models[target].clone())].into(),
        prices: prices
            .map(|prices| (model.to_owned(), prices))
            .into_iter()
            .collect(),
        sources: Vec::new(),
    }
}

fn shares_protocol(one: &ChannelDraft, other: &ChannelDraft) -> bool {
    let mut protocols = one.settings.protocols.iter();
    protocols.any(|protocol| other.settings.protocols.contains(protocol))
}
