//! Deadlines of waits on sockets.

use pingora_timeout::fast_timeout::fast_sleep;
use std::time::Duration;

/// The time is over, and the work not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineElapsed;

/// Waits for `work`, no longer than `max_wait`.
///
/// The timers are Pingora's, which look at the clock a hundred times a second: a timer of tokio's would
/// wake the event loop, and cost a system call, on every request.
///
/// # Errors
/// The time was over first; `work` is then dropped, which cancels it.
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
