//! Identity: the filter that authenticates callers, and the use of their keys.

use crate::filter::authenticate;
use crate::findings::KEY_EXPIRES;
use crate::key_metrics::KeyMetrics;
use crate::key_usage::KeyUsages;
use headgate_core::catalog::caller::Callers;
use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::feature::metrics::FeatureMetrics;
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::filter::descriptor::FilterDescriptor;
use prometheus::Registry;
use std::sync::Arc;

/// Identity: the filter that authenticates callers, and the use of their keys.
pub struct IdentityFeature;

impl Feature for IdentityFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[authenticate::DESCRIPTOR];
        FILTERS
    }

    fn adopt(&self, built: &FeatureTypeMap) {
        built.get::<KeyUsages>().adopt(&built.get::<Callers>());
    }

    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<KeyUsages>::default());
    }

    fn register_metrics(
        &self,
        registry: &Registry,
        shared: &FeatureTypeMap,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        vec![Box::new(KeyMetrics::new(registry, shared.get()))]
    }

    fn findings(&self) -> FeatureFindingDefinitions {
        FeatureFindingDefinitions {
            sources: &[KEY_EXPIRES],
            ..FeatureFindingDefinitions::NONE
        }
    }
}
