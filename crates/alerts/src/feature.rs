//! The feature: alerts for receivers of operators.

use crate::config::AlertsSection;
use crate::page::PAGES;
use crate::queue::AlertQueue;
use crate::{build, worker};
use headgate_core::feature::background::BackgroundWork;
use headgate_core::feature::finding_listener::FindingListener;
use headgate_core::feature::pages::FeatureAdminPage;
use headgate_core::feature::section::{
    ConfigProblemSink, FeatureSectionSchema, SectionBuildContext,
};
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::filter::descriptor::settings_schema;
use std::path::PathBuf;
use std::sync::Arc;

/// Alerts.
pub struct AlertsFeature;

impl Feature for AlertsFeature {
    fn sections(&self) -> Option<FeatureSectionSchema> {
        Some(FeatureSectionSchema {
            keys: &["alerts"],
            schema: settings_schema::<AlertsSection>,
        })
    }

    fn build_sections(
        &self,
        context: &SectionBuildContext<'_>,
        built: &mut FeatureTypeMap,
        problems: &mut dyn ConfigProblemSink,
    ) -> Vec<PathBuf> {
        let AlertsSection { alerts } = context.read(problems).unwrap_or_default();
        built.set(Arc::new(build::build(&alerts, context, problems)));
        Vec::new()
    }

    fn background(&self) -> Option<BackgroundWork> {
        Some(BackgroundWork {
            is_awaited: true,
            run: |context| Box::pin(worker::run(context)),
        })
    }

    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<AlertQueue>::default());
    }

    fn finding_listener(&self, shared: &FeatureTypeMap) -> Option<Arc<dyn FindingListener>> {
        Some(shared.get::<AlertQueue>())
    }

    fn admin_pages(&self) -> &'static [FeatureAdminPage] {
        PAGES
    }
}
