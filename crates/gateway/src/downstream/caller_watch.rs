//! Watches the caller while the exchange waits for something else.

use super::DownstreamSession;
use crate::deadline::{DeadlineElapsed, in_time};
use crate::fault_from;
use headgate_protocol::fault::Fault;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Why the wait for a provider ended without a response.
#[derive(Debug)]
pub enum UpstreamWaitInterruption {
    ClientGone,
    /// A streamed body is malformed, too large or too slow, or the caller left before its end.
    BadBody(Fault),
    /// The process ends, and its drain deadline has passed.
    Ending,
}

impl From<UpstreamWaitInterruption> for Fault {
    fn from(interrupted: UpstreamWaitInterruption) -> Self {
        match interrupted {
            UpstreamWaitInterruption::ClientGone => fault_from::gone(),
            UpstreamWaitInterruption::BadBody(fault) => fault,
            UpstreamWaitInterruption::Ending => fault_from::ending(),
        }
    }
}

impl DownstreamSession {
    /// Waits for `work`, until the caller leaves.
    ///
    /// # Errors
    /// The reason of the interruption; `work` is dropped, which cancels it.
    pub async fn until_client_gone<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, UpstreamWaitInterruption> {
        let mut wait_times = std::mem::take(&mut self.wait_times);
        let done = wait_times.upstream(pin!(self.race(work)), |_| true).await;
        self.wait_times = wait_times;
        done
    }

    /// Like [`DownstreamSession::until_client_gone`], for `max_wait` at most.
    ///
    /// # Errors
    /// The reason of the interruption.
    pub async fn until_client_gone_within<T>(
        &mut self,
        max_wait: Duration,
        work: impl Future<Output = T>,
    ) -> Result<Result<T, DeadlineElapsed>, UpstreamWaitInterruption> {
        let mut wait_times = std::mem::take(&mut self.wait_times);
        // The next wait after an elapsed deadline continues the same wait for the provider.
        let ends_wait = |done: &_| !matches!(done, Ok(Err(DeadlineElapsed)));
        let work = self.race(in_time(max_wait, work));
        let done = wait_times.upstream(pin!(work), ends_wait).await;
        self.wait_times = wait_times;
        done
    }

    /// Like [`DownstreamSession::until_client_gone`], for work that measures its own wait times.
    ///
    /// # Errors
    /// The reason of the interruption.
    pub async fn race<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, UpstreamWaitInterruption> {
        let drain_state = &self.drain_state;
        // The task that runs the exchange is woken when the drain deadline passes.
        let over = poll_fn(|_| match drain_state.is_over() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        });
        let (mut over, mut work) = (pin!(over), pin!(work));
        let watches_caller = !self.has_caller_left;
        tokio::select! {
            biased;
            () = over.as_mut() => return Err(UpstreamWaitInterruption::Ending),
            done = work.as_mut() => return Ok(done),
            () = self.session.until_caller_leaves(), if watches_caller => {}
        }
        if !self.detachment.is_armed() {
            return Err(UpstreamWaitInterruption::ClientGone);
        }
        self.has_caller_left = true;
        tokio::select! {
            biased;
            () = over => Err(UpstreamWaitInterruption::Ending),
            done = work => Ok(done),
        }
    }
}
