//! The engine of a process, and the functions that it offers to plugins.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use wasmtime::{Config, Engine, InstanceAllocationStrategy, Linker, PoolingAllocationConfig};

use crate::abi;
use crate::error::PluginHostBuildError;
use crate::guest_state::GuestState;
use crate::memory_budget::MemoryBudget;
use crate::settings::{PluginHostSettings, TABLE_ELEMENTS_MAX};
use crate::ticker::EpochTicker;

/// What host functions may use of the stack that a plugin runs on.
const HOST_STACK: usize = 512 << 10;

/// The engine that runs all plugins of a process. Cheap to clone.
#[derive(Clone)]
pub struct PluginHost(Arc<SharedHost>);

struct SharedHost {
    ticker: EpochTicker,
    linker: Linker<GuestState>,
    engine: Engine,
    memory: usize,
    budget: Arc<MemoryBudget>,
    is_pooled: bool,
}

impl PluginHost {
    /// Starts the engine.
    ///
    /// # Errors
    /// The platform does not have what the engine needs.
    pub fn new(settings: &PluginHostSettings) -> Result<Self, PluginHostBuildError> {
        let problem = |error: wasmtime::Error| PluginHostBuildError(format!("{error:#}"));
        let (engine, is_pooled) = match Engine::new(&config(settings, true)) {
            Ok(engine) => (engine, true),
            // The address space is limited, for example by `ulimit -v`.
            Err(_) => (
                Engine::new(&config(settings, false)).map_err(problem)?,
                false,
            ),
        };
        let mut linker = Linker::new(&engine);
        abi::register(&mut linker).map_err(problem)?;
        let ticker =
            EpochTicker::start(&engine).map_err(|e| PluginHostBuildError(e.to_string()))?;
        Ok(Self(Arc::new(SharedHost {
            ticker,
            linker,
            engine,
            memory: settings.memory,
            budget: Arc::new(MemoryBudget::new(settings.memory_total)),
            is_pooled,
        })))
    }

    /// Whether instances are taken from a pool of reserved address space. Without it, for example because the address
    /// space is limited, a new instance costs more.
    pub fn is_pooled(&self) -> bool {
        self.0.is_pooled
    }

    /// Sets [`PluginHostSettings::memory_total`]. Instances keep what they have beyond a smaller total.
    pub fn set_memory_total(&self, bytes: usize) {
        self.0.budget.set_max(bytes);
    }

    /// Memory of all instances of all plugins together, in bytes.
    pub fn memory_taken(&self) -> usize {
        self.0.budget.taken()
    }

    pub(crate) fn budget(&self) -> &Arc<MemoryBudget> {
        &self.0.budget
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn linker(&self) -> &Linker<GuestState> {
        &self.0.linker
    }

    pub(crate) fn ticker(&self) -> &EpochTicker {
        &self.0.ticker
    }

    pub(crate) fn memory_max(&self) -> usize {
        self.0.memory
    }

    /// A number that differs if compiled code cannot be used: by version, settings and processor.
    pub(crate) fn compatibility(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0
            .engine
            .precompile_compatibility_hash()
            .hash(&mut hasher);
        hasher.finish()
    }
}

fn config(settings: &PluginHostSettings, is_pooled: bool) -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(settings.stack)
        .async_stack_size(settings.stack + HOST_STACK)
        .concurrency_support(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_relaxed_simd(false);
    if is_pooled {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(settings)));
    }
    config
}

fn pool(settings: &PluginHostSettings) -> PoolingAllocationConfig {
    let count = settings.instances.max(1);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(count)
        .total_memories(count)
        .total_tables(count.saturating_mul(2))
        // A call into a plugin, and the plugin's allocator called by a host function within.
        .total_stacks(count.saturating_mul(2))
        .max_tables_per_module(2)
        .max_memories_per_module(1)
        .table_elements(TABLE_ELEMENTS_MAX)
        .max_memory_size(settings.memory);
    pool
}
