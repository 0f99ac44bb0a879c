//! Timers of a simulation, by tokio's clock; outside of one, those of Pingora.

use crate::simulated_network;
use pingora_timeout::fast_timeout as pingora;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

/// The time of a wait is over.
#[derive(Debug)]
pub(crate) struct FastTimeoutError;

/// Waits for `duration`.
pub(crate) fn fast_sleep(duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + Sync>> {
    match simulated_network::is_active() {
        true => Box::pin(tokio::time::sleep(duration)),
        false => Box::pin(pingora::fast_sleep(duration)),
    }
}

/// Waits for `work`, for `duration` at most. `work` is boxed: futures of exchanges must not grow by this feature.
pub(crate) fn fast_timeout<F: Future>(
    duration: Duration,
    work: F,
) -> impl Future<Output = Result<F::Output, FastTimeoutError>> {
    let mut work = Box::pin(work);
    let mut timer = None;
    poll_fn(move |context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Ok(done));
        }
        let timer = timer.get_or_insert_with(|| fast_sleep(duration));
        timer.as_mut().poll(context).map(|()| Err(FastTimeoutError))
    })
}
