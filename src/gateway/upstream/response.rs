//! A provider's response: its head, and its body chunk by chunk, with the channel's credentials masked.

use super::bounded_body::{BodyEnd, ChunkSource, CollectedBody};
use super::connection::UpstreamConnection;
use super::idle_timeout::IdleTimeout;
use crate::catalog::channel::Timeouts;
use crate::gateway::deadline::{DeadlineElapsed, in_time};
use crate::gateway::fault_from;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::mask::{ChannelSecrets, SecretMasker};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A provider's response. The timeouts of the request apply to reading the body.
pub struct UpstreamResponse {
    connection: Box<UpstreamConnection>,
    pub status: StatusCode,
    timeouts: Timeouts,
    /// When the whole response must have arrived.
    deadline: Instant,
    idle: IdleTimeout,
    /// Masks the channel's credentials, in case the provider repeats them.
    masker: SecretMasker,
    /// Chunks that were peeked and not taken yet.
    peeked: VecDeque<Bytes>,
    /// The body ends after the peeked chunks.
    has_ended: bool,
    /// When the first chunk was taken.
    first_chunk: Option<Instant>,
    /// How often the request was sent again on another connection.
    pub resends: u8,
}

/// Why no chunk was read.
#[derive(Debug)]
pub enum BodyReadError {
    /// The wait timed out. The chunk may still arrive, and no data is lost.
    TimedOut,
    Broken(Fault),
}

impl ChunkSource for UpstreamResponse {
    fn next_chunk(&mut self) -> impl Future<Output = Result<Option<Bytes>, Fault>> + Send {
        Self::next_chunk(self)
    }
}

impl UpstreamResponse {
    /// Wraps a connection on which the head of the response was read.
    pub(super) fn new(
        connection: Box<UpstreamConnection>,
        timeouts: Timeouts,
        deadline: Instant,
        secrets: Arc<ChannelSecrets>,
    ) -> Self {
        let (status, _) = head_of(&connection);
        Self {
            status,
            connection,
            timeouts,
            deadline,
            idle: IdleTimeout::default(),
            masker: SecretMasker::new(secrets),
            peeked: VecDeque::new(),
            has_ended: false,
            first_chunk: None,
            resends: 0,
        }
    }

    pub fn headers(&self) -> &HeaderMap {
        head_of(&self.connection).1
    }

    /// Time until the request's total timeout.
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// When the first chunk of the body was taken.
    pub fn first_chunk(&self) -> Option<Instant> {
        self.first_chunk
    }

    /// The next chunk of the body; `None` at its end.
    ///
    /// # Errors
    /// The connection broke, or the provider timed out.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        let chunk = match self.peeked.pop_front() {
            Some(chunk) => Some(chunk),
            None if self.has_ended => None,
            None => self.read_chunk().await?,
        };
        if chunk.is_some() && self.first_chunk.is_none() {
            self.first_chunk = Some(Instant::now());
        }
        Ok(chunk)
    }

    /// Whether the body is known to end after the chunks that were taken. Where this is not known before the next read,
    /// as on HTTP/2, the result is `false`.
    pub fn is_at_end(&self) -> bool {
        let is_read = self.connection.session().is_at_end();
        self.peeked.is_empty() && !self.masker.holds_back() && (self.has_ended || is_read)
    }

    /// Waits for the next chunk that was not peeked before. [`Self::next_chunk`] returns the chunk again.
    ///
    /// # Errors
    /// Like [`Self::next_chunk`].
    pub async fn peek_chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        let chunk = self.read_chunk().await?;
        Ok(self.peeked(chunk))
    }

    /// Like [`Self::peek_chunk`], with `max_wait` in place of the idle timeout.
    ///
    /// # Errors
    /// The wait timed out, or the connection broke.
    pub async fn peek_chunk_within(
        &mut self,
        max_wait: Duration,
    ) -> Result<Option<Bytes>, BodyReadError> {
        let max_wait = max_wait.min(self.time_left());
        let chunk = self.read_chunk_within(max_wait).await?;
        Ok(self.peeked(chunk))
    }

    fn peeked(&mut self, chunk: Option<Bytes>) -> Option<Bytes> {
        match &chunk {
            Some(chunk) => self.peeked.push_back(chunk.clone()),
            None => self.has_ended = true,
        }
        chunk
    }

    /// Reads the body until it exceeds `bytes_max` bytes.
    pub fn read_bounded(&mut self, bytes_max: usize) -> impl Future<Output = CollectedBody> + Send {
        let declared = self.declared_bytes();
        CollectedBody::read(self, declared, bytes_max)
    }

    /// Reads the body to its end without keeping it.
    pub async fn discard_body(&mut self) -> CollectedBody {
        let end = loop {
            match self.next_chunk().await {
                Ok(Some(_)) => {}
                Ok(None) => break BodyEnd::Complete,
                Err(fault) => break BodyEnd::Broken(fault),
            }
        };
        CollectedBody {
            bytes: Bytes::new(),
            end,
        }
    }

    /// Returns a body that was read to the response, so that [`Self::next_chunk`] returns it.
    pub fn put_back(&mut self, body: &CollectedBody) {
        self.peeked.push_front(body.bytes.clone());
        self.has_ended = matches!(body.end, BodyEnd::Complete);
        self.first_chunk = None;
    }

    /// Returns the connection to its pool if the response was read to its end and its framing is unambiguous; otherwise
    /// closes it.
    pub async fn give_back(self) {
        match self.connection.is_reusable() {
            true => self.connection.release(),
            false => self.connection.close().await,
        }
    }

    /// Closes the connection of a response that is no longer needed.
    pub async fn discard(self) {
        self.connection.close().await;
    }

    /// The declared length of the body in bytes; 0 if the provider declares none.
    fn declared_bytes(&self) -> usize {
        let length = self.headers().get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        length.unwrap_or(0)
    }

    async fn read_chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        let deadline = self.deadline.min(Instant::now() + self.timeouts.idle);
        let reading = self.connection.session_mut().read_body();
        match self.idle.until(deadline, reading).await {
            Ok(Ok(chunk)) => Ok(self.masked(chunk)),
            Ok(Err(error)) => Err(fault_from::upstream(error)),
            Err(DeadlineElapsed) => Err(self.silent()),
        }
    }

    async fn read_chunk_within(
        &mut self,
        max_wait: Duration,
    ) -> Result<Option<Bytes>, BodyReadError> {
        let reading = self.connection.session_mut().read_body();
        let read = in_time(max_wait, pin!(reading)).await;
        match read {
            Ok(Ok(chunk)) => Ok(self.masked(chunk)),
            Ok(Err(error)) => Err(BodyReadError::Broken(fault_from::upstream(error))),
            Err(DeadlineElapsed) => Err(BodyReadError::TimedOut),
        }
    }

    fn masked(&mut self, chunk: Option<Bytes>) -> Option<Bytes> {
        match chunk {
            Some(chunk) => Some(self.masker.push(chunk)),
            None => Some(self.masker.finish()).filter(|rest| !rest.is_empty()),
        }
    }

    fn silent(&self) -> Fault {
        Fault::new(
            FaultKind::UpstreamTimeout,
            "the provider stopped sending its response; try again",
        )
        .detail(format!(
            "no byte for {:?}, or the request's total time is over",
            self.timeouts.idle
        ))
    }
}

fn head_of(connection: &UpstreamConnection) -> (StatusCode, &HeaderMap) {
    let head = connection.session().head();
    head.expect("the response's head was read")
}
