//! What an instance does between the callbacks of streams: its timer and its queues.

use std::future::Future;
use std::sync::{Arc, Weak};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::background::{BackgroundCall, BackgroundCallRunner};
use super::state::{GuestState, QueueListener};

impl GuestState {
    /// Starts the timer of the root context and listens to its queues, if the tasks for it do not run, for example
    /// because the runtime that they ran on has ended.
    pub fn start_background(&mut self) {
        self.start_ticking();
        for queue in &mut self.queues {
            if queue.task.as_ref().is_none_or(AbortHandle::is_finished) {
                queue.task = listen(&self.instance, queue.id, &queue.ready);
            }
        }
    }

    /// Calls `proxy_on_queue_ready` once for each entry of a queue, in one of the instances that listen.
    pub fn listen_to_queue(&mut self, id: u32, ready: Arc<Semaphore>) {
        if self.queues.iter().any(|known| known.id == id) {
            return;
        }
        let task = listen(&self.instance, id, &ready);
        self.queues.push(QueueListener { id, ready, task });
    }

    /// Starts the timer if it is set and does not run.
    pub fn start_ticking(&mut self) {
        let is_running = self
            .tick
            .task
            .as_ref()
            .is_some_and(|task| !task.is_finished());
        let (Some(period), false) = (self.tick.period, is_running) else {
            return;
        };
        let instance = Weak::clone(&self.instance);
        self.tick.task = spawn(async move {
            loop {
                tokio::time::sleep(period).await;
                let Some(instance) = instance.upgrade() else {
                    return;
                };
                if !instance.run(BackgroundCall::Tick).await {
                    return;
                }
            }
        });
    }
}

fn listen(
    instance: &Weak<dyn BackgroundCallRunner>,
    queue: u32,
    ready: &Arc<Semaphore>,
) -> Option<AbortHandle> {
    let (instance, ready) = (Weak::clone(instance), Arc::clone(ready));
    spawn(async move {
        while let Ok(entry) = ready.acquire().await {
            entry.forget();
            let Some(instance) = instance.upgrade() else {
                return;
            };
            if !instance.run(BackgroundCall::QueueReady(queue)).await {
                return;
            }
        }
    })
}

fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Option<AbortHandle> {
    let runtime = Handle::try_current().ok()?;
    Some(runtime.spawn(task).abort_handle())
}
