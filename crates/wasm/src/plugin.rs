//! A plugin: a module with a configuration, its instances, and what they share.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::callback::PluginCallback;
use crate::error::{PluginFailure, PluginStartError};
use crate::host_services::PluginHostServices;
use crate::instance_pool::InstancePool;
use crate::metric_table::MetricSample;
use crate::module::PluginModule;
use crate::plugin_resources::SharedInstanceResources;
use crate::settings::PluginSettings;
use crate::stream::PluginStream;

/// The largest limit of headers in one map.
const HEADERS_MAX: usize = 4096;

/// A started plugin. Cheap to clone. When the last clone and the last stream are gone, its instances end.
#[derive(Clone)]
pub struct Plugin(Arc<StartedPlugin>);

struct StartedPlugin {
    module: PluginModule,
    resources: Arc<SharedInstanceResources>,
    pool: Arc<InstancePool>,
}

/// What an operator wants to know of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginStatus {
    /// Instances that take streams.
    pub instances: usize,
    /// Streams that have begun and not ended.
    pub streams: usize,
    /// Memory of all instances, in bytes.
    pub memory: usize,
    /// Traps and exceeded time limits since the start.
    pub traps: u64,
    /// Instances that took no more streams because their memory had grown.
    pub recycled: u64,
    /// Log lines over the limit.
    pub dropped_log_lines: u64,
    /// HTTP calls that wait for their response.
    pub http_calls: usize,
    /// For how long the plugin gets no streams, after repeated failures.
    pub disabled_for: Option<Duration>,
}

impl Plugin {
    /// Starts the first instance and configures it.
    ///
    /// # Errors
    /// The plugin refuses its configuration, or traps, or an instance cannot be made.
    pub async fn start(
        module: &PluginModule,
        settings: PluginSettings,
        environment: Arc<dyn PluginHostServices>,
    ) -> Result<Self, PluginStartError> {
        check_limits(&settings, module)?;
        let resources = Arc::new(SharedInstanceResources::new(settings, environment));
        let pool = InstancePool::new(module.clone(), Arc::clone(&resources));
        pool.start().await?;
        let pool = Arc::new(pool);
        let weak: Weak<InstancePool> = Arc::downgrade(&pool);
        module.host().budget().register(weak);
        Ok(Self(Arc::new(StartedPlugin {
            module: module.clone(),
            resources,
            pool,
        })))
    }

    /// Begins a stream on an instance without others, or starts one. Only if the plugin has as many instances as its
    /// settings allow, streams share them.
    ///
    /// # Errors
    /// The plugin is disabled after repeated failures, or no instance can be made.
    pub async fn open_stream(&self) -> Result<PluginStream, PluginFailure> {
        let place = self.0.pool.place().await?;
        Ok(PluginStream::new(Arc::downgrade(&self.0.pool), place))
    }

    /// The name from the settings.
    pub fn name(&self) -> &str {
        &self.0.resources.settings.name
    }

    /// The module that was started.
    pub fn module(&self) -> &PluginModule {
        &self.0.module
    }

    /// Largest body that the plugin is given, in bytes.
    pub fn body_limit(&self) -> usize {
        self.0.resources.settings.limits.body
    }

    /// Whether the module exports the callback, so that the program may save the work of a call that does nothing.
    pub fn exports(&self, callback: PluginCallback) -> bool {
        let callbacks = self.0.module.callbacks();
        callbacks.iter().any(|name| name == callback.name())
    }

    /// The current counts.
    pub fn status(&self) -> PluginStatus {
        let counts = &self.0.resources.counts;
        PluginStatus {
            instances: self.0.pool.len(),
            streams: counts.streams.load(Ordering::Relaxed),
            memory: counts.memory.load(Ordering::Relaxed),
            traps: counts.traps.load(Ordering::Relaxed),
            recycled: counts.recycled.load(Ordering::Relaxed),
            dropped_log_lines: counts.dropped_log_lines.load(Ordering::Relaxed),
            http_calls: counts.http_calls.load(Ordering::Relaxed),
            disabled_for: self.0.resources.breaker().disabled_for(Instant::now()),
        }
    }

    /// All metrics of the plugin, in the order of their definition.
    pub fn metrics(&self) -> Vec<MetricSample> {
        self.0.resources.metrics.samples()
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.name())
            .field("module", &self.0.module)
            .finish_non_exhaustive()
    }
}

fn check_limits(settings: &PluginSettings, module: &PluginModule) -> Result<(), PluginStartError> {
    let refuse = |limit, expected: String| Err(PluginStartError::Limit { limit, expected });
    let limits = &settings.limits;
    let max = module.host().memory_max();
    if limits.memory > max {
        return refuse("memory", format!("at most the {max} bytes of the host"));
    }
    if limits.recycle == 0 || limits.recycle > limits.memory {
        return refuse("recycle", "from 1 to the limit of the memory".to_owned());
    }
    if limits.headers > HEADERS_MAX {
        return refuse("headers", format!("at most {HEADERS_MAX}"));
    }
    if settings.instances == 0 {
        return refuse("instances", "at least 1".to_owned());
    }
    Ok(())
}
