//! Streams a request body from the caller to the provider while it arrives.

use super::request_body_state::RequestBodyState;
use super::{DownstreamSession, UpstreamWaitInterruption, incomplete};
use crate::timers::fast_timeout;
use headgate_core::filter::body_limit::too_large;
use headgate_core::filter::body_stream::RequestBodySender;
use headgate_observe::open_requests::{OpenRequest, WaitSide};
use headgate_protocol::fault::Fault;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Minimum rate of an upload: each this many bytes extend the deadline by one second.
const BYTES_PER_SECOND_MIN: u64 = 128 << 10;

/// A streaming body with its limits.
pub struct StreamingUpload {
    pub sender: RequestBodySender,
    pub bytes_max: u64,
    /// Maximum time that the gateway waits for the caller, summed over all pieces, plus one second for each 128 KiB
    /// received. Waits for the provider do not count.
    pub deadline: Duration,
    /// The request whose current wait is shown to operators.
    pub open: Arc<OpenRequest>,
}

impl DownstreamSession {
    /// Like [`DownstreamSession::race`], while the caller's body passes to `upload`. If `work` ends first, the rest of the
    /// body stays unread.
    ///
    /// # Errors
    /// The reason of the interruption; `work` is dropped, and the provider does not get a complete body.
    pub async fn race_upload<T>(
        &mut self,
        upload: StreamingUpload,
        work: impl Future<Output = T>,
    ) -> Result<T, UpstreamWaitInterruption> {
        let mut work = pin!(work);
        let drain_state = self.drain_state.clone();
        let over = poll_fn(|_| match drain_state.is_over() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        });
        tokio::select! {
            biased;
            () = over => return Err(UpstreamWaitInterruption::Ending),
            done = work.as_mut() => return Ok(done),
            passed = self.pass_body(upload) => {
                passed.map_err(UpstreamWaitInterruption::BadBody)?;
            }
        }
        self.race(work).await
    }

    async fn pass_body(&mut self, upload: StreamingUpload) -> Result<(), Fault> {
        let StreamingUpload {
            sender,
            bytes_max,
            deadline,
            open,
        } = upload;
        self.send_continue().await?;
        let mut waited = Duration::ZERO;
        loop {
            let allowed = deadline + Duration::from_secs(self.bytes_in / BYTES_PER_SECOND_MIN);
            let left = allowed.saturating_sub(waited);
            let began = Instant::now();
            // Meanwhile the provider waits for the body.
            open.waits_for(WaitSide::ClientBody, began);
            let read = fast_timeout(left, self.session.read_body()).await;
            let ended = Instant::now();
            open.waits_for(WaitSide::Upstream, ended);
            waited += ended - began;
            let piece = read.map_err(|_| incomplete(allowed))??;
            let Some(piece) = piece else {
                break;
            };
            self.bytes_in += piece.len() as u64;
            if self.bytes_in > bytes_max {
                return Err(too_large(None, bytes_max));
            }
            // Boxed: the future of each exchange would contain it. The provider may be slower than the caller.
            Box::pin(self.race(sender.send(piece))).await?;
        }
        self.body = RequestBodyState::Read;
        Ok(Box::pin(self.race(sender.end())).await?)
    }
}
