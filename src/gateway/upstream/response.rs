//! A provider's response: its head, and its body as it comes, without the channel's credentials.

use super::bounded_body::{BodyEnd, BoundedBody, ChunkSource};
use super::connection::UpstreamConnection;
use crate::catalog::channel::Timeouts;
use crate::gateway::deadline::{DeadlineElapsed, in_time};
use crate::gateway::fault_from;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::mask::{ChannelSecrets, SecretMasker};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use pingora_http::ResponseHeader;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A provider's response, whose body is read within the timeouts of the request.
pub struct UpstreamResponse {
    connection: UpstreamConnection,
    pub status: StatusCode,
    timeouts: Timeouts,
    /// When the whole of it must have come.
    deadline: Instant,
    /// Keeps the channel's credentials from whoever reads the body, should the provider repeat one.
    masker: SecretMasker,
    /// Chunks that were peeked at, and are still to be taken.
    peeked: VecDeque<Bytes>,
    /// Behind what was peeked at there is nothing.
    has_ended: bool,
    /// When the first chunk was taken.
    first_chunk: Option<Instant>,
}

/// Why a chunk did not come.
#[derive(Debug)]
pub enum BodyReadError {
    /// Not in time; it may still come, and nothing is lost.
    TimedOut,
    Broken(Fault),
}

impl ChunkSource for UpstreamResponse {
    fn next_chunk(&mut self) -> impl Future<Output = Result<Option<Bytes>, Fault>> + Send {
        Self::next_chunk(self)
    }
}

impl UpstreamResponse {
    /// `connection` has read the head.
    pub(super) fn new(
        connection: UpstreamConnection,
        timeouts: Timeouts,
        deadline: Instant,
        secrets: Arc<ChannelSecrets>,
    ) -> Self {
        let head = connection.session().response_header();
        Self {
            status: head.expect("the response's head was read").status,
            connection,
            timeouts,
            deadline,
            masker: SecretMasker::new(secrets),
            peeked: VecDeque::new(),
            has_ended: false,
            first_chunk: None,
        }
    }

    pub fn headers(&self) -> &HeaderMap {
        &self.head().headers
    }

    fn head(&self) -> &ResponseHeader {
        let head = self.connection.session().response_header();
        head.expect("the response's head was read")
    }

    /// How much time the request's timeouts leave.
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
    /// The connection broke, or the provider was silent for too long.
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

    /// Waits for the next chunk of the body that was not peeked at before; [`Self::next_chunk`] still returns it.
    ///
    /// # Errors
    /// As of [`Self::next_chunk`].
    pub async fn peek_chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        let chunk = self.read_chunk().await?;
        Ok(self.peeked(chunk))
    }

    /// As [`Self::peek_chunk`], for `max_wait` in the place of the idle timeout.
    ///
    /// # Errors
    /// The time was over first, or the connection broke.
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

    /// Takes the body up to about `bytes_max`.
    pub fn read_bounded(&mut self, bytes_max: usize) -> impl Future<Output = BoundedBody> + Send {
        let declared = self.declared_bytes();
        BoundedBody::read(self, declared, bytes_max)
    }

    /// Lets [`Self::next_chunk`] return what was taken once more.
    pub fn put_back(&mut self, body: &BoundedBody) {
        self.peeked.push_front(body.bytes.clone());
        self.has_ended = matches!(body.end, BodyEnd::Complete);
        self.first_chunk = None;
    }

    /// Gives the connection back if the response was read to its end and was odd in no way, and up if not.
    pub async fn give_back(mut self) {
        match self.connection.is_reusable() {
            true => self.connection.release().await,
            false => self.connection.close().await,
        }
    }

    /// Gives up a response that is not wanted any more.
    pub async fn discard(self) {
        self.connection.close().await;
    }

    /// How long the body is, as the provider declares it; 0 where it does not.
    fn declared_bytes(&self) -> usize {
        let length = self.headers().get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        length.unwrap_or(0)
    }

    async fn read_chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        let max_wait = self.timeouts.idle.min(self.time_left());
        let read = self.read_chunk_within(max_wait).await;
        read.map_err(|error| match error {
            BodyReadError::TimedOut => self.silent(),
            BodyReadError::Broken(fault) => fault,
        })
    }

    async fn read_chunk_within(
        &mut self,
        max_wait: Duration,
    ) -> Result<Option<Bytes>, BodyReadError> {
        let reading = self.connection.session_mut().read_response_body();
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
