//! The features of the program. A new one needs its crate and one line here.

use headgate_core::feature::{Feature, FeatureList};

/// All features.
pub const FEATURES: FeatureList = FeatureList(LIST);

const LIST: &[&dyn Feature] = &[
    &headgate_state::feature::StateFeature,
    &headgate_filters::feature::FiltersFeature,
    &headgate_video::feature::VideoFeature,
    &headgate_paid::feature::PaidFeature,
    &headgate_media::feature::MediaFeature,
    &headgate_tracing::feature::TracingFeature,
    #[cfg(feature = "wasm")]
    &headgate_plugins::feature::PluginsFeature,
];

#[cfg(test)]
mod tests;
