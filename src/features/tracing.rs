//! Traces of exchanges for OpenTelemetry.

use crate::feature::{Feature, FeatureValues};
use crate::telemetry::TraceQueue;
use std::sync::Arc;

/// Traces of exchanges for OpenTelemetry.
pub struct TracingFeature;

impl Feature for TracingFeature {
    fn add_shared_values(&self, values: &mut FeatureValues) {
        values.set(Arc::<TraceQueue>::default());
    }
}
