//! Video tasks: their mapping, their polls, and callbacks of and for them.

use crate::callbacks::published_keys::PublishedKeyCache;
use crate::callbacks::refusal_log::RefusalLog;
use crate::callbacks::{CallbackMetrics, CallbackWorkerQueue, admin_page, background, findings};
use crate::costs::{TaskCostChanges, TaskCostMetrics};
use crate::filter::{callbacks, convert_videos, map_task, receive_callback};
use crate::polls::findings::QUERY_LIMIT;
use crate::polls::{PollMetrics, TaskStatusFetcher};
use headgate_core::feature::background::BackgroundWork;
use headgate_core::feature::findings::FeatureFindingDefinitions;
use headgate_core::feature::metrics::FeatureMetrics;
use headgate_core::feature::pages::FeatureAdminPage;
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::filter::descriptor::FilterDescriptor;
use headgate_core::task::state::TaskState;
use prometheus::Registry;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Instant;

/// Video tasks: their mapping, their polls, and callbacks of and for them.
pub struct VideoFeature;

impl Feature for VideoFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[
            callbacks::DESCRIPTOR,
            convert_videos::DESCRIPTOR,
            map_task::DESCRIPTOR,
            receive_callback::DESCRIPTOR,
        ];
        FILTERS
    }

    fn background(&self) -> Option<BackgroundWork> {
        Some(BackgroundWork {
            is_awaited: true,
            run: |context| Box::pin(background::run(context)),
        })
    }

    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<TaskStatusFetcher>::default());
        values.set(Arc::<CallbackWorkerQueue>::default());
        values.set(Arc::<TaskCostChanges>::default());
        values.set(Arc::<PublishedKeyCache>::default());
        values.set(Arc::<RefusalLog>::default());
    }

    fn register_metrics(
        &self,
        registry: &Registry,
        shared: &FeatureTypeMap,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        vec![
            Box::new(PollMetrics::new(registry, shared.get())),
            Box::new(CallbackMetrics::new(registry, shared.get())),
            Box::new(TaskCostMetrics(shared.get())),
        ]
    }

    fn admin_pages(&self) -> &'static [FeatureAdminPage] {
        admin_page::PAGES
    }

    fn findings(&self) -> FeatureFindingDefinitions {
        FeatureFindingDefinitions {
            sources: &[
                findings::DEAD_LETTERS,
                findings::FAILING_RECEIVERS,
                findings::LATE_DELIVERIES,
            ],
            rules: &[
                QUERY_LIMIT,
                findings::EVENTS_LOST,
                findings::UNKNOWN_CALLBACKS,
                findings::REFUSED_CALLBACKS,
                findings::CALLBACKS_WITHOUT_KEYS,
            ],
            refusing: &[],
        }
    }

    /// Events by what became of them, and the tasks that this process has seen, by their last known state.
    fn add_overview(&self, values: &FeatureTypeMap, overview: &mut Map<String, Value>) {
        let events = values.get::<CallbackWorkerQueue>().counters().totals();
        let events = json!({"pending": events.pending, "dead": events.dead});
        overview.insert("callbacks".into(), events);
        let polls = values.get::<TaskStatusFetcher>();
        let counts = polls.states().counts(Instant::now());
        let states = TaskState::ALL.into_iter().zip(counts);
        let states = states.map(|(state, count)| (state.name().to_owned(), json!(count)));
        overview.insert("tasks".into(), states.collect());
    }
}
