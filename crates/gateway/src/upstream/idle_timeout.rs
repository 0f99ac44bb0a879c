//! Ends the wait for the next chunk of a response when the provider is silent for too long.

use crate::deadline::DeadlineElapsed;
use pingora_timeout::fast_timeout::fast_sleep;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use tokio::time::Instant;

/// The idle timeout of one response. A timer that was set for one chunk serves the next ones, too: setting a timer for
/// each event of a stream would take a tenth of the instructions of its relay.
#[derive(Default)]
pub struct ResponseIdleTimer {
    running: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
}

impl ResponseIdleTimer {
    /// Waits for `work` until `deadline`, which must not be before that of an earlier call.
    ///
    /// # Errors
    /// The deadline passed first; `work` is dropped, which cancels it.
    pub async fn until<T>(
        &mut self,
        deadline: Instant,
        work: impl Future<Output = T>,
    ) -> Result<T, DeadlineElapsed> {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            loop {
                if let Some(timer) = &mut self.running
                    && timer.as_mut().poll(context).is_pending()
                {
                    return Poll::Pending;
                }
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    self.running = None;
                    return Poll::Ready(Err(DeadlineElapsed));
                }
                self.running = Some(Box::pin(fast_sleep(left)));
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::sleep;

    const SHORT: Duration = Duration::from_millis(40);

    #[tokio::test]
    async fn each_wait_has_its_own_deadline() {
        let mut timer = ResponseIdleTimer::default();
        for _ in 0..4 {
            let began = Instant::now();
            let done = timer.until(began + SHORT * 2, sleep(SHORT)).await;
            assert_eq!(done, Ok(()));
        }
        let began = Instant::now();
        let done = timer.until(began + SHORT, sleep(SHORT * 20)).await;
        assert_eq!(done, Err(DeadlineElapsed));
        assert!(began.elapsed() >= SHORT);
        assert_eq!(
            timer.until(Instant::now() + SHORT, async { 7 }).await,
            Ok(7)
        );
    }

    #[tokio::test]
    async fn a_deadline_that_has_passed_ends_the_wait_at_once() {
        let mut timer = ResponseIdleTimer::default();
        let done = timer.until(Instant::now(), std::future::pending::<()>());
        assert_eq!(done.await, Err(DeadlineElapsed));
    }
}
