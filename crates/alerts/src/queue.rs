//! Changes of findings, from the thread that looks for them to the worker.

use crate::event::FindingChange;
use headgate_core::feature::finding_listener::FindingListener;
use headgate_core::finding::LiveFinding;
use headgate_core::state::lock::lock;
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::sync::Notify;

/// Changes that are held; the earliest are lost beyond.
const CHANGES_MAX: usize = 1000;

/// Changes of findings that the worker has not taken yet.
#[derive(Default)]
pub(crate) struct AlertQueue {
    changes: Mutex<QueuedChanges>,
    wake: Notify,
}

/// Changes, and how many were lost.
#[derive(Default)]
pub(crate) struct QueuedChanges {
    pub changes: VecDeque<FindingChange>,
    pub lost: usize,
}

impl AlertQueue {
    /// Takes all changes.
    pub fn take(&self) -> QueuedChanges {
        std::mem::take(&mut lock(&self.changes))
    }

    /// Waits until there may be changes, or events that are due.
    pub async fn until_woken(&self) {
        self.wake.notified().await;
    }

    /// Has the worker look for events that are due.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    fn push(&self, change: FindingChange) {
        let mut queued = lock(&self.changes);
        if queued.changes.len() >= CHANGES_MAX {
            queued.changes.pop_front();
            queued.lost += 1;
        }
        queued.changes.push_back(change);
        drop(queued);
        self.wake();
    }
}

impl FindingListener for AlertQueue {
    fn finding_began(&self, finding: &LiveFinding) {
        self.push(FindingChange::Began(finding.clone()));
    }

    fn finding_over(&self, code: &'static str, key: &str) {
        let key = key.to_owned();
        self.push(FindingChange::Over { code, key });
    }
}
