//! A plugin as `plugins` of the configuration has it: started by filters, with their settings.

use super::grants::WithheldPartGrants;
use super::host_services::GatewayPluginHostServices;
use super::module::LoadedModule;
use super::running::PluginWithSettings;
use super::shared::SharedPluginState;
use bytes::Bytes;
use headgate_core::callout::CalloutService;
use headgate_wasm::PluginSettings;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The plugins of a configuration, by name; `None` for one whose declaration has an error.
#[derive(Default)]
pub struct PluginDefinitions(BTreeMap<Arc<str>, Option<PluginDefinition>>);

/// A compiled module with its limits and grants.
pub struct PluginDefinition {
    module: Arc<LoadedModule>,
    /// Without the configuration, which each filter has.
    settings: PluginSettings,
    services: BTreeMap<String, Arc<CalloutService>>,
    grants: Arc<WithheldPartGrants>,
    shared: Arc<SharedPluginState>,
    /// Whether a filter has started the plugin.
    is_used: AtomicBool,
}

impl PluginDefinitions {
    pub fn new(
        definitions: impl IntoIterator<Item = (Arc<str>, Option<PluginDefinition>)>,
    ) -> Self {
        Self(definitions.into_iter().collect())
    }

    /// The plugin that is declared by this name.
    pub fn get(&self, name: &str) -> Option<Option<&PluginDefinition>> {
        self.0.get(name).map(Option::as_ref)
    }

    /// The plugins whose declarations have no error.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &PluginDefinition)> {
        let plugins = self.0.iter();
        plugins.filter_map(|(name, plugin)| Some((&**name, plugin.as_ref()?)))
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
        grants: WithheldPartGrants,
        shared: Arc<SharedPluginState>,
    ) -> Self {
        Self {
            module,
            settings,
            services,
            grants: Arc::new(grants),
            shared,
            is_used: AtomicBool::new(false),
        }
    }

    /// What the plugin sees of messages beyond what every plugin sees.
    pub fn grants(&self) -> &Arc<WithheldPartGrants> {
        &self.grants
    }

    /// Whether a filter of the configuration runs the plugin. Valid when all routes are built.
    pub fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    /// The plugin with this configuration, started unless it runs already.
    ///
    /// # Errors
    /// Why the plugin does not start, as text for the operator.
    pub fn start(&self, configuration: Bytes) -> Result<Arc<PluginWithSettings>, String> {
        self.is_used.store(true, Ordering::Relaxed);
        let settings = PluginSettings {
            configuration,
            ..self.settings.clone()
        };
        let environment = GatewayPluginHostServices {
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
        // Hashed, since it may have secrets and be large.
        let configuration = Sha256::digest(&settings.configuration);
        let properties = &settings.properties;
        format!("{sha256} {configuration:x} {settings:?} {properties:?} {services:?}")
    }
}
