//! Batches of requests.

use crate::counters::{BatchCounters, BatchMetrics};
use crate::filter::{check_batch, map_results, map_results_url, track_batches};
use crate::poller;
use headgate_core::feature::background::BackgroundWork;
use headgate_core::feature::metrics::FeatureMetrics;
use headgate_core::feature::{Feature, FeatureTypeMap};
use headgate_core::filter::descriptor::FilterDescriptor;
use prometheus::Registry;
use std::sync::Arc;

/// Batches of requests.
pub struct BatchFeature;

impl Feature for BatchFeature {
    fn filters(&self) -> &'static [FilterDescriptor] {
        const FILTERS: &[FilterDescriptor] = &[
            check_batch::DESCRIPTOR,
            map_results::DESCRIPTOR,
            map_results_url::DESCRIPTOR,
            track_batches::DESCRIPTOR,
        ];
        FILTERS
    }

    fn background(&self) -> Option<BackgroundWork> {
        Some(BackgroundWork {
            is_awaited: false,
            run: |context| Box::pin(poller::run(context)),
        })
    }

    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<BatchCounters>::default());
    }

    fn register_metrics(
        &self,
        registry: &Registry,
        shared: &FeatureTypeMap,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        vec![Box::new(BatchMetrics::new(registry, shared.get()))]
    }
}
