//! Labels of collected metrics.

use prometheus::proto::Metric;

/// The value of a label; empty if the metric does not have it.
pub(super) fn label<'m>(metric: &'m Metric, name: &str) -> &'m str {
    let mut labels = metric.get_label().iter();
    let label = labels.find(|label| label.name() == name);
    label.map_or("", |label| label.value())
}
