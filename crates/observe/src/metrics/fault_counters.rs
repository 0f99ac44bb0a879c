//! The counters that findings are made of, independent of the library that counts.

use super::Metrics;
use prometheus::core::Collector;
use prometheus::proto::{Metric, MetricFamily};

/// A counter as it is now.
#[derive(Clone, Debug)]
pub struct FaultCounterSample {
    /// The name of the metric.
    pub metric: String,
    /// Names and values of the labels.
    pub labels: Vec<(String, String)>,
    pub value: f64,
}

impl FaultCounterSample {
    fn new(family: &MetricFamily, metric: &Metric) -> Self {
        let labels = metric.get_label().iter();
        Self {
            metric: family.name().to_owned(),
            labels: labels
                .map(|label| (label.name().to_owned(), label.value().to_owned()))
                .collect(),
            value: metric.get_counter().get_value(),
        }
    }

    /// The value of a label; empty if the counter does not have it.
    pub fn label(&self, name: &str) -> &str {
        let mut labels = self.labels.iter();
        let label = labels.find(|(label, _)| label == name);
        label.map_or("", |(_, value)| value)
    }
}

impl Metrics {
    /// The counters of faults as they are now, which findings are made of. Far fewer series than all metrics.
    pub fn fault_counters(&self) -> Vec<FaultCounterSample> {
        self.update_features();
        self.flush();
        let own: [&dyn Collector; 3] =
            [&self.settlements, &self.dns_lookups, &self.limits_unchecked];
        let mut families: Vec<MetricFamily> = self.attempts.collect();
        families.extend(own.iter().flat_map(|one| one.collect()));
        families.extend(self.channels.fault_counters());
        families.extend(self.costs.fault_counters());
        families.extend(self.creates.fault_counters());
        families.extend(self.services.fault_counters());
        families.extend(self.features.iter().flat_map(|one| one.fault_counters()));
        let counters = families.iter().flat_map(|family| {
            let metrics = family.get_metric().iter();
            metrics.map(move |metric| FaultCounterSample::new(family, metric))
        });
        counters.collect()
    }
}
