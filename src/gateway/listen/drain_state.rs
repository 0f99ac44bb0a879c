//! The stages of a process's life that its parts tell each other: it accepts, it closes, its time is over.

use pingora_core::server::ShutdownWatch;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// How far the life of a process has come; no stage is ever taken back.
pub struct DrainState {
    accepting: watch::Sender<bool>,
    closed_to_callers: watch::Sender<bool>,
    admin_closed: watch::Sender<bool>,
    over: watch::Sender<bool>,
    /// The same as `over`, for those who look at it often.
    is_over: AtomicBool,
}

impl DrainState {
    pub fn new() -> Self {
        let stage = || watch::Sender::new(false);
        Self {
            accepting: stage(),
            closed_to_callers: stage(),
            admin_closed: stage(),
            over: stage(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Ends once callers' connections are taken.
    pub async fn until_accepting(&self) {
        until_set(self.accepting.subscribe()).await;
    }

    /// No further connections of callers, and no further requests on those there are.
    pub fn close_to_callers(&self) {
        self.closed_to_callers.send_replace(true);
    }

    /// No further connections for the admin pages.
    pub fn close_admin(&self) {
        self.admin_closed.send_replace(true);
    }

    /// What is still under way is broken off.
    pub fn abort_requests(&self) {
        self.is_over.store(true, Ordering::Release);
        self.over.send_replace(true);
    }

    pub(super) fn accept(&self) {
        self.accepting.send_replace(true);
    }

    pub(in crate::gateway) fn callers(&self) -> ShutdownWatch {
        self.closed_to_callers.subscribe()
    }

    pub(super) fn admin(&self) -> ShutdownWatch {
        self.admin_closed.subscribe()
    }

    pub(in crate::gateway) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Ends when what is under way must end.
    pub(in crate::gateway) async fn until_aborted(&self) {
        until_set(self.over.subscribe()).await;
    }
}

impl Default for DrainState {
    fn default() -> Self {
        Self::new()
    }
}

/// Ends when a stage is reached.
pub(in crate::gateway) async fn until_set(mut stage: ShutdownWatch) {
    if stage.wait_for(|reached| *reached).await.is_err() {
        // Whoever could reach it is gone: it never will be.
        std::future::pending::<()>().await;
    }
}
