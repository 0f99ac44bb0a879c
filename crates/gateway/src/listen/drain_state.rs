//! The drain state of the process: accepting, closed to callers, closed to admins, aborted, ending.

use pingora_core::server::ShutdownWatch;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Context;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// How long a connection may still start a request after the process has closed to callers.
pub const LAST_REQUEST: Duration = Duration::from_millis(500);

/// How far the process has drained. A stage that is reached is never reset.
pub struct DrainState {
    accepting: watch::Sender<bool>,
    closed_to_callers: watch::Sender<bool>,
    admin_closed: watch::Sender<bool>,
    over: watch::Sender<bool>,
    /// No request is in flight any more; work in the background is to end.
    ending: watch::Sender<bool>,
    /// The number of services in the background that have not ended.
    background: watch::Sender<usize>,
    /// The value of `over`, for frequent reads.
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
            ending: stage(),
            background: watch::Sender::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// Waits until callers' connections are accepted.
    pub async fn until_accepting(&self) {
        until_set(self.accepting.subscribe()).await;
    }

    /// Stops accepting callers' connections, and further requests on open ones.
    pub fn close_to_callers(&self) {
        self.closed_to_callers.send_replace(true);
    }

    /// Stops accepting connections to the admin pages.
    pub fn close_admin(&self) {
        self.admin_closed.send_replace(true);
    }

    /// Aborts all exchanges that are still running.
    pub fn abort_requests(&self) {
        self.is_over.store(true, Ordering::Release);
        self.over.send_replace(true);
    }

    /// Has the work in the background end, and waits for it no longer than `within`.
    pub async fn end_background(&self, within: Duration) {
        self.ending.send_replace(true);
        let mut background = self.background.subscribe();
        let _ = timeout(within, background.wait_for(|running| *running == 0)).await;
    }

    pub(crate) fn ending(&self) -> ShutdownWatch {
        self.ending.subscribe()
    }

    /// Notes a service in the background, for which the process waits at its end.
    pub(super) fn add_background(&self) {
        self.background.send_modify(|running| *running += 1);
    }

    /// Notes that a service in the background has ended.
    pub(crate) fn background_ended(&self) {
        self.background.send_modify(|running| *running -= 1);
    }

    pub(super) fn accept(&self) {
        self.accepting.send_replace(true);
    }

    pub(crate) fn callers(&self) -> ShutdownWatch {
        self.closed_to_callers.subscribe()
    }

    pub(super) fn admin(&self) -> ShutdownWatch {
        self.admin_closed.subscribe()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Watches for the time when running exchanges are to be aborted.
    pub(crate) fn aborted(&self) -> DrainStageWatch {
        DrainStageWatch::new(self.over.subscribe())
    }
}

impl Default for DrainState {
    fn default() -> Self {
        Self::new()
    }
}

/// Watches for a stage in one task.
pub(crate) struct DrainStageWatch {
    is_reached: bool,
    waiting: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
}

impl DrainStageWatch {
    pub fn new(stage: ShutdownWatch) -> Self {
        Self {
            is_reached: false,
            waiting: Box::pin(until_set(stage)),
        }
    }

    /// Whether the stage is reached; wakes the task when it will be.
    pub fn poll_reached(&mut self, context: &mut Context<'_>) -> bool {
        self.is_reached = self.is_reached || self.waiting.as_mut().poll(context).is_ready();
        self.is_reached
    }
}

/// Waits until a stage is reached.
pub(crate) async fn until_set(mut stage: ShutdownWatch) {
    if stage.wait_for(|reached| *reached).await.is_err() {
        // The sender is gone, so the stage cannot be reached.
        std::future::pending::<()>().await;
    }
}
