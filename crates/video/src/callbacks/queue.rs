//! What filters and requests leave to the worker of this process. Outlives snapshots.

use super::counters::{CallbackCounters, DeliveryOutcome};
use headgate_core::state::lock::lock;
use headgate_core::task::id::TaskId;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// The maximum number of tasks that wait to be bound to their subscriptions.
const WAITING_MAX: usize = 10_000;
/// Removals leave the rest to bindings: without them, records expire by themselves.
const REMOVALS_MAX: usize = WAITING_MAX / 2;

/// Wakes the worker, and passes it work that a request could not wait for.
#[derive(Default)]
pub struct CallbackWorkerQueue {
    query: Notify,
    delivery: Notify,
    work: Notify,
    waiting: Mutex<VecDeque<QueuedSubscriptionChange>>,
    counters: CallbackCounters,
}

/// Work on a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum QueuedSubscriptionChange {
    /// The create did not lead to a task: the subscription is removed.
    Remove { nonce: String },
    /// The store was unreachable when the provider had accepted the task.
    Bind {
        nonce: String,
        /// The caller's id of the task.
        id: String,
        task: Box<TaskId>,
    },
}

impl CallbackWorkerQueue {
    /// Wakes the search for tasks that are to be queried.
    pub fn wake(&self) {
        self.query.notify_one();
    }

    /// Wakes the search for events that are to be delivered.
    pub fn wake_deliveries(&self) {
        self.delivery.notify_one();
    }

    /// Removes a subscription whose create did not lead to a task.
    pub fn remove(&self, nonce: String) {
        self.put(QueuedSubscriptionChange::Remove { nonce });
    }

    /// Binds a task to its subscription as soon as the store is reachable.
    pub fn bind_later(&self, nonce: String, id: String, task: TaskId) {
        self.put(QueuedSubscriptionChange::Bind {
            nonce,
            id,
            task: Box::new(task),
        });
    }

    /// Counts and logs a task whose subscription was gone before it was bound.
    pub fn count_bound_too_late(&self, id: &str) {
        self.counters.count(DeliveryOutcome::Lost);
        tracing::error!(
            task_id = id,
            "events lost: the task was bound to its callback too late"
        );
    }

    /// Counts for metrics.
    pub fn counters(&self) -> &CallbackCounters {
        &self.counters
    }

    pub(super) async fn until_query(&self) {
        self.query.notified().await;
    }

    pub(super) async fn until_delivery(&self) {
        self.delivery.notified().await;
    }

    pub(super) async fn until_work(&self) {
        self.work.notified().await;
    }

    /// The first pieces of work, which stay in the queue until they are done.
    pub(super) fn first(&self, count: usize) -> Vec<QueuedSubscriptionChange> {
        self.lock().iter().take(count).cloned().collect()
    }

    /// Removes work that is done.
    pub(super) fn done(&self, work: &QueuedSubscriptionChange) {
        let mut waiting = self.lock();
        if let Some(at) = waiting.iter().position(|waiting| waiting == work) {
            waiting.remove(at);
        }
    }

    /// Empties the queue at the end of the process: the tasks that were not bound are counted as lost. Returns their ids.
    pub(super) fn end(&self) -> Vec<String> {
        let left = std::mem::take(&mut *self.lock());
        let ids = left.into_iter().filter_map(|work| match work {
            QueuedSubscriptionChange::Bind { id, .. } => Some(id),
            QueuedSubscriptionChange::Remove { .. } => None,
        });
        let ids: Vec<String> = ids.collect();
        ids.iter()
            .for_each(|_| self.counters.count(DeliveryOutcome::Lost));
        ids
    }

    fn put(&self, work: QueuedSubscriptionChange) {
        let mut waiting = self.lock();
        let room = match &work {
            QueuedSubscriptionChange::Remove { .. } => REMOVALS_MAX,
            QueuedSubscriptionChange::Bind { .. } => WAITING_MAX,
        };
        if waiting.len() < room {
            waiting.push_back(work);
            drop(waiting);
            self.work.notify_one();
        } else if let QueuedSubscriptionChange::Bind { id, .. } = work {
            drop(waiting);
            self.counters.count(DeliveryOutcome::Lost);
            tracing::error!(
                task_id = id,
                "events lost: too many tasks wait to be bound to their callbacks"
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<QueuedSubscriptionChange>> {
        lock(&self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removals_leave_room_to_bindings() {
        let queue = CallbackWorkerQueue::default();
        for n in 0..WAITING_MAX {
            queue.remove(n.to_string());
        }
        assert_eq!(queue.first(WAITING_MAX).len(), REMOVALS_MAX);
        let task = crate::callbacks::tests::task();
        for n in 0..WAITING_MAX {
            queue.bind_later(n.to_string(), format!("task_{n}"), task.clone());
        }
        let lost = |queue: &CallbackWorkerQueue| queue.counters().total(DeliveryOutcome::Lost);
        let bound = WAITING_MAX - REMOVALS_MAX;
        assert_eq!(lost(&queue), (WAITING_MAX - bound) as u64);
        // Only tasks are lost with the process, and each of them is counted.
        assert_eq!(queue.end().len(), bound);
        assert_eq!(lost(&queue), WAITING_MAX as u64);
    }
}
