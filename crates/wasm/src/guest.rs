//! One instance of a module: its memory, its exports, and the calls into it.

mod callbacks;
mod event_outcome;
mod events;
mod exports;

use std::sync::{Arc, Weak};
use std::time::Duration;

use wasmtime::{Store, Trap, TypedFunc, UpdateDeadline, WasmBacktrace, WasmParams, WasmResults};

use crate::abi::{GuestAbort, flush_output};
use crate::callback::PluginCallback;
use crate::error::{PluginFailure, PluginStartError};
use crate::guest_state::{BackgroundCallRunner, GuestState, ROOT_CONTEXT};
use crate::host::PluginHost;
use crate::memory_budget::MemoryShare;
use crate::module::PluginModule;
use crate::plugin_resources::SharedInstanceResources;
use crate::ticker::TICK;
pub(crate) use event_outcome::{StreamCallbackDecision, StreamCallbackOutcome};
pub(crate) use events::StreamCallback;
use exports::GuestExports;

/// One instance of a module.
pub(crate) struct Guest {
    host: PluginHost,
    exports: GuestExports,
    store: Store<GuestState>,
    /// Set while a call runs. If it is set between calls, the future of a call was dropped.
    is_running: bool,
}

impl Guest {
    /// Makes an instance and configures its root context.
    pub async fn start(
        module: &PluginModule,
        resources: Arc<SharedInstanceResources>,
        instance: Weak<dyn BackgroundCallRunner>,
    ) -> Result<Self, PluginStartError> {
        let host = module.host().clone();
        let share = MemoryShare::new(Arc::clone(host.budget()));
        let mut store = new_store(&host, GuestState::new(resources, instance, share));
        let problem = |error: wasmtime::Error| PluginStartError::Instance(format!("{error:#}"));
        let made = {
            let _running = host.ticker().enter();
            grant_time(&mut store, PluginCallback::Start);
            module.instance().instantiate_async(&mut store).await
        };
        flush_output(store.data_mut());
        let made = match made {
            Ok(made) => made,
            Err(error) if is_trap(&error) => {
                return Err(failure(&store, &error, PluginCallback::Start).into());
            }
            Err(_) if store.data().memory_limit.was_total_reached => {
                return Err(memory_failure(&store).into());
            }
            Err(error) => return Err(problem(error)),
        };
        let exports = GuestExports::find(&mut store, &made).map_err(problem)?;
        store.data_mut().memory = made.get_memory(&mut store, "memory");
        store.data_mut().allocator = exports::allocator(&mut store, &made).map_err(problem)?;
        let mut guest = Self {
            host,
            exports,
            store,
            is_running: false,
        };
        guest.start_root().await?;
        guest.state_mut().start_background();
        Ok(guest)
    }

    pub fn state(&self) -> &GuestState {
        self.store.data()
    }

    pub fn state_mut(&mut self) -> &mut GuestState {
        self.store.data_mut()
    }

    /// Whether the future of a call was dropped before the call was over.
    pub fn is_abandoned(&self) -> bool {
        self.is_running
    }

    /// Bytes of its memory.
    pub fn memory_size(&self) -> usize {
        let memory = self.store.data().memory;
        memory.map_or(0, |memory| memory.data_size(&self.store))
    }

    async fn start_root(&mut self) -> Result<(), PluginStartError> {
        if let Some(start) = &self.exports.start {
            let started = call(
                &self.host,
                &mut self.store,
                &mut self.is_running,
                start,
                (),
                PluginCallback::Start,
                ROOT_CONTEXT,
            );
            let started = started.await;
            // A program that ends without an error has started, too.
            if self.state().exit_code != Some(0) {
                started?;
            }
            self.on_main().await?;
        }
        self.on_context_create(ROOT_CONTEXT, 0).await?;
        let settings = &self.state().plugin.settings;
        let vm_length = length(settings.vm_configuration.len());
        let length = length(settings.configuration.len());
        if !self.on_vm_start(vm_length).await? {
            return Err(PluginStartError::VmRefused);
        }
        if !self.on_configure(length).await? {
            return Err(PluginStartError::ConfigurationRefused);
        }
        Ok(())
    }
}

/// A length for the plugin, which has no larger ones than its memory.
fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn new_store(host: &PluginHost, state: GuestState) -> Store<GuestState> {
    let mut store = Store::new(host.engine(), state);
    store.limiter(|state| &mut state.memory_limit);
    store.epoch_deadline_callback(|mut store| {
        let left = &mut store.data_mut().ticks_left;
        let Some(fewer) = left.checked_sub(1) else {
            return Err(GuestAbort::Time.into());
        };
        *left = fewer;
        Ok(UpdateDeadline::YieldCustom(
            1,
            Box::pin(tokio::task::yield_now()),
        ))
    });
    store
}

fn grant_time(store: &mut Store<GuestState>, callback: PluginCallback) {
    let state = store.data_mut();
    let limit = callback.limit(&state.plugin.settings.limits.time);
    state.ticks_left = ticks(limit);
    state.memory_limit.was_total_reached = false;
    store.set_epoch_deadline(1);
}

fn ticks(limit: Duration) -> u32 {
    let ticks = limit.as_micros().div_ceil(TICK.as_micros());
    u32::try_from(ticks).unwrap_or(u32::MAX).max(1)
}

/// Calls an export on behalf of a context.
async fn call<P, R>(
    host: &PluginHost,
    store: &mut Store<GuestState>,
    is_running: &mut bool,
    function: &TypedFunc<P, R>,
    parameters: P,
    callback: PluginCallback,
    context: u32,
) -> Result<R, PluginFailure>
where
    P: WasmParams + Sync,
    R: WasmResults + Sync,
{
    let _running = host.ticker().enter();
    grant_time(store, callback);
    store.data_mut().current = context;
    *is_running = true;
    let result = function.call_async(&mut *store, parameters).await;
    *is_running = false;
    flush_output(store.data_mut());
    result.map_err(|error| failure(store, &error, callback))
}

/// The failure of a plugin to which the limit of all instances refused memory.
fn memory_failure(store: &Store<GuestState>) -> PluginFailure {
    let share = &store.data().memory_limit.share;
    PluginFailure::Memory {
        limit: share.budget().max(),
    }
}

fn is_trap(error: &wasmtime::Error) -> bool {
    error.downcast_ref::<Trap>().is_some() || error.downcast_ref::<GuestAbort>().is_some()
}

fn failure(
    store: &Store<GuestState>,
    error: &wasmtime::Error,
    callback: PluginCallback,
) -> PluginFailure {
    let state = store.data();
    if let Some(GuestAbort::Time) = error.downcast_ref() {
        let limit = callback.limit(&state.plugin.settings.limits.time);
        return PluginFailure::Time { callback, limit };
    }
    if state.memory_limit.was_total_reached {
        return memory_failure(store);
    }
    let mut reason = match error.downcast_ref::<Trap>() {
        Some(trap) => trap.to_string().replace("wasm trap: ", ""),
        None => error.root_cause().to_string(),
    };
    let backtrace = error.downcast_ref::<WasmBacktrace>();
    let frames = backtrace.map(WasmBacktrace::frames).unwrap_or_default();
    if let Some(name) = frames.first().and_then(|frame| frame.func_name()) {
        let name: String = name.chars().take(120).collect();
        reason.push_str(&format!(" in `{name}`"));
    }
    if state.memory_limit.was_reached {
        let limit = state.memory_limit.bytes;
        reason.push_str(&format!(" (growth beyond {limit} bytes was refused)"));
    }
    PluginFailure::Trap { callback, reason }
}
