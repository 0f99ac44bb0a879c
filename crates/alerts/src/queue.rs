//! Changes of findings that are not stored yet.

use crate::event::FindingChange;
use headgate_core::feature::finding_listener::FindingListener;
use headgate_core::finding::{FindingSeverity, LiveFinding};
use headgate_core::state::lock::lock;
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::sync::Notify;

/// Changes that are held; the earliest are lost beyond.
const CHANGES_MAX: usize = 1000;

/// Changes of findings, from the thread that looks for them to the worker.
#[derive(Default)]
pub(crate) struct AlertQueue {
    changes: Mutex<VecDeque<FindingChange>>,
    wake: Notify,
}

impl AlertQueue {
    /// Takes all changes.
    pub fn take(&self) -> Vec<FindingChange> {
        lock(&self.changes).drain(..).collect()
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
        let mut changes = lock(&self.changes);
        if changes.len() >= CHANGES_MAX {
            changes.pop_front();
        }
        changes.push_back(change);
        drop(changes);
        self.wake();
    }
}

impl FindingListener for AlertQueue {
    fn finding_began(&self, finding: &LiveFinding) {
        self.push(FindingChange::Began(finding.clone()));
    }

    fn finding_over(&self, severity: FindingSeverity, code: &'static str, subject: &str) {
        self.push(FindingChange::Over {
            severity,
            code,
            subject: subject.to_owned(),
        });
    }
}
