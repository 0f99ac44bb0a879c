//! Plugins: modules of Proxy-Wasm that run as filters.

use crate::SharedPlugins;
use crate::filter::plugin;
use headgate_core::feature::{Feature, FeatureValues};
use headgate_core::filter::descriptor::FilterDescriptor;
use std::sync::Arc;

/// Plugins: modules of Proxy-Wasm that run as filters.
pub struct PluginsFeature;

impl Feature for PluginsFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[plugin::DESCRIPTOR];
        FILTERS
    }

    fn add_shared_values(&self, values: &mut FeatureValues) {
        values.set(Arc::<SharedPlugins>::default());
    }
}
