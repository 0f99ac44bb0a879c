//! Traces of exchanges for OpenTelemetry.

use crate::TraceQueue;
use headgate_core::feature::{Feature, FeatureValues};
use std::sync::Arc;

/// Traces of exchanges for OpenTelemetry.
pub struct TracingFeature;

impl Feature for TracingFeature {
    fn add_shared_values(&self, values: &mut FeatureValues) {
        values.set(Arc::<TraceQueue>::default());
    }
}
