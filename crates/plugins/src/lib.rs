//! Plugins of a configuration: WebAssembly modules, which filters start with their settings.
//!
//! Compiled modules and started plugins outlive snapshots, as long as their settings are the same.

mod build;
mod config;
mod custom_metrics;
mod definition;
mod environment;
mod failure_counter;
pub mod feature;
pub mod filter;
mod findings;
mod grants;
mod ignored_edit;
mod metrics;
mod module;
mod properties;
mod running;
mod runtime;
mod shared;

pub use definition::{PluginDefinition, PluginDefinitions};
pub use grants::WithheldPartGrants;
pub use headgate_wasm::{
    ExchangeData, PluginBodyStep, PluginCallback, PluginCpuTimeLimits, PluginFailure, PluginGrants,
    PluginLimits, PluginLogLevel, PluginReply, PluginRequestHead, PluginResponseHead,
    PluginSettings, PluginStep, PluginStream, PropertyValue,
};
pub use ignored_edit::{IgnoredEdit, IgnoredEditLog};
pub use properties::ExchangeProperties;
pub use running::RunningPlugin;
pub use shared::SharedPlugins;
