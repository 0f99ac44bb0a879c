//! Waiting with a deadline, and long work off the worker threads, for filters that store media.

use std::future::Future;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// The result of `work`; `None` if it takes longer than `limit`, and is then dropped.
pub async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    timeout(limit, work).await.ok()
}

/// The result of `work`, which runs on a thread for blocking work; `None` if the process ends, or `work` panicked in a
/// build that does not abort then. Release builds abort.
pub async fn off_workers<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    spawn_blocking(work).await.ok()
}
