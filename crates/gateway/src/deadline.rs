//! Deadlines for waits on sockets.
//!
//! Uses Pingora's timers, which check the clock every 10 ms: a tokio timer would wake the event loop, and cost a system
//! call, for every request. A timer that is no longer waited for runs on, and serves a later wait of its thread: setting
//! one takes more than a read of a socket.

use crate::timers::{self, fast_sleep};
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Maximum number of timers that each thread keeps for later waits.
const SPARE_TIMERS_MAX: usize = 64;

thread_local! {
    static SPARE_TIMERS: RefCell<Vec<RunningTimer>> = const { RefCell::new(Vec::new()) };
}

/// The deadline passed before the work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineElapsed;

/// Waits for `work`, for `max_wait` at most, counted from the first time that it is not ready.
///
/// # Errors
/// The deadline passed first; `work` is dropped, which cancels it.
pub fn in_time<T>(
    max_wait: Duration,
    work: impl Future<Output = T>,
) -> impl Future<Output = Result<T, DeadlineElapsed>> {
    // No `async fn`, whose future would contain `work` once more.
    wait_with_timer(work, move |timer, context| timer.poll(max_wait, context))
}

/// Waits for `work` until `deadline`. Work that is ready at once is done in any case.
///
/// # Errors
/// The deadline passed first; `work` is dropped, which cancels it.
pub fn in_time_until<T>(
    deadline: Instant,
    work: impl Future<Output = T>,
) -> impl Future<Output = Result<T, DeadlineElapsed>> {
    wait_with_timer(work, move |timer, context| {
        timer.poll_until(deadline, context)
    })
}

async fn wait_with_timer<T>(
    work: impl Future<Output = T>,
    poll_timer: impl Fn(&mut WaitTimer, &mut Context<'_>) -> Poll<()>,
) -> Result<T, DeadlineElapsed> {
    let mut work = pin!(work);
    let mut timer = WaitTimer::default();
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Ok(done)),
        Poll::Pending => poll_timer(&mut timer, context).map(|()| Err(DeadlineElapsed)),
    })
    .await
}

/// The timer of one wait. It starts when it is first polled.
#[derive(Default)]
pub struct WaitTimer {
    deadline: Option<Instant>,
    running: Option<RunningTimer>,
}

/// A timer that runs, for this wait or a later one. While it is spare, its end wakes the last task that waited for it, once and
/// for nothing.
struct RunningTimer {
    ends: Instant,
    sleep: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
}

impl WaitTimer {
    /// Ready when `max_wait` has passed since the first call.
    pub fn poll(&mut self, max_wait: Duration, context: &mut Context<'_>) -> Poll<()> {
        if self.deadline.is_none() {
            self.deadline = Instant::now().checked_add(max_wait);
        }
        match self.deadline {
            Some(deadline) => self.poll_until(deadline, context),
            // A wait that is longer than the clock can tell.
            None => Poll::Pending,
        }
    }

    /// Ready when `deadline` has passed.
    pub fn poll_until(&mut self, deadline: Instant, context: &mut Context<'_>) -> Poll<()> {
        if self.running.is_none() {
            self.running = RunningTimer::spare_until(deadline);
        }
        loop {
            if let Some(running) = &mut self.running {
                ready!(running.sleep.as_mut().poll(context));
                self.running = None;
            }
            // The timer may have been one of an earlier wait, which ended before.
            let now = Instant::now();
            if now >= deadline {
                return Poll::Ready(());
            }
            self.running = Some(RunningTimer {
                ends: deadline,
                sleep: Box::pin(fast_sleep(deadline - now)),
            });
        }
    }
}

impl Drop for WaitTimer {
    fn drop(&mut self) {
        let Some(running) = self.running.take().filter(|_| timers::are_reusable()) else {
            return;
        };
        // A thread that ends keeps no timers.
        let _ = SPARE_TIMERS.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE_TIMERS_MAX {
                spare.push(running);
            } else if let Some(last) = spare.last_mut()
                && running.ends < last.ends
            {
                // A timer that ends early serves more waits.
                *last = running;
            }
        });
    }
}

impl RunningTimer {
    /// The last spare timer of this thread that has not ended, if it ends until `deadline`.
    fn spare_until(deadline: Instant) -> Option<Self> {
        SPARE_TIMERS.with_borrow_mut(|spare| {
            loop {
                let timer = spare.pop_if(|timer| timer.ends <= deadline)?;
                // One that has ended may never wake its task: Pingora's timers can miss an end that comes while they
                // are polled for the first time.
                if timer.ends > Instant::now() {
                    return Some(timer);
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::time::sleep;

    const SHORT: Duration = Duration::from_millis(40);

    fn spare_timers() -> usize {
        SPARE_TIMERS.with_borrow(Vec::len)
    }

    #[tokio::test]
    async fn each_wait_has_its_own_deadline() {
        for _ in 0..4 {
            assert_eq!(in_time(SHORT * 2, sleep(SHORT)).await, Ok(()));
        }
        let began = Instant::now();
        let done = in_time(SHORT, sleep(SHORT * 20)).await;
        assert_eq!(done, Err(DeadlineElapsed));
        assert!(began.elapsed() >= SHORT);
        assert_eq!(in_time(SHORT, async { 7 }).await, Ok(7));
        let done = in_time(Duration::ZERO, pending::<()>());
        assert_eq!(done.await, Err(DeadlineElapsed));
        assert_eq!(in_time(Duration::MAX, sleep(SHORT)).await, Ok(()));
    }

    #[tokio::test]
    async fn a_timer_of_an_earlier_wait_neither_shortens_nor_lengthens_a_later_one() {
        assert_eq!(in_time(SHORT, sleep(SHORT / 4)).await, Ok(()));
        assert_eq!(spare_timers(), 1);
        let began = Instant::now();
        let done = in_time(SHORT * 3, pending::<()>()).await;
        assert_eq!(done, Err(DeadlineElapsed));
        assert!(began.elapsed() >= SHORT * 3);

        assert_eq!(in_time(SHORT * 1000, sleep(SHORT / 4)).await, Ok(()));
        let done = in_time(SHORT, pending::<()>()).await;
        assert_eq!(done, Err(DeadlineElapsed));
        assert_eq!(spare_timers(), 1);
    }

    #[tokio::test]
    async fn a_spare_timer_that_ended_and_woke_nobody_serves_no_wait() {
        SPARE_TIMERS.with_borrow_mut(|spare| {
            spare.push(RunningTimer {
                ends: Instant::now(),
                sleep: Box::pin(pending()),
            });
        });
        let done = in_time(SHORT, pending::<()>()).await;
        assert_eq!(done, Err(DeadlineElapsed));
    }

    #[tokio::test]
    async fn one_wait_after_the_other_sets_one_timer_and_a_crowd_leaves_a_bounded_number() {
        for _ in 0..100 {
            let waited = in_time(SHORT * 1000, tokio::task::yield_now());
            assert_eq!(waited.await, Ok(()));
        }
        assert_eq!(spare_timers(), 1);
        let waits = (0..200).map(|_| Box::pin(in_time(SHORT * 1000, sleep(SHORT))));
        let mut waits: Vec<_> = waits.collect();
        poll_fn(|context| {
            waits.retain_mut(|wait| wait.as_mut().poll(context).is_pending());
            match waits.is_empty() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
        assert_eq!(spare_timers(), SPARE_TIMERS_MAX);
    }
}
