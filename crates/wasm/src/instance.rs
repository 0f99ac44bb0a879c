//! An instance that streams share: one call at a time, and gone after the first trap.

mod uninterrupted;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Notify, OwnedMappedMutexGuard, OwnedMutexGuard};

use crate::error::{PluginFailure, PluginStartError};
use crate::exchange::LentExchange;
use crate::guest::{Guest, StreamCallback, StreamCallbackOutcome};
use crate::guest_state::{BackgroundCall, BackgroundCallRunner, ROOT_CONTEXT, StreamSide};
use crate::host_services::PluginLogLevel;
use crate::module::PluginModule;
use crate::plugin_resources::SharedInstanceResources;
pub(crate) use uninterrupted::UninterruptedCall;

/// Streams that one instance serves before another takes its place, so that the ids of contexts never repeat.
const STREAMS_MAX: u32 = u32::MAX / 2;

/// An instance that streams share.
pub(crate) struct PluginInstance {
    /// `None` while it starts.
    guest: Arc<Mutex<Option<Guest>>>,
    resources: Arc<SharedInstanceResources>,
    /// A call into it failed: it is not called again.
    is_poisoned: AtomicBool,
    /// It takes no more streams, and serves those that it has.
    is_retired: AtomicBool,
    streams: AtomicUsize,
    memory: AtomicUsize,
    last_context: AtomicU32,
}

/// A stream's place in an instance.
pub(crate) struct StreamPlace {
    pub instance: Arc<PluginInstance>,
    /// The id of the stream's context.
    pub context: u32,
}

/// The right to call an instance.
pub(crate) struct GuestGuard {
    instance: Arc<PluginInstance>,
    guest: OwnedMappedMutexGuard<Option<Guest>, Guest>,
}

impl PluginInstance {
    /// Makes an instance and configures it.
    pub async fn start(
        module: &PluginModule,
        resources: Arc<SharedInstanceResources>,
    ) -> Result<Arc<Self>, PluginStartError> {
        let instance = Arc::new(Self {
            guest: Arc::default(),
            resources: Arc::clone(&resources),
            is_poisoned: AtomicBool::new(false),
            is_retired: AtomicBool::new(false),
            streams: AtomicUsize::new(0),
            memory: AtomicUsize::new(0),
            last_context: AtomicU32::new(ROOT_CONTEXT),
        });
        // Whatever the plugin starts while it is configured waits for this.
        let mut place = Arc::clone(&instance.guest).lock_owned().await;
        let weak: Weak<Self> = Arc::downgrade(&instance);
        let guest = place.insert(Guest::start(module, resources, weak).await?);
        instance.observe_memory(guest);
        drop(place);
        Ok(instance)
    }

    /// Takes a place for a stream.
    pub fn place(self: &Arc<Self>) -> StreamPlace {
        self.streams.fetch_add(1, Ordering::AcqRel);
        self.resources
            .counts
            .streams
            .fetch_add(1, Ordering::Relaxed);
        let context = self.last_context.fetch_add(1, Ordering::AcqRel) + 1;
        if context >= STREAMS_MAX {
            self.retire();
        }
        StreamPlace {
            instance: Arc::clone(self),
            context,
        }
    }

    pub fn takes_streams(&self) -> bool {
        !self.is_poisoned() && !self.is_retired.load(Ordering::Acquire)
    }

    /// Whether a call into it failed.
    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Acquire)
    }

    /// Streams that have a place.
    pub fn streams(&self) -> usize {
        self.streams.load(Ordering::Acquire)
    }

    pub fn resources(&self) -> &SharedInstanceResources {
        &self.resources
    }

    /// Logs the failure of a call for which no stream waits.
    pub fn report(&self, result: &Result<(), PluginFailure>) {
        if let Err(failure) = result {
            let name = &self.resources.settings.name;
            let environment = &self.resources.environment;
            environment.log(name, PluginLogLevel::Error, &failure.to_string());
        }
    }

    /// No more streams get a place. After the last one it is called no more.
    pub fn retire(&self) {
        self.is_retired.store(true, Ordering::Release);
    }

    /// Whether it takes no streams, and has none: what it does by itself would have no end.
    fn is_over(&self) -> bool {
        self.is_retired.load(Ordering::Acquire) && self.streams() == 0
    }

    /// Waits until no other call runs. `None` if the instance did not start.
    pub async fn lock(self: &Arc<Self>) -> Option<GuestGuard> {
        let guest = Arc::clone(&self.guest).lock_owned().await;
        let guest = OwnedMutexGuard::try_map(guest, Option::as_mut).ok()?;
        let instance = Arc::clone(self);
        if guest.is_abandoned() {
            self.is_poisoned.store(true, Ordering::Release);
        }
        Some(GuestGuard { instance, guest })
    }

    async fn lock_usable(self: &Arc<Self>) -> Option<GuestGuard> {
        self.lock().await.filter(GuestGuard::is_usable)
    }

    fn observe_memory(&self, guest: &Guest) {
        let counts = &self.resources.counts;
        let size = guest.memory_size();
        let former = self.memory.swap(size, Ordering::AcqRel);
        if size != former {
            counts.memory.fetch_add(size, Ordering::Relaxed);
            counts.memory.fetch_sub(former, Ordering::Relaxed);
        }
        let is_large = size >= self.resources.settings.limits.recycle;
        if is_large && !self.is_retired.swap(true, Ordering::AcqRel) {
            counts.recycled.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn poison(&self, guest: &Guest, failure: &PluginFailure) {
        self.is_poisoned.store(true, Ordering::Release);
        if failure.is_plugins_fault() {
            self.resources.counts.traps.fetch_add(1, Ordering::Relaxed);
            self.resources.breaker().trapped(Instant::now());
        }
        for stream in guest.state().streams.values() {
            stream.wake.notify_one();
        }
    }
}

impl BackgroundCallRunner for PluginInstance {
    fn run(self: Arc<Self>, call: BackgroundCall) -> Pin<Box<dyn Future<Output = bool> + Send>> {
        Box::pin(async move {
            match self.lock_usable().await {
                Some(guard) if !self.is_over() => {
                    UninterruptedCall::new(guard.run_background(call)).await
                }
                _ => false,
            }
        })
    }
}

impl Drop for PluginInstance {
    fn drop(&mut self) {
        let size = self.memory.load(Ordering::Acquire);
        let counts = &self.resources.counts;
        counts.memory.fetch_sub(size, Ordering::Relaxed);
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.instance.streams.fetch_sub(1, Ordering::AcqRel);
        let counts = &self.instance.resources.counts;
        counts.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

impl GuestGuard {
    /// Whether no call into the instance failed.
    pub fn is_usable(&self) -> bool {
        !self.instance.is_poisoned()
    }

    /// Runs a callback of a stream.
    pub async fn run_event(
        mut self,
        context: u32,
        wake: Arc<Notify>,
        exchange: LentExchange,
        event: StreamCallback,
    ) -> StreamCallbackOutcome {
        let outcome = self.guest.on_event(context, &wake, exchange, event).await;
        let swept = match &outcome.result {
            Ok(_) => self.guest.sweep().await,
            Err(failure) => Err(failure.clone()),
        };
        self.settle(swept.as_ref().err());
        outcome
    }

    /// Ends a stream.
    pub async fn run_end(
        mut self,
        place: StreamPlace,
        new: Option<Arc<Notify>>,
        exchange: LentExchange,
    ) -> (LentExchange, Result<(), PluginFailure>) {
        let context = place.context;
        let (exchange, result) = self.guest.on_end(context, new, exchange).await;
        self.settle(result.as_ref().err());
        if self.guest.state().streams.contains_key(&context) {
            forget_later(place);
        }
        (exchange, result)
    }

    /// Runs a call for which no stream waits. False if the instance is gone.
    async fn run_background(mut self, call: BackgroundCall) -> bool {
        let result = match call {
            BackgroundCall::Tick => self.guest.on_tick().await,
            BackgroundCall::QueueReady(queue) => self.guest.on_queue_ready(queue).await,
            BackgroundCall::HttpResponse {
                context,
                id,
                response,
                permit,
            } => {
                // The response may lead to another call.
                drop(permit);
                let response = response.map(|response| *response);
                self.guest.on_call_response(context, id, response).await
            }
        };
        self.settle_background(result).await
    }

    /// What a stream gets back that has no more callbacks.
    pub fn surrender(&mut self, context: u32, failure: PluginFailure) -> StreamCallbackOutcome {
        self.guest.surrender(context, failure)
    }

    /// As [`Self::surrender`], of a stream whose next callback cannot run, since the instance has failed.
    pub fn surrender_event(
        &mut self,
        context: u32,
        exchange: LentExchange,
        event: StreamCallback,
    ) -> StreamCallbackOutcome {
        let lost = PluginFailure::InstanceLost;
        self.guest.surrender_event(context, exchange, event, lost)
    }

    /// Keeps the exchange of a paused stream in the instance.
    pub async fn run_park(mut self, context: u32, exchange: LentExchange) {
        let result = self.guest.park(context, exchange).await;
        self.settle_background(result).await;
    }

    /// What a paused stream does now; `None` if it still waits.
    pub fn resumption(&mut self, context: u32, side: StreamSide) -> Option<StreamCallbackOutcome> {
        self.guest.resumption(context, side)
    }

    /// Whether the stream has had a callback.
    pub fn knows(&self, context: u32) -> bool {
        self.guest.state().streams.contains_key(&context)
    }

    fn settle(&mut self, failure: Option<&PluginFailure>) {
        self.guest.state_mut().start_background();
        self.instance.observe_memory(&self.guest);
        if let Some(failure) = failure.filter(|failure| failure.poisons()) {
            self.instance.poison(&self.guest, failure);
        }
    }

    /// Settles a call for which no stream waits. False if the instance is gone.
    async fn settle_background(&mut self, result: Result<(), PluginFailure>) -> bool {
        let result = match result {
            Ok(()) => self.guest.sweep().await,
            failed => failed,
        };
        self.settle(result.as_ref().err());
        self.instance.report(&result);
        self.is_usable()
    }
}

/// Gives the plugin time to call `proxy_done`; then the stream is deleted without it.
fn forget_later(place: StreamPlace) {
    let Ok(runtime) = Handle::try_current() else {
        place.instance.retire();
        return;
    };
    runtime.spawn(async move {
        tokio::time::sleep(place.instance.resources.settings.limits.pause).await;
        if let Some(mut guard) = place.instance.lock_usable().await {
            let context = place.context;
            let forgotten = async move {
                let result = guard.guest.forget(context).await;
                guard.settle_background(result).await
            };
            UninterruptedCall::new(forgotten).await;
        }
    });
}

impl StreamCallbackOutcome {
    /// What a stream gets back whose instance never had it.
    pub fn unknown(failure: PluginFailure, exchange: LentExchange) -> Self {
        Self {
            exchange: Some(exchange),
            result: Err(failure),
            held: [Bytes::new(), Bytes::new()],
        }
    }
}
