//! Plugins of a configuration: WebAssembly modules, which filters start with their settings.
//!
//! Compiled modules and started plugins outlive snapshots, as long as their settings are the same.

mod build;
mod config;
mod custom_metrics;
mod definition;
mod failure_counter;
pub mod feature;
pub mod filter;
mod findings;
mod grants;
mod host_services;
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
    LentExchange, PluginBodyAction, PluginCallback, PluginCpuTimeLimits, PluginFailure,
    PluginGrants, PluginLimits, PluginLogLevel, PluginReply, PluginRequestHead, PluginResponseHead,
    PluginSettings, PluginStream, PluginStreamAction, PropertyValue,
};
pub use ignored_edit::{IgnoredEdit, LoggedIgnoredEdits};
pub use properties::ExchangeProperties;
pub use running::PluginWithSettings;
pub use shared::SharedPluginState;
