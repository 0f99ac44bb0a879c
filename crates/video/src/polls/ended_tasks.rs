//! Tasks that a query or a cancel found to have ended, for the delivery of their status.

use headgate_core::state::lock::lock;
use headgate_core::task::family::TaskCharge;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// The maximum number of tasks that wait; without a reader, further ones are dropped.
const WAITING_MAX: usize = 10_000;

/// Tasks that have ended, until they are taken.
#[derive(Default)]
pub struct EndedTaskQueue {
    tasks: Mutex<Vec<EndedTask>>,
    changed: Notify,
}

/// A task that has ended.
#[derive(Clone, Debug)]
pub struct EndedTask {
    /// In the form of [`task_key`](super::task_key).
    pub key: Arc<str>,
    /// What its provider reports about the charge.
    pub charge: TaskCharge,
}

impl EndedTaskQueue {
    /// Waits until there are tasks to take.
    pub async fn until_any(&self) {
        self.changed.notified().await;
    }

    /// Takes all tasks.
    pub fn take(&self) -> Vec<EndedTask> {
        std::mem::take(&mut lock(&self.tasks))
    }

    /// Keeps tasks for the next time, without waking a reader.
    pub fn put_back(&self, tasks: impl Iterator<Item = EndedTask>) {
        let mut kept = lock(&self.tasks);
        let room = WAITING_MAX.saturating_sub(kept.len());
        kept.extend(tasks.take(room));
    }

    pub(super) fn put(&self, task: EndedTask) {
        let mut tasks = lock(&self.tasks);
        if tasks.len() < WAITING_MAX {
            tasks.push(task);
        }
        drop(tasks);
        self.changed.notify_one();
    }
}
