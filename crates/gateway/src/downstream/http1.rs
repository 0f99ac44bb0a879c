//! A caller's HTTP/1.1 connection: the one parser of its requests, and the writer of its responses.
//!
//! Reads keep what they have received: a read whose future was dropped continues with the next one.

pub mod connection;
mod head_scan;
mod head_timeouts;
pub mod read_error;
pub mod request_body;
pub mod request_head;
mod response;
mod response_writer;

#[cfg(any(test, feature = "fuzzing"))]
#[path = "http1/tests/stream_check/mod.rs"]
pub mod stream_check;
#[cfg(test)]
mod tests;

use crate::listen::client_departure::ClientDepartureWatch;
use crate::read_buffer::{give_room_back, take_room};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use head_scan::{find_head_end, find_head_start};
use http::HeaderMap;
use pingora_core::protocols::Stream;
use read_error::Http1ReadError;
use request_body::{BodyFraming, Http1RequestBody};
use request_head::Http1RequestHead;
use response::ResponseInProgress;
use std::future::{Future, poll_fn};
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// Maximum number of requests per connection; closing it then frees its memory.
const REQUESTS_MAX: u32 = 10_000;
/// Room for a read of a head, in bytes: nearly all arrive with the whole body.
const HEAD_ROOM: usize = 8 << 10;
/// Maximum number of bytes of a piece of a body.
const PIECE_BYTES_MAX: usize = 64 << 10;
/// Maximum number of bytes that are read ahead after the end of a request: enough to notice the next one, or that the
/// client has disconnected.
const EARLY_BYTES_MAX: usize = 8 << 10;
/// Size of the buffer for bytes that are added to others, or discarded.
const SCRATCH_BYTES: usize = 8 << 10;

/// A connection, with the request that it carries now.
pub struct Http1ServerSession {
    stream: Stream,
    /// What was received and not taken yet.
    received: BytesMut,
    head: HeadInProgress,
    request: Http1RequestHead,
    body: Http1RequestBody,
    response: ResponseInProgress,
    /// Whether the connection may carry another request after this one.
    keeps_connection: bool,
    /// Requests that the connection may still carry.
    requests_left: u32,
    departure: ClientDepartureWatch,
    /// Maximum time for the client to take a piece of the response.
    write_timeout: Duration,
}

/// A head that is arriving.
#[derive(Default)]
struct HeadInProgress {
    /// Number of its bytes that have arrived and do not contain its end.
    scanned: usize,
    /// Maximum size, in bytes.
    bytes_max: usize,
    /// How many of them were parsed; the next attempt waits for as many more, since each begins at the first.
    parsed: usize,
    /// Whether a byte of it, or of an empty line before it, has arrived.
    has_received: bool,
    /// Whether a byte of it has arrived.
    has_begun: bool,
}

impl Http1ServerSession {
    /// The client has `write_timeout` to take a piece of a response.
    pub fn new(stream: Stream, write_timeout: Duration) -> Self {
        Self {
            stream,
            received: BytesMut::new(),
            head: HeadInProgress::default(),
            request: Http1RequestHead::default(),
            body: Http1RequestBody::Ended,
            response: ResponseInProgress::default(),
            keeps_connection: true,
            requests_left: REQUESTS_MAX,
            departure: ClientDepartureWatch::default(),
            write_timeout,
        }
    }

    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Maximum time for the client to take a piece of the response.
    pub fn set_write_timeout(&mut self, timeout: Duration) {
        self.write_timeout = timeout;
    }

    /// Begins the next request, whose head may have `head_bytes_max` bytes.
    pub fn begin_request(&mut self, head_bytes_max: usize) {
        self.head = HeadInProgress {
            bytes_max: head_bytes_max,
            ..HeadInProgress::default()
        };
        self.request = Http1RequestHead::default();
        self.body = Http1RequestBody::Ended;
        self.response = ResponseInProgress::default();
        self.requests_left -= 1;
    }

    /// Reads the head; returns `false` if the client closes the connection before it sends one.
    ///
    /// # Errors
    /// What arrived is no head, or the connection broke.
    pub fn poll_read_head(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<bool, Http1ReadError>> {
        loop {
            if let Some(head) = self.take_head()? {
                self.keeps_connection = head.keeps_connection && self.requests_left > 0;
                self.request = head;
                self.body = Http1RequestBody::Refused;
                return Poll::Ready(Ok(true));
            }
            let read = ready!(self.poll_fill(context, HEAD_ROOM));
            if !matches!(read, Ok(1..)) && !self.head.has_begun {
                return Poll::Ready(Ok(false));
            }
            if read? == 0 {
                return Poll::Ready(Err(Http1ReadError::Closed));
            }
        }
    }

    /// The head of the request, once it was read.
    pub fn request(&self) -> &Http1RequestHead {
        &self.request
    }

    /// Takes the fields of the head, which were checked.
    pub fn take_headers(&mut self) -> HeaderMap {
        std::mem::take(&mut self.request.parts.headers)
    }

    /// Starts the body, after the head was checked.
    pub fn begin_body(&mut self, framing: BodyFraming) {
        self.body = Http1RequestBody::new(framing);
    }

    /// Whether the request has a body of which nothing, or not all, was read.
    pub fn has_unread_body(&self) -> bool {
        !matches!(self.body, Http1RequestBody::Ended)
    }

    /// How many bytes are missing of a body of declared length; `None` if none is, or the body is of another kind.
    pub fn body_bytes_left(&self) -> Option<u64> {
        self.body.bytes_left()
    }

    /// The next piece of the body, as soon as it arrives; `None` after the last one.
    ///
    /// # Errors
    /// The connection broke, or the body is malformed.
    pub async fn read_body(&mut self) -> Result<Option<Bytes>, Http1ReadError> {
        loop {
            match &mut self.body {
                Http1RequestBody::Ended => return Ok(None),
                Http1RequestBody::Refused => return Err(Http1ReadError::HeadEnd),
                Http1RequestBody::Length(_) => {
                    let room = self.body.bytes_within(PIECE_BYTES_MAX);
                    let piece = self
                        .read_body_into(BytesMut::with_capacity(room), room)
                        .await?;
                    // A slow client's piece must not occupy the room of a large one.
                    return Ok(Some(match piece.len() < room / 2 {
                        true => Bytes::copy_from_slice(&piece),
                        false => piece.freeze(),
                    }));
                }
                Http1RequestBody::Chunked(_) => {
                    let data = self.body.take_chunks(&mut self.received)?;
                    give_room_back(&mut self.received);
                    if !data.is_empty() {
                        return Ok(Some(data));
                    }
                    if self.has_unread_body()
                        && poll_fn(|context| self.poll_fill(context, PIECE_BYTES_MAX)).await? == 0
                    {
                        return Err(Http1ReadError::Closed);
                    }
                }
            }
        }
    }

    /// Appends the next bytes of a body of declared length to `buffer`, up to `bytes_max`, as soon as any arrive. If the
    /// future is dropped before, the rest of the body can only be discarded.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn read_body_into(
        &mut self,
        mut buffer: BytesMut,
        bytes_max: usize,
    ) -> Result<BytesMut, Http1ReadError> {
        let room = self.body.bytes_within(bytes_max);
        let count = match self.received.is_empty() {
            true => self.stream.read_buf(&mut (&mut buffer).limit(room)).await?,
            false => {
                let count = self.received.len().min(room);
                buffer.extend_from_slice(&self.received[..count]);
                self.received.advance(count);
                give_room_back(&mut self.received);
                count
            }
        };
        if count == 0 && room > 0 {
            return Err(Http1ReadError::Closed);
        }
        self.body.count(count);
        Ok(buffer)
    }

    /// Waits until the client has closed the connection.
    pub async fn until_client_leaves(&mut self) {
        poll_fn(|context| {
            // A read would take bytes of the body.
            while !self.has_unread_body() && self.received.len() < EARLY_BYTES_MAX {
                if !matches!(ready!(self.poll_fill(context, HEAD_ROOM)), Ok(1..)) {
                    self.keeps_connection = false;
                    return Poll::Ready(());
                }
            }
            // The client waits for its response; there is nothing to read.
            self.departure.poll(&self.stream, context)
        })
        .await
    }

    /// Closes the connection after this response.
    pub fn close_after_response(&mut self) {
        self.keeps_connection = false;
    }

    /// Discards what the client sends, up to `bytes_max` bytes, until it closes the connection.
    pub async fn discard(&mut self, bytes_max: u64) {
        self.received = BytesMut::new();
        let mut rest = (&mut self.stream).take(bytes_max);
        // The connection is no longer used, so an error does not matter.
        let _ = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
    }

    /// The stream and the bytes that were received after the head, for the protocol that a 101 (Switching Protocols) has begun.
    pub fn into_tunnel(self) -> (Stream, BytesMut) {
        (self.stream, self.received)
    }

    /// Ends the response, and returns the connection if it can carry another request.
    pub async fn finish(mut self: Box<Self>) -> Option<Box<Self>> {
        self.write_body(Bytes::new(), true).await.ok()?;
        if self.keeps_connection && !self.has_unread_body() {
            return Some(self);
        }
        self.shutdown().await;
        None
    }

    /// Takes the head from what was received; `None` if it is not complete.
    fn take_head(&mut self) -> Result<Option<Http1RequestHead>, Http1ReadError> {
        let head = &mut self.head;
        if self.received.len() == head.scanned {
            return Ok(None);
        }
        head.has_received = true;
        if !head.has_begun {
            let start = find_head_start(&self.received).ok_or(Http1ReadError::RequestLine)?;
            self.received.advance(start);
            head.has_begun = !matches!(*self.received, [] | [b'\r']);
            if !head.has_begun {
                return Ok(None);
            }
        }
        let allowed = self.received.len().min(head.bytes_max);
        if let Some(bytes) = find_head_end(&self.received[..allowed], head.scanned) {
            // A copy, so that a request does not keep the memory of its whole first read.
            let raw = Bytes::copy_from_slice(&self.received[..bytes]);
            self.received.advance(bytes);
            return Http1RequestHead::parse(raw).map(Some);
        }
        if allowed == head.bytes_max {
            return Err(Http1ReadError::HeadTooLarge);
        }
        head.scanned = allowed;
        if allowed >= head.parsed * 2 {
            head.parsed = allowed;
            Http1RequestHead::check_begin(&self.received)?;
        }
        Ok(None)
    }

    /// Receives what has arrived, up to `room` bytes; 0 if the client has closed the connection. A connection that waits
    /// has memory only for the bytes that it keeps.
    fn poll_fill(&mut self, context: &mut Context<'_>, room: usize) -> Poll<io::Result<usize>> {
        if self.received.is_empty() {
            take_room(&mut self.received, room);
            let polled =
                pin!(self.stream.read_buf(&mut (&mut self.received).limit(room))).poll(context);
            if self.received.is_empty() {
                give_room_back(&mut self.received);
            }
            return polled;
        }
        let mut scratch = [MaybeUninit::uninit(); SCRATCH_BYTES];
        let mut read = ReadBuf::uninit(&mut scratch);
        let polled = Pin::new(&mut self.stream).poll_read(context, &mut read);
        if polled.is_pending() && self.received.capacity() > 4 * self.received.len().max(64) {
            self.received = BytesMut::from(&self.received[..]);
        }
        ready!(polled)?;
        self.received.extend_from_slice(read.filled());
        Poll::Ready(Ok(read.filled().len()))
    }
}
