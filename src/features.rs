//! The features of the program. A new one needs its crate and one line here.

#[cfg(not(feature = "wasm"))]
mod absent_plugins;

use headgate_core::feature::{Feature, FeatureList};

/// All features, in the order in which the admin pages name their findings.
pub const FEATURES: FeatureList = FeatureList::new(LIST);

const LIST: &[&dyn Feature] = &[
    &headgate_state::feature::StateFeature,
    &headgate_identity::feature::IdentityFeature,
    &headgate_filters::feature::FiltersFeature,
    #[cfg(feature = "wasm")]
    &headgate_plugins::feature::PluginsFeature,
    #[cfg(not(feature = "wasm"))]
    &absent_plugins::AbsentPlugins,
    &headgate_media::feature::MediaFeature,
    &headgate_batch::feature::BatchFeature,
    &headgate_usage::feature::UsageFeature,
    &headgate_alerts::feature::AlertsFeature,
    &headgate_prompt_log::feature::PromptLogFeature,
    &headgate_paid::feature::PaidFeature,
    &headgate_video::feature::VideoFeature,
];

#[cfg(test)]
mod tests;
