//! Counts failures of plugins, before and after the counter is registered.

use headgate_wasm::PluginFailure;
use prometheus::{IntCounterVec, Opts};

/// Counts failures of plugins. Copies count the same failures.
#[derive(Clone)]
pub(super) struct PluginFailureCounter(pub(super) IntCounterVec);

impl PluginFailureCounter {
    /// Counts a failure of the plugin with this name.
    pub(super) fn count(&self, plugin: &str, failure: &PluginFailure) {
        let labels = [plugin, failure.label()];
        self.0.with_label_values(&labels).inc();
    }
}

impl Default for PluginFailureCounter {
    fn default() -> Self {
        let opts = Opts::new(
            "headgate_plugin_failures_total",
            "Failures of plugins, by reason.",
        );
        let counter = IntCounterVec::new(opts, &["plugin", "reason"]);
        Self(counter.expect("names and labels are constants"))
    }
}
