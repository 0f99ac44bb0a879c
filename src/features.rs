//! The features of the program. A new one needs its crate and one line here.

mod filters;
mod media;
mod paid;
#[cfg(feature = "wasm")]
mod plugins;
mod tracing;
mod video;

use crate::feature::{Feature, FeatureList};

/// All features.
pub const FEATURES: FeatureList = FeatureList(LIST);

const LIST: &[&dyn Feature] = &[
    &filters::FiltersFeature,
    &video::VideoFeature,
    &paid::PaidFeature,
    &media::MediaFeature,
    &tracing::TracingFeature,
    #[cfg(feature = "wasm")]
    &plugins::PluginsFeature,
];
