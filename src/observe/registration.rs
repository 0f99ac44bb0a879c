//! How every metric is registered, and how a counter follows a count that is kept elsewhere.

use prometheus::core::Collector;
use prometheus::{IntCounter, Registry};

/// Brings a counter to what somebody else has counted.
pub(super) fn raise(counter: &IntCounter, count: u64) {
    counter.inc_by(count.saturating_sub(counter.get()));
}

/// A metric that the registry knows from now on.
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
