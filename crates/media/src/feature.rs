//! The media store, and the filters that use it.

use crate::config::MediaSections;
use crate::filter::{copy_files, map_images, serve_media, store_media};
use crate::metrics::MediaMetrics;
use crate::response_body::ResponseBodies;
use crate::{SharedMediaState, build, upkeep};
use headgate_core::feature::background::BackgroundWork;
use headgate_core::feature::findings::FeatureFindings;
use headgate_core::feature::metrics::FeatureMetrics;
use headgate_core::feature::section::{ConfigProblems, ConfigSections, SectionContext};
use headgate_core::feature::{Feature, FeatureValues};
use headgate_core::filter::descriptor::{FilterDescriptor, settings_schema};
use headgate_core::large_bodies::LargeBodies;
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

    fn sections(&self) -> Option<ConfigSections> {
        Some(ConfigSections {
            keys: &["media"],
            schema: settings_schema::<MediaSections>,
        })
    }

    fn build_sections(
        &self,
        context: &SectionContext<'_>,
        built: &mut FeatureValues,
        problems: &mut dyn ConfigProblems,
    ) -> Vec<PathBuf> {
        let shared = built.get();
        if let Some(MediaSections { media }) = context.read(problems) {
            let store = build::build(&media, context.folder, context.state, &shared, problems);
            built.set(store.clone());
            built.set(Arc::new(LargeBodies(Arc::new(ResponseBodies(store)))));
        }
        Vec::new()
    }

    fn connect(&self, shared: &FeatureValues, clients: &OutgoingClients) {
        shared
            .get::<SharedMediaState>()
            .set_client(clients.buckets.clone());
    }

    fn background(&self) -> Option<BackgroundWork> {
        Some(BackgroundWork {
            name: "media upkeep",
            is_awaited: false,
            run: |context| Box::pin(upkeep::run(context)),
        })
    }

    fn add_shared_values(&self, values: &mut FeatureValues) {
        values.set(Arc::<SharedMediaState>::default());
    }

    fn register_metrics(
        &self,
        registry: &Registry,
        shared: &FeatureValues,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        vec![Box::new(MediaMetrics::new(registry, shared.get()))]
    }

    fn findings(&self) -> FeatureFindings {
        crate::findings::FINDINGS
    }
}
