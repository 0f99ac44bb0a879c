//! Deadlines for waits on sockets.

use pingora_timeout::fast_timeout::fast_sleep;
use std::time::Duration;

/// The deadline passed before the work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineElapsed;

/// Waits for `work`, for `max_wait` at most.
///
/// Uses Pingora's timers, which check the clock every 10 ms: a tokio timer would wake the event loop, and cost a system
/// call, for every request.
///
/// # Errors
/// The deadline passed first; `work` is dropped, which cancels it.
pub async fn in_time<T>(
    max_wait: Duration,
    work: impl Future<Output = T>,
) -> Result<T, DeadlineElapsed> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = fast_sleep(max_wait) => Err(DeadlineElapsed),
    }
}
