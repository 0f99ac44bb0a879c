//! A compiled module with the engine that it was made for.

use super::runtime::PluginBackgroundRuntime;
use headgate_wasm::{PluginHost, PluginModule};
use std::sync::Arc;

/// A module that definitions and started plugins hold.
pub struct LoadedModule {
    pub module: PluginModule,
    pub(super) engine: Arc<PluginEngine>,
}

/// The engine, and the thread for what plugins do beside requests.
pub(super) struct PluginEngine {
    pub host: PluginHost,
    pub runtime: PluginBackgroundRuntime,
}
