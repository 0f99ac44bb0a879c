//! Plugins: modules of Proxy-Wasm that run as filters.

use crate::config::PluginsSection;
use crate::filter::plugin;
use crate::metrics::PluginMetrics;
use crate::{SharedPluginState, build};
use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::feature::metrics::FeatureMetrics;
use headgate_core::feature::section::{
    ConfigProblemSink, FeatureSectionSchema, SectionBuildContext,
};
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::filter::descriptor::{FilterDescriptor, settings_schema};
use prometheus::Registry;
use std::path::PathBuf;
use std::sync::Arc;

/// Memory of all instances of all plugins together, in bytes.
struct PluginInstancesMemoryMax(usize);

/// Plugins: modules of Proxy-Wasm that run as filters.
pub struct PluginsFeature;

impl Feature for PluginsFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[plugin::DESCRIPTOR];
        FILTERS
    }

    fn sections(&self) -> Option<FeatureSectionSchema> {
        Some(FeatureSectionSchema {
            keys: &["plugins"],
            schema: settings_schema::<PluginsSection>,
        })
    }

    fn build_sections(
        &self,
        context: &SectionBuildContext<'_>,
        built: &mut FeatureTypeMap,
        problems: &mut dyn ConfigProblemSink,
    ) -> Vec<PathBuf> {
        let Some(PluginsSection { plugins }) = context.read(problems) else {
            return Vec::new();
        };
        let (folder, services) = (context.folder, context.services);
        let memory = build::memory_total(&plugins, context.plugin_memory, problems);
        let definitions = build::build(&plugins, services, folder, &built.get(), problems);
        built.set(Arc::new(definitions));
        built.set(Arc::new(PluginInstancesMemoryMax(memory)));
        plugins
            .values()
            .map(|plugin| folder.join(&plugin.wasm))
            .collect()
    }

    fn check_use(&self, built: &FeatureTypeMap, problems: &mut dyn ConfigProblemSink) {
        build::check_use(&built.get(), problems);
    }

    fn adopt(&self, built: &FeatureTypeMap) {
        let PluginInstancesMemoryMax(bytes) = *built.get();
        built.get::<SharedPluginState>().set_memory_total(bytes);
    }

    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<SharedPluginState>::default());
    }

    fn register_metrics(
        &self,
        registry: &Registry,
        shared: &FeatureTypeMap,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        vec![Box::new(PluginMetrics::new(registry, shared.get()))]
    }

    fn findings(&self) -> FeatureFindingDefinitions {
        crate::findings::FINDINGS
    }
}
