//! A plugin as `plugins` of the configuration has it: started by filters, with their settings.

use super::environment::GatewayPluginEnvironment;
use super::module::LoadedModule;
use super::running::RunningPlugin;
use super::shared::SharedPlugins;
use crate::callout::CalloutService;
use bytes::Bytes;
use headgate_wasm::PluginSettings;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The plugins of a configuration, by name.
#[derive(Default)]
pub struct PluginDefinitions(BTreeMap<Arc<str>, PluginDefinition>);

/// A compiled module with its limits and grants.
pub struct PluginDefinition {
    module: Arc<LoadedModule>,
    /// Without the configuration, which each filter has.
    settings: PluginSettings,
    services: BTreeMap<String, Arc<CalloutService>>,
    shared: Arc<SharedPlugins>,
}

impl PluginDefinitions {
    pub fn new(definitions: impl IntoIterator<Item = (Arc<str>, PluginDefinition)>) -> Self {
        Self(definitions.into_iter().collect())
    }

    pub fn get(&self, name: &str) -> Option<&PluginDefinition> {
        self.0.get(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|name| &**name)
    }
}

impl PluginDefinition {
    pub fn new(
        module: Arc<LoadedModule>,
        settings: PluginSettings,
        services: BTreeMap<String, Arc<CalloutService>>,
        shared: Arc<SharedPlugins>,
    ) -> Self {
        Self {
            module,
            settings,
            services,
            shared,
        }
    }

    /// The plugin with this configuration, started unless it runs already.
    ///
    /// # Errors
    /// Why the plugin does not start, in words for the operator.
    pub fn start(&self, configuration: Bytes) -> Result<Arc<RunningPlugin>, String> {
        let settings = PluginSettings {
            configuration,
            ..self.settings.clone()
        };
        let environment = GatewayPluginEnvironment {
            services: self.services.clone(),
        };
        let key = self.key(&settings);
        self.shared
            .start(&key, &self.module, settings, Arc::new(environment))
    }

    /// All that a started plugin depends on.
    fn key(&self, settings: &PluginSettings) -> String {
        let services = self.services.values();
        let services: Vec<u64> = services.map(|service| service.fingerprint()).collect();
        let sha256 = self.module.module.sha256();
        format!("{sha256} {settings:?} {services:?}")
    }
}
