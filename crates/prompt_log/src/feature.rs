//! The log of prompts.

use crate::config::PromptLogsSection;
use crate::filter::log_prompts;
use crate::findings::FINDINGS;
use crate::metrics::PromptLogMetrics;
use crate::queue::PromptQueues;
use crate::sink::PromptSinks;
use crate::{build, worker};
use headgate_bucket::BucketClientSlot;
use headgate_core::feature::background::BackgroundWork;
use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::feature::metrics::FeatureMetrics;
use headgate_core::feature::section::{
    ConfigProblemSink, FeatureSectionSchema, SectionBuildContext,
};
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::filter::descriptor::{FilterDescriptor, settings_schema};
use headgate_core::outgoing::OutgoingClients;
use headgate_core::pointer;
use prometheus::Registry;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The log of prompts.
pub struct PromptLogFeature;

/// The client for the buckets of this feature.
#[derive(Default)]
struct PromptBucketClient(Arc<BucketClientSlot>);

impl Feature for PromptLogFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[log_prompts::DESCRIPTOR];
        FILTERS
    }

    fn sections(&self) -> Option<FeatureSectionSchema> {
        Some(FeatureSectionSchema {
            keys: &["prompt_logs"],
            schema: settings_schema::<PromptLogsSection>,
        })
    }

    fn build_sections(
        &self,
        context: &SectionBuildContext<'_>,
        built: &mut FeatureTypeMap,
        problems: &mut dyn ConfigProblemSink,
    ) -> Vec<PathBuf> {
        let PromptLogsSection { prompt_logs } = context.read(problems).unwrap_or_default();
        let client = built.get::<PromptBucketClient>();
        let sinks = build::build(&prompt_logs, context, &client.0, problems);
        built.set(Arc::new(sinks));
        Vec::new()
    }

    fn check_use(&self, built: &FeatureTypeMap, problems: &mut dyn ConfigProblemSink) {
        for (name, sink) in &built.get::<PromptSinks>().by_name {
            if !sink.is_used.load(Ordering::Relaxed) {
                let at = pointer::child("/prompt_logs", name);
                let reason =
                    format!("nothing is stored in `{name}`: no route has `log_prompts` with it");
                problems.warning(&at, reason, None);
            }
        }
    }

    fn adopt(&self, built: &FeatureTypeMap) {
        let sinks = built.get::<PromptSinks>();
        built.get::<PromptQueues>().adopt(&sinks.by_name);
    }

    fn connect(&self, shared: &FeatureTypeMap, clients: &OutgoingClients) {
        let slot = shared.get::<PromptBucketClient>();
        slot.0.set(clients.buckets.clone());
    }

    fn background(&self) -> Option<BackgroundWork> {
        Some(BackgroundWork {
            is_awaited: true,
            run: |context| Box::pin(worker::run(context)),
        })
    }

    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<PromptQueues>::default());
        values.set(Arc::<PromptBucketClient>::default());
    }

    fn register_metrics(
        &self,
        registry: &Registry,
        shared: &FeatureTypeMap,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        vec![Box::new(PromptLogMetrics::new(registry, shared.get()))]
    }

    fn findings(&self) -> FeatureFindingDefinitions {
        FINDINGS
    }
}
