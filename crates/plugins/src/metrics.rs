//! Metrics of plugins: their failures, and what their instances take.

use super::custom_metrics;
use super::failure_counter::PluginFailureCounter;
use super::running::PluginWithSettings;
use super::shared::SharedPluginState;
use headgate_core::feature::metrics::{FeatureMetrics, registered};
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntGaugeVec, Opts, Registry};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Failures of plugins, and the state of those in use.
pub(super) struct PluginMetrics {
    plugins: Arc<SharedPluginState>,
    failures: PluginFailureCounter,
    gauges: [IntGaugeVec; 4],
    /// What the gauges show.
    shown: Mutex<PluginStates>,
}

/// The values of the gauges, by the name of the plugin.
type PluginStates = BTreeMap<String, [i64; 4]>;

impl PluginMetrics {
    pub(super) fn new(registry: &Registry, plugins: Arc<SharedPluginState>) -> Self {
        let gauge = |name: &str, help: &str| {
            registered(
                registry,
                IntGaugeVec::new(Opts::new(name, help), &["plugin"]),
            )
        };
        let failures = plugins.failures().clone();
        Self {
            plugins,
            failures: PluginFailureCounter(registered(registry, Ok(failures.0))),
            gauges: [
                gauge(
                    "headgate_plugin_instances",
                    "Instances of a plugin that take requests.",
                ),
                gauge(
                    "headgate_plugin_memory_bytes",
                    "Memory of all instances of a plugin, in bytes.",
                ),
                gauge(
                    "headgate_plugin_disabled",
                    "1 while a plugin is disabled after repeated failures, else 0.",
                ),
                gauge(
                    "headgate_plugin_dropped_log_lines",
                    "Log lines of a plugin over its limit, since it was started.",
                ),
            ],
            shown: Mutex::default(),
        }
    }

    /// Shows these states, and no other plugins. A gauge that stays is never absent in between.
    fn show(&self, states: PluginStates) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = shown.keys().filter(|name| !states.contains_key(*name));
        for (name, gauge) in unused.flat_map(|name| self.gauges.iter().map(move |one| (name, one)))
        {
            // Only plugins that it shows are removed.
            let _ = gauge.remove_label_values(&[name]);
        }
        for (name, values) in &states {
            for (gauge, value) in self.gauges.iter().zip(values) {
                gauge.with_label_values(&[name]).set(*value);
            }
        }
        *shown = states;
    }
}

impl FeatureMetrics for PluginMetrics {
    fn update(&self) {
        self.show(states(&self.plugins.in_use()));
    }

    fn fault_counters(&self) -> Vec<MetricFamily> {
        self.failures.0.collect()
    }

    fn text(&self) -> String {
        custom_metrics::render(&self.plugins.in_use())
    }
}

/// The states of these plugins. One that runs with several configurations has their sums.
fn states(plugins: &[Arc<PluginWithSettings>]) -> PluginStates {
    let mut states = PluginStates::new();
    for plugin in plugins {
        let status = plugin.status();
        let dropped = usize::try_from(status.dropped_log_lines);
        let values = [
            status.instances,
            status.memory,
            usize::from(status.disabled_for.is_some()),
            dropped.unwrap_or(usize::MAX),
        ];
        let sums = states.entry(plugin.name().to_owned()).or_default();
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum = sum.saturating_add(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_wasm::PluginFailure;
    use prometheus::TextEncoder;

    #[test]
    fn only_plugins_in_use_have_gauges() {
        let registry = Registry::new();
        let metrics = PluginMetrics::new(&registry, Arc::default());
        let instances = |states: &[(&str, [i64; 4])]| {
            let states = states.iter();
            metrics.show(
                states
                    .map(|(name, values)| ((*name).to_owned(), *values))
                    .collect(),
            );
            let text = TextEncoder::new().encode_to_string(&registry.gather());
            let text = text.unwrap();
            let lines = text.lines();
            let lines = lines.filter(|line| line.starts_with("headgate_plugin_instances{"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            instances(&[("a", [2, 0, 0, 0]), ("b", [1, 0, 1, 0])]),
            [
                r#"headgate_plugin_instances{plugin="a"} 2"#,
                r#"headgate_plugin_instances{plugin="b"} 1"#,
            ]
        );
        assert_eq!(
            instances(&[("b", [3, 0, 0, 0])]),
            [r#"headgate_plugin_instances{plugin="b"} 3"#]
        );
        assert_eq!(instances(&[]), Vec::<String>::new());
    }

    #[test]
    fn failures_before_the_registration_are_counted_too() {
        let plugins = Arc::<SharedPluginState>::default();
        plugins.failures().count("a", &PluginFailure::InstanceLost);
        let metrics = PluginMetrics::new(&Registry::new(), plugins.clone());
        plugins.failures().count("a", &PluginFailure::InstanceLost);
        let families = metrics.fault_counters();
        assert_eq!(families[0].get_metric()[0].get_counter().get_value(), 2.0);
    }
}
