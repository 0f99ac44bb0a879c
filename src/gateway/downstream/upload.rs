//! A body on its way from the caller to the provider while it comes in.

use super::{Downstream, RequestBodyState, WaitInterruption, incomplete};
use crate::filter::body_stream::BodySender;
use crate::filter::limit_body::too_large;
use crate::gateway::fault_from;
use crate::protocol::fault::Fault;
use pingora_timeout::fast_timeout::fast_timeout;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

/// A large body takes its time: for so many bytes the caller gets one second more.
const BYTES_PER_SECOND_MIN: u64 = 128 << 10;

/// A body that streams, and its bounds.
pub struct StreamingUpload {
    pub sender: BodySender,
    pub bytes_max: u64,
    /// How long the gateway waits for the caller, all pieces together, and one second more for each 128 KiB that
    /// came. The time that the provider takes is not counted.
    pub deadline: Duration,
}

impl Downstream {
    /// As [`Downstream::race`], while the caller's body passes to `upload`. Work that is done first leaves the
    /// rest of the body unread.
    ///
    /// # Errors
    /// What interrupted it; `work` is then dropped, and the provider gets no complete body.
    pub async fn race_upload<T>(
        &mut self,
        upload: StreamingUpload,
        work: impl Future<Output = T>,
    ) -> Result<T, WaitInterruption> {
        let mut work = pin!(work);
        let drain_state = self.drain_state.clone();
        let over = poll_fn(|_| match drain_state.is_over() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        });
        tokio::select! {
            biased;
            () = over => return Err(WaitInterruption::Ending),
            done = work.as_mut() => return Ok(done),
            passed = self.pass_body(upload) => {
                passed.map_err(|fault| WaitInterruption::BadBody(Box::new(fault)))?;
            }
        }
        self.race(work).await
    }

    async fn pass_body(&mut self, upload: StreamingUpload) -> Result<(), Fault> {
        let StreamingUpload {
            sender,
            bytes_max,
            deadline,
        } = upload;
        self.send_continue().await?;
        let mut waited = Duration::ZERO;
        loop {
            let allowed = deadline + Duration::from_secs(self.bytes_in / BYTES_PER_SECOND_MIN);
            let left = allowed.saturating_sub(waited);
            let began = Instant::now();
            let read = fast_timeout(left, self.session.read_request_body()).await;
            waited += began.elapsed();
            let piece = read
                .map_err(|_| incomplete(allowed))?
                .map_err(fault_from::downstream_read)?;
            let Some(piece) = piece else {
                break;
            };
            self.bytes_in += piece.len() as u64;
            if self.bytes_in > bytes_max {
                return Err(too_large(bytes_max));
            }
            sender.send(piece).await;
        }
        self.end_body(self.bytes_in == 0)?;
        sender.end().await;
        Ok(())
    }

    /// Marks the body as read once it is known to have ended where every reader ends it.
    pub(super) fn end_body(&mut self, is_empty: bool) -> Result<(), Fault> {
        match &self.inspection {
            Some(inspection) => inspection.end_body().map_err(fault_from::inspection)?,
            // Not by the letter: a malformed first size may have ended it.
            None if is_empty => self.session.set_keepalive(None),
            None => {}
        }
        self.body = RequestBodyState::Read;
        Ok(())
    }
}
