//! Measures how long an exchange waits for the provider and for the caller.
//!
//! A future that is ready at once does not read the clock.

use headgate_observe::captures::exchange_capture::ExchangeCapture;
use headgate_observe::open_requests::{OpenRequest, WaitSide};
use headgate_observe::wait_times::{ExchangeWaitTimes, WaitTime};
use headgate_tracing::ProviderAndCallerWaits;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The wait times of an exchange so far.
#[derive(Default)]
pub struct ExchangeWaitRecorder {
    /// The request whose current wait is shown to operators.
    pub open: Option<Arc<OpenRequest>>,
    upstream: WaitTime,
    client: WaitTime,
    /// Length of the current wait for the provider, which may span several futures.
    current_upstream_wait: Duration,
    /// The longest time between two waits.
    between: Duration,
    last_ended: Option<Instant>,
}

impl ExchangeWaitRecorder {
    /// What is captured of the exchange; `None` if it is not captured.
    pub fn capture(&self) -> Option<&ExchangeCapture> {
        self.open.as_ref()?.capture()
    }

    /// Waits for the provider. `answered` returns whether the result ends the current wait.
    pub async fn upstream<T>(
        &mut self,
        work: impl Future<Output = T>,
        answered: impl Fn(&T) -> bool,
    ) -> T {
        let done = self.measured(WaitSide::Upstream, work).await;
        if answered(&done) {
            self.current_upstream_wait = Duration::ZERO;
        }
        done
    }

    /// Waits for the caller to send the body of its request.
    pub async fn client_body<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.measured(WaitSide::ClientBody, work).await
    }

    /// Waits for the caller to read the response.
    pub async fn client<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.measured(WaitSide::Client, work).await
    }

    /// Moves `time` from the provider's waits to the caller's: a streamed body arrived slowly.
    pub fn move_to_client(&mut self, time: Duration) {
        self.upstream.total = self.upstream.total.saturating_sub(time);
        self.upstream.longest = self.upstream.longest.saturating_sub(time);
        if !time.is_zero() {
            self.client.add(time);
        }
    }

    /// The wait times of an exchange that started at `began` and ends at `end`.
    pub fn settle(&self, began: Instant, end: Instant) -> ExchangeWaitTimes {
        let Self {
            upstream,
            client,
            between,
            last_ended,
            current_upstream_wait: _,
            open: _,
        } = self;
        let total = end - began;
        let since = end - last_ended.unwrap_or(began);
        ExchangeWaitTimes {
            upstream: *upstream,
            client: *client,
            gateway: WaitTime {
                total: total.saturating_sub(upstream.total + client.total),
                longest: since.max(*between),
            },
        }
    }

    /// How long the exchange has waited for each side so far.
    pub fn so_far(&self) -> ProviderAndCallerWaits {
        ProviderAndCallerWaits {
            upstream: self.upstream.total,
            client: self.client.total,
        }
    }

    fn show(&self, side: WaitSide, since: Instant) {
        if let Some(open) = &self.open {
            open.waits_for(side, since);
        }
    }

    async fn measured<T>(&mut self, side: WaitSide, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut recorder = Some(self);
        let mut wait = None;
        // The first poll without a result begins the wait. One more poll would cost a tenth of the instructions that a
        // stream's event takes.
        poll_fn(|context| {
            let polled = work.as_mut().poll(context);
            if polled.is_pending()
                && let Some(recorder) = recorder.take()
            {
                wait = Some(WaitGuard::begin(recorder, side));
            }
            polled
        })
        .await
    }
}

/// A wait in progress. It ends when the guard is dropped, whether the future completed or was cancelled.
struct WaitGuard<'w> {
    wait_times: &'w mut ExchangeWaitRecorder,
    side: WaitSide,
    began: Instant,
}

impl<'w> WaitGuard<'w> {
    fn begin(wait_times: &'w mut ExchangeWaitRecorder, side: WaitSide) -> Self {
        let began = Instant::now();
        if let Some(last_ended) = wait_times.last_ended {
            wait_times.between = wait_times.between.max(began - last_ended);
        }
        wait_times.show(side, began);
        Self {
            wait_times,
            side,
            began,
        }
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        let Self {
            wait_times,
            side,
            began,
        } = self;
        let ended = Instant::now();
        wait_times.last_ended = Some(ended);
        wait_times.show(WaitSide::Gateway, ended);
        match side {
            WaitSide::Upstream => {
                wait_times.current_upstream_wait += ended - *began;
                wait_times.upstream.total += ended - *began;
                wait_times.upstream.longest = wait_times
                    .upstream
                    .longest
                    .max(wait_times.current_upstream_wait);
            }
            WaitSide::Client | WaitSide::ClientBody => wait_times.client.add(ended - *began),
            WaitSide::Gateway => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ExchangeWaitRecorder;
    use headgate_observe::wait_times::{ExchangeWaitTimes, WaitTime};
    use std::future::{Future, poll_fn};
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use std::time::{Duration, Instant};
    use tokio::time::sleep;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_millis(60);

    #[tokio::test]
    async fn time_is_attributed_to_upstream_client_and_gateway() {
        let began = Instant::now();
        let mut wait_times = ExchangeWaitRecorder::default();
        wait_times.upstream(sleep(SHORT), |()| true).await;
        std::thread::sleep(SHORT);
        wait_times.upstream(sleep(SHORT), |()| false).await;
        wait_times.upstream(sleep(LONG), |()| true).await;
        wait_times.client(sleep(SHORT)).await;
        assert_eq!(wait_times.client(async { 7 }).await, 7);
        let ExchangeWaitTimes {
            upstream,
            client,
            gateway,
        } = wait_times.settle(began, Instant::now());
        assert!(upstream.longest >= SHORT + LONG && upstream.total >= SHORT * 2 + LONG);
        assert!(client.longest >= SHORT && client.longest == client.total);
        assert!(gateway.longest >= SHORT && gateway.total >= gateway.longest);
        let sum = upstream.total + client.total + gateway.total;
        assert!(sum >= SHORT * 4 + LONG && sum <= began.elapsed());
    }

    #[tokio::test]
    async fn a_ready_future_counts_as_no_wait() {
        let mut wait_times = ExchangeWaitRecorder::default();
        for _ in 0..100 {
            wait_times.upstream(async {}, |()| true).await;
            wait_times.client(async {}).await;
        }
        let spent = wait_times.settle(Instant::now(), Instant::now());
        assert_eq!(
            (spent.upstream, spent.client),
            (WaitTime::default(), WaitTime::default())
        );
    }

    #[test]
    fn a_future_that_is_not_ready_is_polled_once_for_each_wakeup() {
        let mut wait_times = ExchangeWaitRecorder::default();
        let mut polls = 0;
        let work = poll_fn(|_| {
            polls += 1;
            match polls {
                3 => Poll::Ready(polls),
                _ => Poll::Pending,
            }
        });
        let mut waiting = pin!(wait_times.upstream(work, |_| true));
        let context = &mut Context::from_waker(Waker::noop());
        for done in [Poll::Pending, Poll::Pending, Poll::Ready(3)] {
            assert_eq!(waiting.as_mut().poll(context), done);
        }
    }
}
