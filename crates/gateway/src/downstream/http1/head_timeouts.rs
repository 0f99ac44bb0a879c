//! How long a connection waits for the head of its next request.

use super::Http1ServerSession;
use super::read_error::Http1ReadError;
use crate::listen::drain_state::{LAST_REQUEST, until_set};
use pingora_core::server::ShutdownWatch;
use pingora_timeout::fast_timeout::fast_sleep;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Time limits for receiving a head.
pub struct RequestHeadTimeouts {
    /// From the start of the wait to the first byte.
    pub idle: Duration,
    /// From the first byte to the end.
    pub deadline: Duration,
}

impl Http1ServerSession {
    /// Reads the head of the next request, of `bytes_max` bytes at most; returns `false` if none comes in time. After the
    /// process has closed to callers, it must start within [`LAST_REQUEST`].
    ///
    /// # Errors
    /// What arrived is no head, or the connection broke.
    pub async fn read_head(
        &mut self,
        bytes_max: usize,
        times: RequestHeadTimeouts,
        closing: &ShutdownWatch,
    ) -> Result<bool, Http1ReadError> {
        self.begin_request(bytes_max);
        let mut idle_is_over = pin!(fast_sleep(times.idle));
        let mut closing = pin!(until_set(closing.clone()));
        let mut is_closing = false;
        // Both timers start when they are first polled.
        let mut last_request = pin!(fast_sleep(LAST_REQUEST));
        let mut late = pin!(fast_sleep(times.deadline));
        poll_fn(|context| {
            if let Poll::Ready(read) = self.poll_read_head(context) {
                return Poll::Ready(read);
            }
            // Empty lines start the deadline, too, but no request.
            if self.has_received() && late.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(false));
            }
            if self.has_begun() {
                return Poll::Pending;
            }
            is_closing = is_closing || closing.as_mut().poll(context).is_ready();
            let idle = match is_closing {
                false => idle_is_over.as_mut().poll(context),
                true => last_request.as_mut().poll(context),
            };
            idle.map(|()| Ok(false))
        })
        .await
    }
}
