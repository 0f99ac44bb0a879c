//! The `models` of a channel: literal names, and patterns with one star.

use super::ProblemCollector;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::model::ChannelModel;
use headgate_core::catalog::pattern_models::ChannelPattern;
use headgate_core::catalog::price_list::PatternPricing;
use headgate_core::pointer::child;
use headgate_core::scalar::model_pattern::NameTemplate;
use std::collections::BTreeMap;
use std::sync::Arc;

const ONE_STAR: &str = "write a pattern with one `*`, such as `openai/*`, or several entries";

/// A channel and the platform models that it serves.
pub struct ChannelWithModels {
    pub channel: Arc<Channel>,
    pub models: BTreeMap<String, ChannelModel>,
    pub patterns: Vec<ChannelPattern>,
}

/// Adds the models to the channel; reports patterns that cannot be meant. `at` is the pointer of `models`.
pub(super) fn add(
    served: &mut ChannelWithModels,
    models: &BTreeMap<String, String>,
    at: &str,
    problems: &mut ProblemCollector<'_>,
) {
    for (name, channel_name) in models {
        let at = child(at, name);
        let pattern = NameTemplate::parse(name);
        if pattern.is_none() {
            let reason = format!("`{name}` has more than one `*`");
            problems.key_error(&at, reason, Some(ONE_STAR));
        }
        let there = NameTemplate::parse(channel_name);
        if there.is_none() {
            let reason = format!("`{channel_name}` has more than one `*`");
            problems.error(&at, reason, Some(ONE_STAR));
        }
        let (Some(pattern), Some(there)) = (pattern, there) else {
            continue;
        };
        if pattern.has_star() {
            served.patterns.push(ChannelPattern {
                channel: served.channel.clone(),
                pattern,
                channel_name: there,
                pricing: PatternPricing::default(),
            });
        } else if there.has_star() {
            let reason = format!(
                "`{channel_name}` has a `*`, and `{name}` has none that says what it stands for"
            );
            problems.error(&at, reason, Some("write the provider's model name"));
        } else {
            let model = ChannelModel::new(channel_name, served.channel.fingerprint);
            served.models.insert(name.clone(), model);
        }
    }
}
