//! Metrics of plugins: their failures, and what their instances take.

use super::registration::registered;
use headgate_plugins::{PluginFailure, PluginRecorder, RunningPlugin};
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};
use std::sync::Arc;

/// Failures of plugins, and the state of those in use.
pub struct PluginMetrics {
    failures: IntCounterVec,
    instances: IntGaugeVec,
    memory: IntGaugeVec,
    disabled: IntGaugeVec,
    dropped_lines: IntGaugeVec,
}

impl PluginMetrics {
    /// The counters that findings are made of.
    pub(super) fn fault_counters(&self) -> Vec<MetricFamily> {
        self.failures.collect()
    }

    pub fn new(registry: &Registry) -> Self {
        let gauge = |name: &str, help: &str| {
            registered(
                registry,
                IntGaugeVec::new(Opts::new(name, help), &["plugin"]),
            )
        };
        Self {
            failures: registered(
                registry,
                IntCounterVec::new(
                    Opts::new(
                        "headgate_plugin_failures_total",
                        "Failures of plugins, by reason.",
                    ),
                    &["plugin", "reason"],
                ),
            ),
            instances: gauge(
                "headgate_plugin_instances",
                "Instances of a plugin that take requests.",
            ),
            memory: gauge(
                "headgate_plugin_memory_bytes",
                "Memory of all instances of a plugin, in bytes.",
            ),
            disabled: gauge(
                "headgate_plugin_disabled",
                "1 while a plugin is disabled after repeated failures, else 0.",
            ),
            dropped_lines: gauge(
                "headgate_plugin_dropped_log_lines",
                "Log lines of a plugin over its limit, since it was started.",
            ),
        }
    }

    /// Sets the state of these plugins. One that runs with several configurations has their sums.
    pub fn update(&self, plugins: &[Arc<RunningPlugin>]) {
        for gauge in [
            &self.instances,
            &self.memory,
            &self.disabled,
            &self.dropped_lines,
        ] {
            gauge.reset();
        }
        for plugin in plugins {
            let (name, status) = ([plugin.name()], plugin.status());
            let add = |gauge: &IntGaugeVec, value: usize| {
                let value = i64::try_from(value).unwrap_or(i64::MAX);
                gauge.with_label_values(&name).add(value);
            };
            add(&self.instances, status.instances);
            add(&self.memory, status.memory);
            add(&self.disabled, usize::from(status.disabled_for.is_some()));
            let dropped = usize::try_from(status.dropped_log_lines);
            add(&self.dropped_lines, dropped.unwrap_or(usize::MAX));
        }
    }
}

impl PluginRecorder for PluginMetrics {
    fn record_failure(&self, plugin: &str, failure: &PluginFailure) {
        let labels = [plugin, failure.label()];
        self.failures.with_label_values(&labels).inc();
    }
}
