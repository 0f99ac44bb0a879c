//! A started plugin as filters use it.

use super::failure_counter::PluginFailureCounter;
use super::ignored_edit::{IgnoredEdit, LoggedIgnoredEdits};
use super::module::LoadedModule;
use headgate_wasm::{
    LentExchange, MetricSample, Plugin, PluginCallback, PluginFailure, PluginStatus, PluginStream,
};
use std::sync::Arc;
use std::task::{Context, Waker};

/// A plugin that was started with the settings of a filter. Its instances end when the last filter and the last stream
/// are gone.
pub struct PluginWithSettings {
    plugin: Plugin,
    module: Arc<LoadedModule>,
    failures: PluginFailureCounter,
    ignored_edits: LoggedIgnoredEdits,
}

impl PluginWithSettings {
    pub(super) fn new(
        plugin: Plugin,
        module: Arc<LoadedModule>,
        failures: PluginFailureCounter,
    ) -> Self {
        Self {
            plugin,
            module,
            failures,
            ignored_edits: LoggedIgnoredEdits::default(),
        }
    }

    pub fn name(&self) -> &str {
        self.plugin.name()
    }

    /// Largest body that the plugin is given, in bytes.
    pub fn body_limit(&self) -> usize {
        self.plugin.body_limit()
    }

    pub fn exports(&self, callback: PluginCallback) -> bool {
        self.plugin.exports(callback)
    }

    pub fn status(&self) -> PluginStatus {
        self.plugin.status()
    }

    /// The metrics that the plugin defined, over all its instances.
    pub fn metrics(&self) -> Vec<MetricSample> {
        self.plugin.metrics()
    }

    /// Begins an exchange.
    ///
    /// # Errors
    /// The plugin is disabled after repeated failures, or no instance can be made.
    pub async fn open_stream(&self) -> Result<PluginStream, PluginFailure> {
        self.plugin.open_stream().await
    }

    /// Has the plugin end its part of an exchange. What takes more than a millisecond, or waits for the instance, goes on
    /// in the background.
    pub fn finish(&self, stream: PluginStream, mut exchange: LentExchange) {
        let plugin = self.plugin.clone();
        let failures = self.failures.clone();
        let mut end = Box::pin(async move {
            if let Err(failure) = stream.finish(&mut exchange).await {
                record(plugin.name(), &failures, &failure);
            }
        });
        // Waking another thread costs more than most plugins take here.
        let mut context = Context::from_waker(Waker::noop());
        if end.as_mut().poll(&mut context).is_pending() {
            self.module.engine.runtime.handle().spawn(end);
        }
    }

    /// Logs a change that the gateway does not take over, the first of its kind.
    pub fn report_ignored(&self, edit: IgnoredEdit) {
        if self.ignored_edits.is_first(edit) {
            let plugin = self.name();
            tracing::warn!(
                plugin,
                edit = edit.describe(),
                "edit of a plugin has no effect"
            );
        }
    }

    /// Counts and logs a failure of a callback.
    pub fn record_failure(&self, failure: &PluginFailure) {
        record(self.name(), &self.failures, failure);
    }
}

fn record(plugin: &str, failures: &PluginFailureCounter, failure: &PluginFailure) {
    failures.count(plugin, failure);
    tracing::warn!(plugin, error = %failure, "plugin failed");
}
