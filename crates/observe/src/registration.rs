//! Registers metrics, and lets a counter follow a count that is kept elsewhere.

use prometheus::core::Collector;
use prometheus::{IntCounter, Registry};

/// Raises a counter to `count`.
pub(super) fn raise(counter: &IntCounter, count: u64) {
    counter.inc_by(count.saturating_sub(counter.get()));
}

/// Registers a metric and returns it.
pub(super) fn registered<C: Collector + Clone + 'static>(
    registry: &Registry,
    metric: prometheus::Result<C>,
) -> C {
    let metric = metric.expect("names and labels are constants");
    registry
        .register(Box::new(metric.clone()))
        .expect("each metric is registered once");
    metric
}
