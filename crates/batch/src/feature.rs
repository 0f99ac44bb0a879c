//! Batches of requests.

use crate::filter::{check_batch, map_results, map_results_url, track_batches};
use headgate_core::feature::Feature;
use headgate_core::filter::descriptor::FilterDescriptor;

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
}
