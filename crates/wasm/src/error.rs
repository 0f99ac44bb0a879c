//! Why a module is refused, a plugin does not start, or a call into it fails.

use std::time::Duration;

use thiserror::Error;

use crate::callback::PluginCallback;

/// Why the host cannot be built.
#[derive(Debug, Error)]
#[error("the plugin engine cannot be started: {0}")]
pub struct PluginHostBuildError(pub(crate) String);

/// Why a module is refused.
#[derive(Debug, Error)]
pub enum PluginModuleError {
    #[error("the module has the SHA-256 {found}, and not the SHA-256 {expected}")]
    Hash { expected: String, found: String },
    #[error("`{0}` is not a SHA-256: expected 64 hexadecimal digits")]
    Pin(String),
    #[error("not a WebAssembly module: {0}")]
    Invalid(String),
    /// Everything of the module's interface that does not fit, one entry each.
    #[error("not a Proxy-Wasm 0.2 plugin: {}", .0.join("; "))]
    Interface(Vec<String>),
}

/// Why a plugin does not start with its configuration.
#[derive(Debug, Error)]
pub enum PluginStartError {
    #[error("the limit `{limit}` must be {expected}")]
    Limit {
        limit: &'static str,
        expected: String,
    },
    #[error("no instance can be made: {0}")]
    Instance(String),
    /// The plugin's own log has the reason.
    #[error("the plugin refused to start (`proxy_on_vm_start` returned false)")]
    VmRefused,
    /// The plugin's own log has the reason.
    #[error("the plugin refused its configuration (`proxy_on_configure` returned false)")]
    ConfigurationRefused,
    #[error(transparent)]
    Call(#[from] PluginFailure),
}

/// Why a plugin has no result for a stream. The stream gets no more callbacks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PluginFailure {
    /// The plugin trapped: out of bounds, out of stack, `unreachable`, an allocation of its own that is unusable.
    #[error("trap in {callback}: {reason}")]
    Trap {
        callback: PluginCallback,
        reason: String,
    },
    #[error("{callback} exceeded its {limit:?} of processor time")]
    Time {
        callback: PluginCallback,
        limit: Duration,
    },
    #[error("the plugin paused the stream for more than {limit:?}")]
    Pause { limit: Duration },
    #[error("the body exceeds the {limit} bytes that are held for the plugin")]
    Body { limit: usize },
    /// Another stream's call trapped in the instance that the two shared, or this stream already failed.
    #[error("the instance of this stream is gone")]
    InstanceLost,
    /// The plugin trapped repeatedly, or cannot be started again.
    #[error("the plugin is disabled for {retry_after:?} after repeated failures")]
    Disabled { retry_after: Duration },
    /// The plugin needed more memory than the limit of all instances together left.
    #[error("the instances of all plugins have the {limit} bytes that they may have together")]
    Memory { limit: usize },
    #[error("no instance can be made: {0}")]
    Instance(String),
}

impl PluginFailure {
    /// A word for metrics and log fields.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Trap { .. } => "trap",
            Self::Time { .. } => "time",
            Self::Pause { .. } => "pause",
            Self::Body { .. } => "body",
            Self::InstanceLost => "instance_lost",
            Self::Disabled { .. } => "disabled",
            Self::Memory { .. } => "memory",
            Self::Instance(_) => "instance",
        }
    }

    /// Whether the instance cannot be used again.
    pub(crate) fn poisons(&self) -> bool {
        matches!(
            self,
            Self::Trap { .. } | Self::Time { .. } | Self::Memory { .. }
        )
    }

    /// Whether the plugin itself is at fault, so that it is disabled if it happens again and again.
    pub(crate) fn is_plugins_fault(&self) -> bool {
        !matches!(self, Self::Memory { .. })
    }
}
