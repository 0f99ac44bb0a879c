//! The filters of this feature.

pub mod check_batch;
pub mod map_results;
pub mod map_results_url;
pub mod track_batches;
