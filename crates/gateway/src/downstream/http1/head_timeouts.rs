//! How long a connection waits for the head of its next request.

use super::Http1ServerSession;
use super::connection::Http1ConnectionLimits;
use super::read_error::Http1ReadError;
use crate::deadline::WaitTimer;
use crate::listen::drain_state::{DrainStageWatch, LAST_REQUEST};
use std::future::poll_fn;
use std::task::Poll;

impl Http1ServerSession {
    /// Reads the head of the next request; returns `false` if none comes in time. After the process has closed to callers,
    /// which `closing` watches for, it must start within [`LAST_REQUEST`].
    ///
    /// # Errors
    /// What arrived is no head, or the connection broke.
    pub async fn read_head(
        &mut self,
        limits: Http1ConnectionLimits,
        closing: &mut DrainStageWatch,
    ) -> Result<bool, Http1ReadError> {
        self.begin_request(limits.head_bytes_max);
        let (mut idle, mut last_request, mut late) = <(WaitTimer, WaitTimer, WaitTimer)>::default();
        poll_fn(|context| {
            if let Poll::Ready(read) = self.poll_read_head(context) {
                return Poll::Ready(read);
            }
            // Empty lines start the deadline, too, but no request.
            if self.head.has_received && late.poll(limits.head_timeout, context).is_ready() {
                return Poll::Ready(Ok(false));
            }
            if self.head.has_begun {
                return Poll::Pending;
            }
            let over = match closing.poll_reached(context) {
                false => idle.poll(limits.idle_timeout, context),
                true => last_request.poll(LAST_REQUEST, context),
            };
            over.map(|()| Ok(false))
        })
        .await
    }
}
