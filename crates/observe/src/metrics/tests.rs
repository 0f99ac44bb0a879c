//! Tests of metrics that features bring.

use super::Metrics;
use headgate_core::feature::metrics::{FeatureMetrics, raise, registered};
use headgate_core::feature::{Feature, FeatureList, FeatureTypeMap};
use headgate_core::state::StateStore;
use headgate_core::state::memory::MemoryStore;
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, Registry};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A feature that keeps its count in a shared value.
struct CoffeeFeature;

#[derive(Default)]
struct CoffeeCount(AtomicU64);

struct CoffeeMetrics {
    count: Arc<CoffeeCount>,
    cups: IntCounter,
}

impl Feature for CoffeeFeature {
    fn add_shared_values(&self, values: &mut FeatureTypeMap) {
        values.set(Arc::<CoffeeCount>::default());
    }

    fn register_metrics(
        &self,
        registry: &Registry,
        shared: &FeatureTypeMap,
    ) -> Vec<Box<dyn FeatureMetrics>> {
        vec![Box::new(CoffeeMetrics {
            count: shared.get(),
            cups: registered(registry, IntCounter::new("coffee_cups_total", "Cups.")),
        })]
    }
}

impl FeatureMetrics for CoffeeMetrics {
    fn update(&self) {
        raise(&self.cups, self.count.0.load(Ordering::Relaxed));
    }

    fn fault_counters(&self) -> Vec<MetricFamily> {
        self.cups.collect()
    }

    fn text(&self) -> String {
        "coffee_of_plugins 7\n".to_owned()
    }
}

#[test]
fn metrics_of_features_are_current_whenever_they_are_read() {
    let features = FeatureList::new(&[&CoffeeFeature]);
    let shared = features.shared_values();
    let metrics = Metrics::new(features, &shared);
    let count = shared.get::<CoffeeCount>();

    count.0.store(3, Ordering::Relaxed);
    let counters = metrics.fault_counters();
    let mut cups = counters.iter();
    let cups = cups.find(|counter| counter.metric == "coffee_cups_total");
    assert_eq!(cups.map(|counter| counter.value), Some(3.0));

    count.0.store(5, Ordering::Relaxed);
    let page = metrics.render(0, &MemoryStore::default().health());
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("\ncoffee_cups_total 5\n"), "{page}");
    assert!(page.ends_with("\ncoffee_of_plugins 7\n"), "{page}");
    assert_eq!(page.matches("# HELP coffee_cups_total Cups.\n").count(), 1);
}
