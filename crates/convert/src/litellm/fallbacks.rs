//! `fallbacks` of a LiteLLM configuration: other models that stand in for a model.

use crate::channel_draft::ChannelDraft;
use crate::naming::is_matched;
use crate::routes_draft::FallbackDrafts;
use crate::source_settings::SourceSettingsTracker;
use std::collections::BTreeSet;

/// A model, and the models to use if all deployments of it fail.
pub struct LitellmFallback {
    pub path: String,
    /// The key of `fallback` that the cause has in routes.yaml.
    pub cause: &'static str,
    /// `None` for every model that has no fallbacks of its own.
    pub model: Option<String>,
    /// Models to use in this order, each with its path.
    pub targets: Vec<(String, Option<String>)>,
}

/// The fallbacks of the result; those that lead nowhere, or back, are remarked on.
pub fn read(
    fallbacks: &[LitellmFallback],
    channels: &[ChannelDraft],
    settings: &mut SourceSettingsTracker,
) -> FallbackDrafts {
    let mut drafts = FallbackDrafts::default();
    let own: BTreeSet<&String> = fallbacks
        .iter()
        .filter_map(|one| one.model.as_ref())
        .collect();
    for fallback in fallbacks {
        match &fallback.model {
            Some(model) => add(fallback, model, channels, &mut drafts, settings),
            None => {
                let models = channels.iter().flat_map(|channel| channel.models.keys());
                let models: BTreeSet<&String> =
                    models.filter(|model| !own.contains(model)).collect();
                for model in models {
                    add(fallback, model, channels, &mut drafts, settings);
                }
            }
        }
    }
    drafts
}

fn add(
    fallback: &LitellmFallback,
    model: &str,
    channels: &[ChannelDraft],
    drafts: &mut FallbackDrafts,
    settings: &mut SourceSettingsTracker,
) {
    let protocols = protocols(model, channels);
    if protocols.is_empty() {
        return settings.unconverted(
            &fallback.path,
            "no channel of the result serves the model",
            "add a channel for the model, then `fallback` in `models`",
        );
    }
    for (path, target) in &fallback.targets {
        let Some(target) = target.as_deref().filter(|target| !target.is_empty()) else {
            let instead = "add the name of a model to `fallback` in `models`";
            settings.unconverted(path, "the fallback is no name of a model", instead);
            continue;
        };
        if target == model {
            // Another attempt on the model, which its channels get anyway.
            settings.converted(path);
        } else if protocols.is_disjoint(&self::protocols(target, channels)) {
            settings.unconverted(
                path,
                "no channel of the result serves the fallback over a protocol of the model",
                "add such a channel, then the model to `fallback` in `models`",
            );
        } else if !is_member(model, target) && drafts.leads(target, model) {
            settings.unconverted(
                path,
                "the fallback would lead back to the model",
                "nothing is to be done: a model that failed is not tried again",
            );
        } else {
            settings.converted(path);
            drafts.add(model, fallback.cause, target);
        }
    }
}

/// Whether `pattern` is one that matches `model`: the fallback of all its other models to this one leads nowhere back.
fn is_member(pattern: &str, model: &str) -> bool {
    pattern.contains('*') && is_matched(pattern, model)
}

/// The protocols over which channels serve a model, literally or by a pattern.
fn protocols(model: &str, channels: &[ChannelDraft]) -> BTreeSet<&'static str> {
    let serving = channels.iter().filter(|channel| {
        let mut names = channel.models.keys();
        names.any(|name| is_matched(name, model))
    });
    serving
        .flat_map(|channel| channel.settings.protocols.iter().copied())
        .collect()
}
