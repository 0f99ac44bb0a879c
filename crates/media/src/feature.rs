//! The media store, and the filters that use it.

use crate::config::MediaSection;
use crate::filter::{copy_files, map_images, serve_media, store_media};
use crate::metrics::MediaMetrics;
use crate::response_body::MediaLargeBodyStore;
use crate::{SharedMediaState, build, upkeep};
use headgate_core::feature::background::BackgroundWork;
use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::feature::metrics::FeatureMetrics;
use headgate_core::feature::section::{
    ConfigProblemSink, FeatureSectionSchema, SectionBuildContext,
};
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::filter::descriptor::{FilterDescriptor, settings_schema};
use headgate_core::large_bodies::LargeResponseStoreHandle;
use headgate_core::outgoing::OutgoingClients;
use prometheus::Registry;
use std::path::PathBuf;
use std::sync::Arc;

/// The media store, and the filters that use it.
pub struct MediaFeature;

impl Feature for MediaFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[
            copy_files::DESCRIPTOR,
            map_images::DESCRIPTOR,
            serve_media::DESCRIPTOR,
            store_media::DESCRIPTOR,
        ];
        FILTERS
    }

    fn sections(&self) -> Option<FeatureSectionSchema> {
        Some(FeatureSectionSchema {
            keys: &["media"],
            schema: settings_schema::<MediaSection>,
        })
    }

    fn build_sections(
        &self,
        context: &SectionBuildContext<'_>,
        built: &mut FeatureTypeMap,
        problems: &mut dyn ConfigProblemSink,
    ) -> Vec<PathBuf> {
        let shared = built.get();
        if let Some(MediaSection { media }) = context.read(problems) {
            let store = build::build(&media, context.folder, context.state, &shared, problems);
            built.set(store.clone());
            built.set(Arc::new(LargeResponseStoreHandle(Arc::new(
                MediaLargeBodyStore(store),
            ))));
        }
        Vec::new()
    }

    fn connect(&self, shared: &FeatureTypeMap, clients: &OutgoingClients) {
        shared
            .get::<SharedMediaState>()
            .set_client(clients.buckets.clone());
    }

    fn background(&self) -> Option<BackgroundWork> {
        Some(BackgroundWork {
            is_awaited: false,
            run: |context| Box::pin(upkeep::run(context)),
        })
    }

    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<SharedMediaState>::default());
    }

    fn register_metrics(
        &self,
        registry: &Registry,
        shared: &FeatureTypeMap,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        vec![Box::new(MediaMetrics::new(registry, shared.get()))]
    }

    fn findings(&self) -> FeatureFindingDefinitions {
        crate::findings::FINDINGS
    }
}
