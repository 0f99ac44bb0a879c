//! Waits for the next chunk of a stream: meanwhile the caller gets keep-alive comments, and filters may end the stream.

use super::RelayedStream;
use crate::deadline::DeadlineElapsed;
use crate::exchange::Exchange;
use crate::exchange::keep_alive::KEEP_ALIVE_COMMENT;
use crate::upstream::response::UpstreamResponse;
use bytes::Bytes;
use headgate_core::filter::stream_guard::GuardedStream;
use headgate_protocol::fault::Fault;
use std::pin::pin;
use std::time::Duration;
use tokio::time::Instant;

/// How often a stream is checked while its provider is silent.
const CHECKED_EVERY: Duration = Duration::from_secs(1);

/// What happens while a chunk is awaited.
#[derive(Clone, Copy)]
pub(super) struct StreamWaits {
    /// A keep-alive comment is sent each time the provider was silent for this long.
    pub heartbeat: Option<Duration>,
    /// Whether a filter may end the stream.
    pub is_guarded: bool,
    /// When the wait ends without a chunk.
    pub until: Option<Instant>,
}

impl Exchange<'_> {
    /// Whether a filter may end the stream of this exchange.
    pub(super) fn is_stream_guarded(&self) -> bool {
        self.request.state.get::<GuardedStream>().is_some()
    }

    /// Checks a guarded stream after a chunk of it, unless the caller has its last event, or the start of one that is too large.
    ///
    /// # Errors
    /// The stream ends here.
    pub(super) fn check_stream(&self, stream: &RelayedStream<'_>) -> Result<(), Fault> {
        match stream.is_over() || stream.decoder.is_in_oversize() {
            true => Ok(()),
            false => self.check_guard(),
        }
    }

    fn check_guard(&self) -> Result<(), Fault> {
        let guard = self.request.state.get::<GuardedStream>();
        guard.map_or(Ok(()), |guard| guard.0.check(&self.request))
    }

    /// The next chunk of the stream; `None` at its end.
    ///
    /// # Errors
    /// The provider's response broke off, the caller has left, or the stream ends here.
    pub(super) async fn next_stream_chunk(
        &mut self,
        response: &mut UpstreamResponse,
        waits: StreamWaits,
    ) -> Result<Result<Option<Bytes>, DeadlineElapsed>, Fault> {
        let StreamWaits {
            heartbeat,
            is_guarded,
            until,
        } = waits;
        let mut reading = pin!(response.next_chunk());
        let after = |every: Option<Duration>| every.map(|every| Instant::now() + every);
        let mut next_comment = after(heartbeat);
        let mut next_check = after(is_guarded.then_some(CHECKED_EVERY));
        loop {
            let first = [next_comment, next_check, until].into_iter().flatten();
            let Some(first) = first.min() else {
                let chunk = self.downstream.until_client_gone(reading.as_mut());
                return chunk.await?.map(Ok);
            };
            let max_wait = first.saturating_duration_since(Instant::now());
            let waited = self
                .downstream
                .until_client_gone_within(max_wait, reading.as_mut());
            match waited.await? {
                Ok(chunk) => return chunk.map(Ok),
                Err(DeadlineElapsed) if until == Some(first) => return Ok(Err(DeadlineElapsed)),
                Err(DeadlineElapsed) if next_comment == Some(first) => {
                    let comment = Bytes::from_static(KEEP_ALIVE_COMMENT);
                    self.downstream.write(comment, false).await?;
                    next_comment = after(heartbeat);
                }
                Err(DeadlineElapsed) => {
                    self.check_guard()?;
                    next_check = after(is_guarded.then_some(CHECKED_EVERY));
                }
            }
        }
    }
}
