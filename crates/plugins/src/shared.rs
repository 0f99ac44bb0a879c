//! What the plugins of a process keep when its configuration is reloaded: the engine, compiled modules, started plugins.

use super::failure_counter::PluginFailureCounter;
use super::module::{LoadedModule, PluginEngine};
use super::running::PluginWithSettings;
use super::runtime::PluginBackgroundRuntime;
use headgate_wasm::{
    Plugin, PluginHost, PluginHostBuildError, PluginHostServices, PluginHostSettings, PluginModule,
    PluginModuleError, PluginModuleSettings, PluginSettings,
};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::{fmt, io};
use thiserror::Error;

/// The engine of the process, started with the first plugin, and what was made with it.
#[derive(Default)]
pub struct SharedPluginState {
    engine: Mutex<Option<Arc<PluginEngine>>>,
    /// 0 until it is set.
    memory_total: AtomicUsize,
    failures: PluginFailureCounter,
    /// By the SHA-256 of the file.
    modules: Mutex<HashMap<[u8; 32], Weak<LoadedModule>>>,
    /// Allows one start at a time, which may take seconds.
    starting: Mutex<()>,
    /// By all that they were started with. Metrics read them, so that nothing is waited for under this lock.
    running: Mutex<HashMap<String, Weak<PluginWithSettings>>>,
}

/// Why a module cannot be used.
#[derive(Debug, Error)]
pub enum PluginLoadError {
    #[error(transparent)]
    Engine(#[from] PluginHostBuildError),
    #[error("the thread of the plugins cannot be started: {0}")]
    Thread(io::Error),
    #[error(transparent)]
    Module(#[from] PluginModuleError),
}

impl SharedPluginState {
    /// Sets the memory of all instances of all plugins together, in bytes. Instances keep what they have beyond it.
    pub fn set_memory_total(&self, bytes: usize) {
        self.memory_total.store(bytes, Ordering::Relaxed);
        if let Some(engine) = &*lock(&self.engine) {
            engine.host.set_memory_total(bytes);
        }
    }

    /// Counts the failures of all plugins.
    pub(super) fn failures(&self) -> &PluginFailureCounter {
        &self.failures
    }

    /// The compiled module, from an earlier configuration, from the cache of compiled code, or compiled now, which
    /// takes about 0.6 s for each megabyte. `cache` is the folder of compiled code.
    ///
    /// # Errors
    /// The module is not the pinned one, or is no plugin, or the engine does not start.
    pub fn module(
        &self,
        bytes: &[u8],
        pin: Option<String>,
        cache: Option<PathBuf>,
    ) -> Result<Arc<LoadedModule>, PluginLoadError> {
        let digest: [u8; 32] = Sha256::digest(bytes).into();
        let mut modules = lock(&self.modules);
        modules.retain(|_, module| module.strong_count() > 0);
        let known = modules.get(&digest).and_then(Weak::upgrade);
        let known = known.filter(|known| pin.as_deref().is_none_or(|pin| is_pinned(known, pin)));
        if let Some(known) = known {
            return Ok(known);
        }
        let engine = self.engine()?;
        let settings = PluginModuleSettings { sha256: pin, cache };
        let module = PluginModule::from_bytes(&engine.host, bytes, &settings)?;
        let loaded = Arc::new(LoadedModule { module, engine });
        modules.insert(digest, Arc::downgrade(&loaded));
        Ok(loaded)
    }

    /// A started plugin: the one that was started with the same `key`, or a new one.
    ///
    /// # Errors
    /// Why the plugin does not start, as text for the operator.
    pub fn start(
        &self,
        key: &str,
        module: &Arc<LoadedModule>,
        settings: PluginSettings,
        environment: Arc<dyn PluginHostServices>,
    ) -> Result<Arc<PluginWithSettings>, String> {
        let _one = lock(&self.starting);
        if let Some(plugin) = self.started(key) {
            return Ok(plugin);
        }
        let runtime = &module.engine.runtime;
        let compiled = module.module.clone();
        let started = runtime
            .wait(async move { Plugin::start(&compiled, settings, environment).await })
            .map_err(|_| "the plugin host failed while it started the plugin".to_owned())?
            .map_err(|error| error.to_string())?;
        let plugin = PluginWithSettings::new(started, module.clone(), self.failures.clone());
        let plugin = Arc::new(plugin);
        lock(&self.running).insert(key.to_owned(), Arc::downgrade(&plugin));
        Ok(plugin)
    }

    /// The plugin that was started with `key`, if it is in use. Forgets those that are not.
    fn started(&self, key: &str) -> Option<Arc<PluginWithSettings>> {
        let mut running = lock(&self.running);
        running.retain(|_, plugin| plugin.strong_count() > 0);
        running.get(key).and_then(Weak::upgrade)
    }

    /// The plugins that are in use, for metrics.
    pub fn in_use(&self) -> Vec<Arc<PluginWithSettings>> {
        let running = lock(&self.running);
        running.values().filter_map(Weak::upgrade).collect()
    }

    fn engine(&self) -> Result<Arc<PluginEngine>, PluginLoadError> {
        let mut engine = lock(&self.engine);
        if let Some(engine) = &*engine {
            return Ok(engine.clone());
        }
        let mut settings = PluginHostSettings::default();
        let total = self.memory_total.load(Ordering::Relaxed);
        if total > 0 {
            settings.memory_total = total;
        }
        let started = Arc::new(PluginEngine {
            host: PluginHost::new(&settings)?,
            runtime: PluginBackgroundRuntime::start().map_err(PluginLoadError::Thread)?,
        });
        *engine = Some(started.clone());
        Ok(started)
    }
}

fn is_pinned(module: &LoadedModule, pin: &str) -> bool {
    module.module.sha256().eq_ignore_ascii_case(pin)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for SharedPluginState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPluginState").finish_non_exhaustive()
    }
}
