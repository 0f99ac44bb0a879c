//! Deadlines of waits on sockets.

use pingora_timeout::fast_timeout::fast_sleep;
use std::time::Duration;

/// The time is over, and the work not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

/// Waits for `work`, no longer than `patience`.
///
/// The timers are Pingora's, which look at the clock a hundred times a second: a timer of tokio's would
/// wake the event loop, and cost a system call, on every request.
///
/// # Errors
/// The time was over first; `work` is then dropped, which cancels it.
pub async fn in_time<T>(patience: Duration, work: impl Future<Output = T>) -> Result<T, Elapsed> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = fast_sleep(patience) => Err(Elapsed),
    }
}
