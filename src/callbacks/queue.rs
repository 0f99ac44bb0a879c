//! What filters and requests leave to the worker of this process. Outlives snapshots.

use super::counters::{CallbackCounters, DeliveryOutcome};
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// The maximum number of pieces of work that wait; further ones are dropped, and their records expire by themselves.
const WAITING_MAX: usize = 10_000;

/// Wakes the worker, and passes it work that a request could not wait for.
#[derive(Default)]
pub struct CallbackQueue {
    query: Notify,
    delivery: Notify,
    waiting: Mutex<Vec<QueuedWork>>,
    counters: CallbackCounters,
}

/// Work on a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum QueuedWork {
    /// The create did not lead to a task: the subscription is removed.
    Remove { nonce: String },
    /// The store was unreachable when the provider had accepted the task.
    Bind { nonce: String, task: String },
}

impl CallbackQueue {
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
        self.put(QueuedWork::Remove { nonce });
    }

    /// Binds a task to its subscription as soon as the store is reachable.
    pub fn bind_later(&self, nonce: String, task: String) {
        self.put(QueuedWork::Bind { nonce, task });
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

    pub(super) fn put(&self, work: QueuedWork) {
        self.put_back(work);
        self.wake();
    }

    /// Keeps work for the next search, without waking the worker.
    pub(super) fn put_back(&self, work: QueuedWork) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < WAITING_MAX {
            waiting.push(work);
        } else if let QueuedWork::Bind { task, .. } = work {
            self.counters.count(DeliveryOutcome::Lost);
            tracing::error!(
                task_id = task,
                "events lost: too many tasks wait to be bound to their callbacks"
            );
        }
    }

    pub(super) fn take(&self) -> Vec<QueuedWork> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut waiting)
    }
}
