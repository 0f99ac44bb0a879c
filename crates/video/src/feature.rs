//! Video tasks: their mapping, their polls, and callbacks of and for them.

use crate::callbacks::{CallbackMetrics, CallbackQueue, background};
use crate::filter::{callbacks, map_task, receive_callback};
use crate::polls::{PollMetrics, TaskStatusFetcher};
use headgate_core::feature::background::BackgroundWork;
use headgate_core::feature::metrics::FeatureMetrics;
use headgate_core::feature::{Feature, FeatureValues};
use headgate_core::filter::descriptor::FilterDescriptor;
use prometheus::Registry;
use std::sync::Arc;

/// Video tasks: their mapping, their polls, and callbacks of and for them.
pub struct VideoFeature;

impl Feature for VideoFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[
            callbacks::DESCRIPTOR,
            map_task::DESCRIPTOR,
            receive_callback::DESCRIPTOR,
        ];
        FILTERS
    }

    fn background(&self) -> Option<BackgroundWork> {
        Some(BackgroundWork {
            name: "callback worker",
            is_awaited: true,
            run: |context| Box::pin(background::run(context)),
        })
    }

    fn add_shared_values(&self, values: &mut FeatureValues) {
        values.set(Arc::<TaskStatusFetcher>::default());
        values.set(Arc::<CallbackQueue>::default());
    }

    fn register_metrics(
        &self,
        registry: &Registry,
        shared: &FeatureValues,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        vec![
            Box::new(PollMetrics::new(registry, shared.get())),
            Box::new(CallbackMetrics::new(registry, shared.get())),
        ]
    }
}
