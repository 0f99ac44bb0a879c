//! The instances of a plugin, and which of them a stream gets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;
use tokio::time::timeout_at;

use crate::error::{PluginFailure, PluginStartError};
use crate::instance::{PluginInstance, StreamPlace};
use crate::memory_budget::EndIdleInstances;
use crate::module::PluginModule;
use crate::plugin_resources::SharedInstanceResources;

/// The instances of a plugin that take streams.
pub(crate) struct InstancePool {
    module: PluginModule,
    resources: Arc<SharedInstanceResources>,
    instances: Mutex<PooledInstances>,
    /// Notified when an instance was started, or could not be.
    started: Notify,
}

#[derive(Default)]
struct PooledInstances {
    ready: Vec<Arc<PluginInstance>>,
    starting: usize,
}

impl PooledInstances {
    fn with_fewest_streams(&self) -> Option<&Arc<PluginInstance>> {
        let ready = self.ready.iter();
        ready.min_by_key(|instance| instance.streams())
    }
}

enum PlaceDecision {
    Place(StreamPlace),
    Start,
    Wait,
}

/// Counts an instance as starting until it is dropped.
struct StartingInstanceGuard<'a>(&'a InstancePool);

impl InstancePool {
    pub fn new(module: PluginModule, resources: Arc<SharedInstanceResources>) -> Self {
        Self {
            module,
            resources,
            instances: Mutex::default(),
            started: Notify::new(),
        }
    }

    /// Starts an instance.
    pub async fn start(&self) -> Result<Arc<PluginInstance>, PluginStartError> {
        let resources = Arc::clone(&self.resources);
        let instance = PluginInstance::start(&self.module, resources).await?;
        self.lock().ready.push(Arc::clone(&instance));
        Ok(instance)
    }

    /// A place for a stream: on an instance without streams, on a new one, or on the one with the fewest. If all plugins
    /// together have the memory that they may have, on one that there is, or, after a wait of at most
    /// [`crate::PluginLimits::pause`], on a new one.
    pub async fn place(&self) -> Result<StreamPlace, PluginFailure> {
        let deadline = tokio::time::Instant::now() + self.resources.settings.limits.pause;
        loop {
            let retry_after = self.resources.breaker().disabled_for(Instant::now());
            if let Some(retry_after) = retry_after {
                return Err(PluginFailure::Disabled { retry_after });
            }
            let started = self.started.notified();
            match self.decide() {
                PlaceDecision::Place(place) => return Ok(place),
                PlaceDecision::Wait => started.await,
                PlaceDecision::Start => {
                    // Of before the attempt: what a failed start gives back itself is not enough for the next one.
                    let room = self.module.host().budget().room();
                    let starting = StartingInstanceGuard(self);
                    let outcome = self.start().await.map_err(failed_start);
                    drop(starting);
                    match outcome {
                        // It is retired already, as what it needs from its start is what others grow to. So is each other one.
                        Ok(instance) if !instance.takes_streams() => return Ok(instance.place()),
                        Ok(_) => {}
                        Err(failure) if failure.is_plugins_fault() => {
                            self.resources.breaker().start_failed(Instant::now());
                            return Err(failure);
                        }
                        Err(failure) => match self.shared_place() {
                            Some(place) => return Ok(place),
                            None => timeout_at(deadline, self.more_room(room))
                                .await
                                .map_err(|_| failure)?,
                        },
                    }
                }
            }
        }
    }

    /// Waits until the budget has more room than `room` bytes.
    async fn more_room(&self, room: usize) {
        let budget = self.module.host().budget();
        loop {
            let freed = budget.freed().notified();
            if budget.room() > room {
                return;
            }
            freed.await;
        }
    }

    /// A place on the instance with the fewest streams.
    fn shared_place(&self) -> Option<StreamPlace> {
        let instances = self.lock_usable();
        instances.with_fewest_streams().map(PluginInstance::place)
    }

    /// Instances that take streams.
    pub fn len(&self) -> usize {
        self.lock_usable().ready.len()
    }

    fn decide(&self) -> PlaceDecision {
        let mut instances = self.lock_usable();
        let max = self.resources.settings.instances.max(1);
        let may_start = instances.ready.len() + instances.starting < max;
        match instances.with_fewest_streams() {
            Some(instance) if instance.streams() == 0 || !may_start => {
                PlaceDecision::Place(PluginInstance::place(instance))
            }
            _ if may_start => {
                instances.starting += 1;
                PlaceDecision::Start
            }
            _ => PlaceDecision::Wait,
        }
    }

    /// The instances, without those that take no more streams.
    fn lock_usable(&self) -> MutexGuard<'_, PooledInstances> {
        let mut instances = self.lock();
        instances.ready.retain(|instance| instance.takes_streams());
        instances
    }

    fn lock(&self) -> MutexGuard<'_, PooledInstances> {
        self.instances
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl EndIdleInstances for InstancePool {
    /// Ends the instances without streams, all but one, which has what the plugin does between streams.
    fn end_idle(&self) {
        let mut idle = Vec::new();
        let mut instances = self.lock();
        let mut at = 0;
        while at < instances.ready.len() && instances.ready.len() > 1 {
            match instances.ready[at].streams() {
                0 => idle.push(instances.ready.swap_remove(at)),
                _ => at += 1,
            }
        }
        // What an instance has is freed when it is dropped, which must not happen under the lock.
        drop(instances);
        idle.iter().for_each(|instance| instance.retire());
    }
}

impl Drop for InstancePool {
    /// The calls of an instance may keep it, each for the next one.
    fn drop(&mut self) {
        self.lock()
            .ready
            .iter()
            .for_each(|instance| instance.retire());
    }
}

impl Drop for StartingInstanceGuard<'_> {
    fn drop(&mut self) {
        self.0.lock().starting -= 1;
        self.0.started.notify_waiters();
    }
}

fn failed_start(error: PluginStartError) -> PluginFailure {
    match error {
        PluginStartError::Call(failure) => failure,
        other => PluginFailure::Instance(other.to_string()),
    }
}
