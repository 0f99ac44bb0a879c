//! What an operator sets for plugins: limits, grants, sizes of pools.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderName;

use crate::exchange::PropertyValue;
use crate::host_services::PluginLogLevel;

/// Elements of a table of an instance.
pub(crate) const TABLE_ELEMENTS_MAX: usize = 100_000;

/// Sizes that all plugins of the process share.
#[derive(Clone, Debug)]
pub struct PluginHostSettings {
    /// Instances of all plugins together, those that drain after a reload included. Each reserves address space, not
    /// memory. From 1; 512 by default.
    pub instances: u32,
    /// Largest memory that [`PluginLimits::memory`] may name, in bytes; 1 GiB by default.
    pub memory: usize,
    /// Memory of all instances of all plugins together, in bytes; 512 MiB by default. Growth beyond it is refused.
    pub memory_total: usize,
    /// Stack of a call into a plugin, in bytes; 512 KiB by default. A plugin that recurses deeper traps.
    pub stack: usize,
}

/// What a module may use.
#[derive(Clone, Debug)]
pub struct PluginLimits {
    /// Memory of one instance, in bytes; 64 MiB by default. Growth beyond it is refused.
    pub memory: usize,
    /// An instance whose memory has grown to this takes no new streams, since the memory of a plugin never shrinks.
    /// Three quarters of `memory` by default.
    pub recycle: usize,
    /// Processor time of each callback.
    pub time: PluginCpuTimeLimits,
    /// The longest that a stream waits for a plugin that paused it; 30 s by default.
    pub pause: Duration,
    /// Bytes of a body, or of an event, that are held for a plugin; 4 MiB by default. Also the largest body that a
    /// plugin may write, and the largest response to its HTTP calls.
    pub body: usize,
    /// Bytes that a plugin may log in a second; 64 KiB by default. Other lines are dropped and counted.
    pub log: u32,
    /// Headers of one map after a plugin's change; at most 4096, 256 by default.
    pub headers: usize,
    /// Bytes of one map of headers after a plugin's change; 64 KiB by default.
    pub header_bytes: usize,
    /// HTTP calls of a plugin whose response it has yet to take, over all its instances; 64 by default.
    pub http_calls: usize,
    /// The longest that an HTTP call may take, whatever the plugin asks for; 10 s by default.
    pub http_call_time: Duration,
    /// Bytes of the shared data and queues of a plugin; 4 MiB by default.
    pub shared: usize,
    /// Metrics that a plugin may define; 100 by default.
    pub metrics: usize,
}

/// Processor time of callbacks, counted in milliseconds in which the plugin ran, not in those in which others did.
#[derive(Clone, Copy, Debug)]
pub struct PluginCpuTimeLimits {
    /// Start of an instance and its configuration; 1 s by default.
    pub start: Duration,
    /// Headers and trailers; 20 ms by default.
    pub headers: Duration,
    /// A body, or a piece of it; 200 ms by default.
    pub body: Duration,
    /// One event of a stream; 5 ms by default.
    pub event: Duration,
    /// Everything else: ticks, queues, responses to HTTP calls, the end of a stream; 20 ms by default.
    pub background: Duration,
}

/// What a module may reach beyond the exchange.
#[derive(Clone, Debug, Default)]
pub struct PluginGrants {
    /// Names of the upstreams that the plugin may call; none by default.
    pub http_call: Vec<String>,
    /// Whether the plugin may use shared data and queues; not by default. Refused calls return an error status.
    pub shared_data: bool,
    /// Headers that the plugin neither sees nor changes, in requests and responses.
    pub hidden_headers: Vec<HeaderName>,
}

/// How a module is loaded.
#[derive(Clone, Debug, Default)]
pub struct PluginModuleSettings {
    /// The SHA-256 that the module must have, as 64 hexadecimal digits.
    pub sha256: Option<String>,
    /// A folder for compiled code; it is created with mode 0700. Without it the module is compiled at each start.
    pub cache: Option<PathBuf>,
}

/// How a plugin is started from its module.
#[derive(Clone)]
pub struct PluginSettings {
    /// The name that logs and the plugin itself see.
    pub name: String,
    /// The root context that a module with several of them creates; empty by default.
    pub root_id: String,
    /// What `proxy_on_configure` reads, in the form that the plugin expects.
    pub configuration: Bytes,
    /// Properties that the plugin reads everywhere, by their paths with `.` between the segments. They precede all others.
    pub properties: BTreeMap<String, PropertyValue>,
    /// What `proxy_on_vm_start` reads.
    pub vm_configuration: Bytes,
    pub limits: PluginLimits,
    pub grants: PluginGrants,
    /// Instances between which streams are divided, from 1; 32 by default. A stream gets an instance without streams
    /// while there is one or another may be started; only beyond that do streams share one.
    pub instances: usize,
    /// The level from which lines of the plugin are logged.
    pub log_level: PluginLogLevel,
}

impl PluginSettings {
    /// The default settings of a plugin with this name.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            root_id: String::new(),
            configuration: Bytes::new(),
            properties: BTreeMap::new(),
            vm_configuration: Bytes::new(),
            limits: PluginLimits::default(),
            grants: PluginGrants::default(),
            instances: 32,
            log_level: PluginLogLevel::Info,
        }
    }
}

/// Without the configurations, which may have secrets.
impl fmt::Debug for PluginSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginSettings")
            .field("name", &self.name)
            .field("root_id", &self.root_id)
            .field("log_level", &self.log_level)
            .field("limits", &self.limits)
            .field("grants", &self.grants)
            .field("instances", &self.instances)
            .finish_non_exhaustive()
    }
}

impl Default for PluginHostSettings {
    fn default() -> Self {
        Self {
            instances: 512,
            memory: 1 << 30,
            memory_total: 512 << 20,
            stack: 512 << 10,
        }
    }
}

impl Default for PluginLimits {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            recycle: 48 << 20,
            time: PluginCpuTimeLimits::default(),
            pause: Duration::from_secs(30),
            body: 4 << 20,
            log: 64 << 10,
            headers: 256,
            header_bytes: 64 << 10,
            http_calls: 64,
            http_call_time: Duration::from_secs(10),
            shared: 4 << 20,
            metrics: 100,
        }
    }
}

impl Default for PluginCpuTimeLimits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(1),
            headers: Duration::from_millis(20),
            body: Duration::from_millis(200),
            event: Duration::from_millis(5),
            background: Duration::from_millis(20),
        }
    }
}
