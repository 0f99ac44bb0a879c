//! A provider's response: its head, and its body chunk by chunk, with the channel's credentials masked.

use super::body_conversion::BodyBytesConversion;
use super::body_kind::body_kind_for;
use super::bounded_body::{BodyEnd, BodyReadResult, ChunkSource};
use super::connection::UpstreamConnection;
use super::peeked_chunks::PeekedChunks;
use crate::deadline::{DeadlineElapsed, in_time, in_time_until};
use crate::fault_from;
use bytes::{Bytes, BytesMut};
use headgate_core::catalog::channel::Timeouts;
use headgate_core::filter::view::ResponseBodyKind;
use headgate_http_body::content_decoder::ContentCoding;
use headgate_protocol::ChannelProtocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::mask::{ChannelSecrets, SecretMasker};
use http::{HeaderMap, StatusCode, header};
use pingora_core::protocols::Stream;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long, and for how many bytes, the end of a response is awaited after its last event.
const END_AWAITED: Duration = Duration::from_secs(1);
const END_BYTES_MAX: usize = 64 << 10;

/// A provider's response. The timeouts of the request apply to reading the body.
pub struct UpstreamResponse {
    connection: Box<UpstreamConnection>,
    pub status: StatusCode,
    timeouts: Timeouts,
    /// When the whole response must have arrived.
    deadline: Instant,
    conversion: BodyBytesConversion,
    /// Whether the first byte of the body decides if it is compressed, since its head says nothing.
    is_coding_open: bool,
    /// Whether the head names a content coding.
    names_coding: bool,
    /// Masks the channel's credentials, in case the provider repeats them.
    masker: SecretMasker,
    /// Chunks that were peeked and not taken yet.
    peeked: PeekedChunks,
    /// The body ends after the peeked chunks.
    has_ended: bool,
    /// When the first chunk was taken.
    first_chunk: Option<Instant>,
    /// How often the request was sent again on another connection.
    pub resends: u8,
    /// The kind of the body by its head, from [`Self::declare_kind`] on.
    pub declared_kind: ResponseBodyKind,
    /// What the body turned out to be.
    pub examined: BodyKindByExamination,
}

/// What an examination of the body found, which the head of the response does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyKindByExamination {
    #[default]
    Unknown,
    /// A success of the protocol, in JSON.
    Success,
    /// An error in JSON under a success status. The response has the error's status.
    EmbeddedError,
    /// Events, whose media type says something else.
    EventStream,
}

/// Why no chunk was read.
#[derive(Debug)]
pub enum ChunkReadError {
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
        let (status, headers) = response_head(&connection);
        Self {
            status,
            names_coding: headers.contains_key(header::CONTENT_ENCODING),
            connection,
            timeouts,
            deadline,
            conversion: BodyBytesConversion::default(),
            is_coding_open: false,
            masker: SecretMasker::new(secrets),
            peeked: PeekedChunks::default(),
            has_ended: false,
            first_chunk: None,
            resends: 0,
            declared_kind: ResponseBodyKind::Other,
            examined: BodyKindByExamination::Unknown,
        }
    }

    pub fn headers(&self) -> &HeaderMap {
        response_head(&self.connection).1
    }

    /// The stream and the bytes that were received after the head, for the protocol that a 101 (Switching Protocols) has begun;
    /// `None` over HTTP/2.
    pub fn into_tunnel(self) -> Option<(Stream, BytesMut)> {
        self.connection.into_tunnel()
    }

    /// The kind of the body: what it turned out to be, or else what the head says.
    pub fn kind(&self) -> ResponseBodyKind {
        match self.examined {
            BodyKindByExamination::Unknown => self.declared_kind,
            BodyKindByExamination::Success | BodyKindByExamination::EmbeddedError => {
                ResponseBodyKind::Json
            }
            BodyKindByExamination::EventStream => ResponseBodyKind::Stream,
        }
    }

    /// Determines the kind of the body by its head, for a request of this protocol. A stream of frames is one of events from
    /// here on.
    pub fn declare_kind(&mut self, protocol: Option<ChannelProtocol>) -> ResponseBodyKind {
        let is_readable = !self.names_coding || self.is_decoded();
        let kind = body_kind_for(protocol, self.headers(), is_readable);
        self.declared_kind = kind;
        let has_frames = protocol.is_some_and(|protocol| protocol.descriptor().has_frames());
        if kind == ResponseBodyKind::Stream && has_frames {
            self.conversion.read_frames();
            self.declared_kind = ResponseBodyKind::Other;
            self.examined = BodyKindByExamination::EventStream;
        }
        kind
    }

    /// Decodes the body from here on, if its head names a content coding that is known.
    pub fn decode_content(&mut self) {
        if self.names_coding
            && let Some(coding) = ContentCoding::named_by(self.headers())
        {
            self.conversion.decode(coding);
        }
    }

    /// Decodes the body also if only its first byte says that it is compressed. Call it before the head is passed on.
    pub fn sniff_coding(&mut self) {
        let is_unread = self.first_chunk.is_none() && self.peeked.is_empty() && !self.has_ended;
        self.is_coding_open = is_unread && !self.is_decoded() && !self.names_coding;
    }

    /// Whether the body is decoded, so that its coding and its length are no longer those of the head.
    pub fn is_decoded(&self) -> bool {
        self.conversion.is_decoded()
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
            None => {
                let chunk = self.read_chunk().await?;
                self.has_ended = chunk.is_none();
                chunk
            }
        };
        if chunk.is_some() && self.first_chunk.is_none() {
            self.first_chunk = Some(Instant::now());
        }
        Ok(chunk)
    }

    /// Whether the body is known to end after the chunks that were taken. Where this is not known before the next read,
    /// as on HTTP/2, the result is `false`.
    pub fn is_at_end(&self) -> bool {
        self.peeked.is_empty() && self.is_peeked_whole()
    }

    /// Whether the body is known to end after the chunks that were peeked.
    pub fn is_peeked_whole(&self) -> bool {
        let is_read = || self.connection.session().is_at_end() && !self.masker.holds_back();
        self.has_ended || self.conversion.is_identity() && is_read()
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
    ) -> Result<Option<Bytes>, ChunkReadError> {
        let max_wait = max_wait.min(self.time_left());
        let chunk = self.read_chunk_within(max_wait).await?;
        Ok(self.peeked(chunk))
    }

    /// The chunks that were peeked so far.
    pub fn peeked_chunks(&self) -> VecDeque<Bytes> {
        self.peeked.iter().cloned().collect()
    }

    fn peeked(&mut self, chunk: Option<Bytes>) -> Option<Bytes> {
        match &chunk {
            Some(chunk) => self.peeked.push_back(chunk.clone()),
            None => self.has_ended = true,
        }
        chunk
    }

    /// How long the provider may be silent.
    pub fn idle_timeout(&self) -> Duration {
        self.timeouts.idle
    }

    /// Reads the body until it exceeds `bytes_max` bytes.
    pub fn read_bounded(
        &mut self,
        bytes_max: usize,
    ) -> impl Future<Output = BodyReadResult> + Send {
        let declared = self.declared_bytes();
        BodyReadResult::read(self, declared, bytes_max)
    }

    /// Reads the body to its end without keeping it.
    pub async fn discard_body(&mut self) -> BodyReadResult {
        let end = loop {
            match self.next_chunk().await {
                Ok(Some(_)) => {}
                Ok(None) => break BodyEnd::Complete,
                Err(fault) => break BodyEnd::Broken(fault),
            }
        };
        BodyReadResult {
            bytes: Bytes::new(),
            end,
        }
    }

    /// Drops the chunks that were peeked, since they were read while they arrived.
    pub fn drop_peeked(&mut self) {
        self.peeked = PeekedChunks::default();
        self.first_chunk.get_or_insert_with(Instant::now);
    }

    /// Returns the connection to its pool if the response was read to its end and its framing is unambiguous; otherwise
    /// closes it.
    pub async fn give_back(self) {
        match self.connection.is_reusable() {
            true => self.connection.release(),
            false => self.connection.close().await,
        }
    }

    /// Like [`Self::give_back`], for a response of which the caller has all it needs: its end is awaited in the
    /// background for a bounded time, so that the connection can be used again.
    pub async fn give_back_at_end(mut self) {
        if self.is_at_end() {
            return self.give_back().await;
        }
        tokio::spawn(async move {
            let until = Instant::now() + END_AWAITED;
            let mut bytes = 0;
            while bytes <= END_BYTES_MAX {
                let max_wait = until.saturating_duration_since(Instant::now());
                match self.read_chunk_within(max_wait).await {
                    Ok(Some(chunk)) => bytes += chunk.len(),
                    Ok(None) => return self.give_back().await,
                    Err(_) => break,
                }
            }
            self.discard().await;
        });
    }

    /// Closes the connection of a response that is no longer needed.
    pub async fn discard(self) {
        self.connection.close().await;
    }

    /// The declared length of the body in bytes; 0 if the provider declares none.
    pub fn declared_bytes(&self) -> usize {
        let length = self.headers().get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        length.unwrap_or(0)
    }

    async fn read_chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        self.conversion.check()?;
        loop {
            let deadline = self.deadline.min(Instant::now() + self.timeouts.idle);
            let reading = self.connection.session_mut().read_body();
            let chunk = match in_time_until(deadline.into_std(), reading).await {
                Ok(Ok(chunk)) => chunk,
                Ok(Err(error)) => return Err(fault_from::upstream(error)),
                Err(DeadlineElapsed) => return Err(self.silent()),
            };
            let is_open = &mut self.is_coding_open;
            if let Some(chunk) = self.conversion.convert(chunk, is_open)? {
                return Ok(self.masked(chunk));
            }
        }
    }

    async fn read_chunk_within(
        &mut self,
        max_wait: Duration,
    ) -> Result<Option<Bytes>, ChunkReadError> {
        self.conversion.check().map_err(ChunkReadError::Broken)?;
        let until = Instant::now() + max_wait;
        loop {
            let max_wait = until.saturating_duration_since(Instant::now());
            let read = {
                let reading = self.connection.session_mut().read_body();
                in_time(max_wait, pin!(reading)).await
            };
            let chunk = match read {
                Ok(Ok(chunk)) => chunk,
                Ok(Err(error)) => return Err(ChunkReadError::Broken(fault_from::upstream(error))),
                Err(DeadlineElapsed) => return Err(ChunkReadError::TimedOut),
            };
            let is_open = &mut self.is_coding_open;
            let chunk = self.conversion.convert(chunk, is_open);
            if let Some(chunk) = chunk.map_err(ChunkReadError::Broken)? {
                return Ok(self.masked(chunk));
            }
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

fn response_head(connection: &UpstreamConnection) -> (StatusCode, &HeaderMap) {
    let head = connection.session().head();
    head.expect("the response's head was read")
}
