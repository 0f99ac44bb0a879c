//! The caller's side of an exchange: reads the body, writes the response, and notices when the caller leaves.

pub mod accepted_websocket;
mod body_buffer;
mod caller_watch;
pub mod compressed_body;
pub mod detachment;
pub mod early_reply;
pub mod http1;
mod local_reply;
mod request_body_state;
pub mod session;
pub(crate) mod spool;
mod streamed_reply;
pub mod upload;
mod wait_times;
pub mod websocket_request;

use super::deadline::in_time;
use super::fault_from;
use super::listen::drain_state::DrainState;
use crate::timers::fast_timeout;
pub use body_buffer::SpoolPolicyWithMetrics;
use body_buffer::SpoolingBodyBuffer;
use bytes::Bytes;
pub use caller_watch::UpstreamWaitInterruption;
use detachment::CallerDetachmentFlag;
use early_reply::{ConnectionAfterExchange, Http2StreamLingeringClose, UnsentBody, discard_h1};
use headgate_core::filter::body_limit::too_large;
use headgate_event_stream::CallerStreamFraming;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_tracing::ResponseMessageRecorder;
use http::{HeaderMap, HeaderValue, StatusCode, Version, header};
use request_body_state::RequestBodyState;
use session::CallerSession;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
pub use wait_times::ExchangeWaitRecorder;

/// Delay before an HTTP/2 stream is reset: a reset would discard response data that is not sent yet, and h2 does not
/// report when it is sent.
const BEFORE_RESET: Duration = Duration::from_millis(100);

/// The caller's connection during one request.
pub struct DownstreamSession {
    session: CallerSession,
    drain_state: Arc<DrainState>,
    body: RequestBodyState,
    /// Whether a complete reply was sent, except for the part that [`DownstreamSession::refuse`] left in `unsent`.
    replied: bool,
    unsent: Option<UnsentBody>,
    /// Whether the exchange continues without the caller.
    pub detachment: CallerDetachmentFlag,
    /// Whether the caller left an exchange that continues. Nothing is written to it any more.
    pub has_caller_left: bool,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub wait_times: ExchangeWaitRecorder,
    /// Records the messages of the response for the trace.
    pub messages: Option<Box<ResponseMessageRecorder>>,
    /// What the caller gets in place of server-sent events.
    pub framing: CallerStreamFraming,
}

impl DownstreamSession {
    /// The session of a request whose head was checked, and the fields of the head.
    pub fn new(mut session: CallerSession, drain_state: Arc<DrainState>) -> (Self, HeaderMap) {
        let unread = RequestBodyState::declared_by(session.head());
        let headers = session.take_headers();
        let body = match session.has_body() {
            true => unread,
            false => RequestBodyState::Read,
        };
        let downstream = Self {
            session,
            drain_state,
            body,
            replied: false,
            unsent: None,
            detachment: CallerDetachmentFlag::default(),
            has_caller_left: false,
            bytes_in: 0,
            bytes_out: 0,
            wait_times: ExchangeWaitRecorder::default(),
            messages: None,
            framing: CallerStreamFraming::default(),
        };
        (downstream, headers)
    }

    pub fn session(&self) -> &CallerSession {
        &self.session
    }

    pub fn session_mut(&mut self) -> &mut CallerSession {
        &mut self.session
    }

    /// Closes an HTTP/1.1 connection after this response.
    pub fn close_after_response(&mut self) {
        self.session.close_after_response();
    }

    /// Whether the head of the response was sent.
    pub fn is_committed(&self) -> bool {
        self.session.response_status().is_some()
    }

    /// Reads the whole body. Without `spooling`, it stays in memory.
    ///
    /// # Errors
    /// The body exceeds `bytes_max` (413), is not complete after `deadline` (408), has malformed framing (400) or
    /// cannot be stored (503), or the caller left.
    pub async fn read_body(
        &mut self,
        bytes_max: u64,
        deadline: Duration,
        spooling: Option<SpoolPolicyWithMetrics<'_>>,
    ) -> Result<Bytes, Fault> {
        if self.body == RequestBodyState::Read {
            return Ok(Bytes::new());
        }
        let declared = self.declared_length();
        if declared.is_some_and(|bytes| bytes > bytes_max) {
            return Err(too_large(declared, bytes_max));
        }
        self.send_continue().await?;
        let buffer = SpoolingBodyBuffer::new(bytes_max, declared, spooling);
        let read = in_time(deadline, self.fill(buffer)).await;
        let body = read.map_err(|_| incomplete(deadline))??;
        self.body = RequestBodyState::Read;
        self.bytes_in = body.len() as u64;
        Ok(body)
    }

    /// Whether the caller sends a body that is not read yet.
    pub fn has_unread_body(&self) -> bool {
        matches!(self.body, RequestBodyState::Unread { .. })
    }

    /// Length in bytes of a body that is not read yet, as the caller declares it.
    pub fn declared_length(&self) -> Option<u64> {
        match self.body {
            RequestBodyState::Unread { declared, .. } => declared,
            RequestBodyState::Read => None,
        }
    }

    async fn send_continue(&mut self) -> Result<(), Fault> {
        match self.body {
            RequestBodyState::Unread {
                expects_continue: true,
                ..
            } => self.session.write_continue().await,
            _ => Ok(()),
        }
    }

    async fn fill(&mut self, mut buffer: SpoolingBodyBuffer<'_>) -> Result<Bytes, Fault> {
        let CallerSession::Http1(session) = &mut self.session else {
            return self.read_to_end(buffer).await;
        };
        if session.body_bytes_left().is_none() {
            return self.read_to_end(buffer).await;
        }
        while let Some(left) = session.body_bytes_left() {
            match buffer.take_buffer(left) {
                Some((memory, room)) => {
                    let reading = pin!(session.read_body_into(memory, room));
                    let read = self.wait_times.client_body(reading).await;
                    buffer.put_back(read.map_err(fault_from::http1_read)?);
                }
                None => {
                    let reading = pin!(session.read_body());
                    let piece = self.wait_times.client_body(reading).await;
                    let piece = piece.map_err(fault_from::http1_read)?;
                    buffer.push(piece.unwrap_or_default()).await?;
                }
            }
        }
        buffer.finish().await
    }

    async fn read_to_end(&mut self, mut buffer: SpoolingBodyBuffer<'_>) -> Result<Bytes, Fault> {
        let Some(first) = self.read_chunk().await? else {
            return Ok(Bytes::new());
        };
        // Most bodies arrive in one piece, which is used without a copy.
        if buffer.is_whole(&first) {
            // The end of an HTTP/2 stream may arrive by itself.
            self.read_further_chunk().await?;
            return Ok(first);
        }
        buffer.push(first).await?;
        while let Some(chunk) = self.read_further_chunk().await? {
            buffer.push(chunk).await?;
        }
        buffer.finish().await
    }

    /// A chunk after the first one. Where the body is known to be complete, nothing is read to learn it.
    async fn read_further_chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        match self.session.is_body_done() {
            true => Ok(None),
            false => self.read_chunk().await,
        }
    }

    async fn read_chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        let reading = pin!(self.session.read_body());
        self.wait_times.client_body(reading).await
    }

    /// Sends the head of the response. On HTTP/1.1, a response without `content-length` is chunked.
    ///
    /// # Errors
    /// [`FaultKind::ClientGone`], or [`FaultKind::WriteTimeout`].
    pub async fn write_head(
        &mut self,
        status: StatusCode,
        mut headers: HeaderMap,
    ) -> Result<(), Fault> {
        if self.has_caller_left {
            return Ok(());
        }
        if self.has_unread_body() {
            self.session.close_after_response();
        }
        let bodiless = matches!(
            status,
            StatusCode::SWITCHING_PROTOCOLS | StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
        );
        let is_http11 = self.session.head().version == Version::HTTP_11;
        if let Some(capture) = self.wait_times.capture() {
            capture.response_head(status, &headers);
        }
        if let Some(messages) = &mut self.messages {
            messages.begin(status, &headers);
        }
        self.framing.begin(&mut headers);
        if bodiless {
            // Strict clients would wait for the body that this length declares.
            headers.remove(header::CONTENT_LENGTH);
        }
        if is_http11 && !bodiless && !headers.contains_key(header::CONTENT_LENGTH) {
            let chunked = HeaderValue::from_static("chunked");
            headers.insert(header::TRANSFER_ENCODING, chunked);
        }
        let written = {
            // Pinned before it is passed on, since each move of such a future copies kilobytes.
            let writing = pin!(self.session.write_head(status, headers));
            self.wait_times.client(writing).await
        };
        self.unless_detached(written)
    }

    /// Sends a piece of the response body. A chunked HTTP/1.1 response is flushed at once.
    ///
    /// # Errors
    /// [`FaultKind::ClientGone`], or [`FaultKind::WriteTimeout`].
    pub async fn write(&mut self, data: Bytes, end: bool) -> Result<(), Fault> {
        if self.has_caller_left {
            return Ok(());
        }
        if let Some(capture) = self.wait_times.capture() {
            capture.response_piece(&data);
        }
        if let Some(messages) = &mut self.messages {
            messages.push(&data);
        }
        let Some(data) = self.framing.framed(data, end) else {
            return Ok(());
        };
        self.bytes_out += data.len() as u64;
        let written = {
            let writing = pin!(self.session.write_body(data, end));
            self.wait_times.client(writing).await
        };
        self.unless_detached(written)
    }

    /// A failed write ends the exchange, unless it continues without its caller.
    fn unless_detached(&mut self, written: Result<(), Fault>) -> Result<(), Fault> {
        match written {
            Err(_) if self.detachment.is_armed() => {
                self.has_caller_left = true;
                Ok(())
            }
            written => written,
        }
    }

    /// Returns the connection for the next request, if it can carry one.
    pub async fn finish(self) -> ConnectionAfterExchange {
        let is_unread = self.has_unread_body();
        let discards = is_unread && self.is_committed() && !self.replied;
        match self.session {
            session @ CallerSession::Http2(_) if is_unread || self.unsent.is_some() => {
                let rest = Http2StreamLingeringClose::new(session, self.unsent);
                ConnectionAfterExchange::Stream(rest)
            }
            CallerSession::Http2(mut session) => {
                // The stream ends; an error is that of a caller who left.
                let _ = session.finish();
                ConnectionAfterExchange::Nothing
            }
            CallerSession::WebSocket(mut session) => {
                // An error is that of a caller who left.
                let _ = session.finish().await;
                ConnectionAfterExchange::Nothing
            }
            // The rest of the body may never arrive.
            CallerSession::Http1(mut session) if is_unread => {
                if discards {
                    Box::pin(discard_h1(&mut session)).await;
                }
                let _ = fast_timeout(BEFORE_RESET, session.shutdown()).await;
                ConnectionAfterExchange::Nothing
            }
            CallerSession::Http1(session) => match session.finish().await {
                Some(session) => ConnectionAfterExchange::Connection(session),
                None => ConnectionAfterExchange::Nothing,
            },
        }
    }

    /// The caller's session, after the head of a 101 (Switching Protocols).
    pub fn into_session(self) -> CallerSession {
        self.session
    }

    /// Closes the connection, so that a client cannot take a broken response for a complete one. On HTTP/2 only the
    /// stream is closed; a complete reply on it stays complete.
    pub async fn abort(mut self) -> ConnectionAfterExchange {
        if self.session.is_http2() && self.replied {
            return ConnectionAfterExchange::Stream(Http2StreamLingeringClose::new(
                self.session,
                self.unsent,
            ));
        }
        if self.session.is_http2() && self.is_committed() {
            // The wait ends early if the caller leaves.
            let waiting = in_time(BEFORE_RESET, std::future::pending::<()>());
            let _ = self.race(waiting).await;
        }
        // `shutdown` waits for a caller that does not read; after the timeout, dropping the session closes the
        // connection.
        let _ = fast_timeout(BEFORE_RESET, self.session.shutdown()).await;
        ConnectionAfterExchange::Nothing
    }
}

fn incomplete(deadline: Duration) -> Fault {
    let seconds = deadline.as_secs();
    Fault::new(
        FaultKind::RequestTimeout,
        format!(
            "request body not received within {seconds} s; send it faster, or send a smaller body"
        ),
    )
}
