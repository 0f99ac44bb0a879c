//! `fallbacks` of a LiteLLM configuration: channels of another model that serve a model in later tiers.

use super::super::channel_draft::ChannelDraft;
use super::super::source_settings::SourceSettings;

/// A model, and the model to use if all deployments of it fail.
pub struct LitellmFallback {
    pub path: String,
    /// `None` for every model that has no fallbacks of its own.
    pub model: Option<String>,
    /// Models to use in this order, each with its path.
    pub targets: Vec<(String, Option<String>)>,
}

/// Adds a channel for each step of a fallback: a channel has one tier for all of its models.
pub fn add(
    fallbacks: &[LitellmFallback],
    channels: &mut Vec<ChannelDraft>,
    settings: &mut SourceSettings,
) {
    let base = channels.clone();
    let own: Vec<&String> = fallbacks
        .iter()
        .filter_map(|one| one.model.as_ref())
        .collect();
    let mut models: Vec<&String> = base
        .iter()
        .flat_map(|channel| channel.models.keys())
        .collect();
    models.sort();
    models.dedup();
    for fallback in fallbacks {
        match &fallback.model {
            Some(model) => add_one(fallback, model, &base, channels, settings),
            None => {
                for model in models.iter().filter(|model| !own.contains(model)) {
                    add_one(fallback, model, &base, channels, settings);
                }
            }
        }
    }
}

fn add_one(
    fallback: &LitellmFallback,
    model: &str,
    base: &[ChannelDraft],
    channels: &mut Vec<ChannelDraft>,
    settings: &mut SourceSettings,
) {
    let served: Vec<&ChannelDraft> = base
        .iter()
        .filter(|one| one.models.contains_key(model))
        .collect();
    let Some(mut tier) = served.iter().map(|channel| channel.settings.tier).max() else {
        return settings.unconverted(
            &fallback.path,
            "no channel of the result serves the model",
            "add a channel for the model, then one in a higher `tier` for the fallback",
        );
    };
    for (path, target) in &fallback.targets {
        let from: Vec<&ChannelDraft> = base
            .iter()
            .filter(|channel| {
                target
                    .as_ref()
                    .is_some_and(|target| channel.models.contains_key(target))
            })
            .filter(|channel| served.iter().any(|one| shares_protocol(one, channel)))
            .collect();
        let target = target.as_deref().unwrap_or_default();
        if target == model {
            continue;
        }
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
            let copy = fallback_channel(channel, model, target, tier);
            let same = channels.iter_mut().find(|one| {
                one.settings == copy.settings
                    && one.name == copy.name
                    && !one.models.contains_key(model)
            });
            match same {
                Some(same) => {
                    same.models.extend(copy.models);
                    same.prices.extend(copy.prices);
                }
                None => channels.push(copy),
            }
        }
    }
}

/// The channel of a fallback: the same account, in a later tier, with the model that callers name.
fn fallback_channel(channel: &ChannelDraft, model: &str, target: &str, tier: u8) -> ChannelDraft {
    let mut copy = channel.clone();
    copy.name = format!("{}-fallback", channel.name);
    copy.settings.tier = tier;
    copy.models = [(model.to_owned(), channel.models[target].clone())].into();
    let prices = channel.prices.get(target).cloned();
    copy.prices = prices
        .map(|prices| (model.to_owned(), prices))
        .into_iter()
        .collect();
    copy.sources = Vec::new();
    copy
}

fn shares_protocol(one: &ChannelDraft, other: &ChannelDraft) -> bool {
    let mut protocols = one.settings.protocols.iter();
    protocols.any(|protocol| other.settings.protocols.contains(protocol))
}
