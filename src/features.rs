//! The features of the program. A new one needs its crate and one line here.

#[cfg(not(feature = "wasm"))]
mod absent_plugins;

use headgate_core::feature::{Feature, FeatureList};

/// All features.
pub const FEATURES: FeatureList = FeatureList(LIST);

const LIST: &[&dyn Feature] = &[
    &headgate_state::feature::StateFeature,
    &headgate_filters::feature::FiltersFeature,
    &headgate_video::feature::VideoFeature,
    &headgate_paid::feature::PaidFeature,
    &headgate_media::feature::MediaFeature,
    #[cfg(feature = "wasm")]
    &headgate_plugins::feature::PluginsFeature,
    #[cfg(not(feature = "wasm"))]
    &absent_plugins::AbsentPlugins,
];

#[cfg(test)]
mod tests;
