//! Tasks that a query or a cancel found to have ended, for the delivery of their status.

use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// The maximum number of tasks that wait; without a reader, further ones are dropped.
const WAITING_MAX: usize = 10_000;

/// The keys of tasks that have ended, until they are taken.
#[derive(Default)]
pub struct EndedTaskQueue {
    keys: Mutex<Vec<Arc<str>>>,
    changed: Notify,
}

impl EndedTaskQueue {
    /// Waits until there are tasks to take.
    pub async fn until_any(&self) {
        self.changed.notified().await;
    }

    /// Takes all keys, in the form of [`task_key`](super::task_key).
    pub fn take(&self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.keys.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps keys for the next time, without waking a reader.
    pub fn put_back(&self, keys: impl Iterator<Item = Arc<str>>) {
        let mut kept = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let room = WAITING_MAX.saturating_sub(kept.len());
        kept.extend(keys.take(room));
    }

    pub(super) fn put(&self, key: &Arc<str>) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() < WAITING_MAX {
            keys.push(key.clone());
        }
        drop(keys);
        self.changed.notify_one();
    }
}
