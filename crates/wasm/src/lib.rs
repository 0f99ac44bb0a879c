//! A host of Proxy-Wasm 0.2 plugins: sandboxed, limited in memory and time, and without knowledge of a gateway.
//!
//! - One [`PluginHost`] for each process holds the engine and the clock of the time limits.
//! - A [`PluginModule`] is compiled code whose interface was checked. Load it away from requests.
//! - A [`Plugin`] is a module with a configuration, started; it owns instances and divides streams between them.
//! - A [`PluginStream`] is one HTTP exchange within a plugin. Each of its methods is one callback of the ABI, to which
//!   the exchange's data is lent as a [`LentExchange`].
//! - A [`PluginHostServices`] is what the program around the plugins implements: a log and HTTP calls.
//!
//! A plugin runs on a fiber inside the future of the call: it yields to the runtime at least every millisecond, and
//! traps when the time of its callback is used up. A call that has begun completes even if its future is dropped, so
//! that callers who disconnect cannot ruin an instance. All futures must be polled within a tokio runtime.

#![deny(unsafe_code)]

mod abi;
mod abi_status;
mod callback;
mod error;
mod exchange;
mod guest;
mod guest_state;
mod host;
mod host_services;
mod instance;
mod instance_pool;
mod log_budget;
mod memory_budget;
mod metric_table;
mod module;
mod plugin;
mod plugin_resources;
mod settings;
mod shared_store;
mod stream;
mod ticker;
mod trap_breaker;

pub use callback::PluginCallback;
pub use error::{PluginFailure, PluginHostBuildError, PluginModuleError, PluginStartError};
pub use exchange::{
    LentExchange, PluginBodyAction, PluginReply, PluginRequestHead, PluginResponseHead,
    PluginStreamAction, PropertySource, PropertyValue,
};
pub use host::PluginHost;
pub use host_services::{
    PluginHostServices, PluginHttpCall, PluginHttpFuture, PluginHttpResponse, PluginLogLevel,
};
pub use metric_table::{MetricKind, MetricSample, MetricValue};
pub use module::PluginModule;
pub use plugin::{Plugin, PluginStatus};
pub use settings::{
    PluginCpuTimeLimits, PluginGrants, PluginHostSettings, PluginLimits, PluginModuleSettings,
    PluginSettings,
};
pub use stream::PluginStream;

#[cfg(test)]
mod tests;
