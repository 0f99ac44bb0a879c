//! Discards the rest of a request body after an early reply, so that the reply arrives.
//!
//! Most HTTP/2 clients send their whole body before they read the response, and lose a response that a reset of the
//! stream overtakes. The flow control windows therefore stay open until the body ends. Only a body that does not end is
//! reset, with NO_ERROR (RFC 9113, section 8.1).

use super::accepted_websocket::AcceptedWebSocket;
use super::http1::Http1ServerSession;
use super::session::CallerSession;
use crate::timers::fast_timeout;
use bytes::Bytes;
use headgate_core::filter::LocalReply;
use http::header;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::time::{Duration, Instant};

/// Maximum number of bytes that are discarded.
const DISCARD_BYTES_MAX: usize = 64 << 20;
/// Maximum time for discarding an HTTP/1.1 body, which occupies the connection.
const DISCARD_H1: Duration = Duration::from_secs(2);
/// Maximum time for discarding an HTTP/2 body; extended while the client keeps sending.
const DISCARD_H2: Duration = Duration::from_secs(10);
/// Minimum rate, in bytes per second, that extends the time for an HTTP/2 body.
const DISCARD_BYTES_PER_SECOND: u64 = 128 << 10;
/// Maximum pause of an HTTP/2 client while its body is discarded.
const DISCARD_IDLE: Duration = Duration::from_secs(2);
/// How long a refusal waits for the HTTP/2 client's flow control window to open.
const UNSENT_MAX: Duration = Duration::from_secs(3);

/// Sends the rest of a reply that waits for the HTTP/2 client's window; returns `false` if sending failed.
pub(super) type UnsentBody = Pin<Box<dyn Future<Output = bool> + Send>>;

/// What is left of the connection after an exchange.
pub enum ConnectionAfterExchange {
    Nothing,
    /// A connection that can carry the next request.
    Connection(Box<Http1ServerSession>),
    Stream(Http2StreamLingeringClose),
    /// A connection that carries a WebSocket from now on.
    WebSocket(Box<AcceptedWebSocket>),
}

impl ConnectionAfterExchange {
    /// Ends an HTTP/2 stream, or returns a connection.
    pub async fn finish(self) -> Option<Box<Http1ServerSession>> {
        match self {
            Self::Nothing => None,
            Self::Connection(connection) => Some(connection),
            Self::Stream(early_reply) => {
                early_reply.finish().await;
                None
            }
            // Nobody serves it: it is closed.
            Self::WebSocket(_) => None,
        }
    }
}

/// The rest of an HTTP/2 stream whose response is already decided. It outlives its exchange, and holds nothing of the
/// request.
pub struct Http2StreamLingeringClose {
    session: CallerSession,
    unsent: Option<UnsentBody>,
}

impl Http2StreamLingeringClose {
    pub(super) fn new(mut session: CallerSession, unsent: Option<UnsentBody>) -> Self {
        session.drop_head();
        Self { session, unsent }
    }

    /// Sends what is unsent, then discards the request body. Dropping the session resets the stream: with NO_ERROR
    /// after a complete response, with CANCEL if the client did not receive it.
    async fn finish(mut self) {
        if let Some(unsent) = self.unsent.take()
            && !matches!(fast_timeout(UNSENT_MAX, unsent).await, Ok(true))
        {
            return;
        }
        discard_h2(&mut self.session).await;
    }
}

/// Sends the body of a reply after its head, as far as the flow control window allows without waiting. Some clients
/// close the stream as soon as they read the head of an error.
pub(super) fn send_body(session: &mut CallerSession, mut body: Bytes) -> Option<UnsentBody> {
    let CallerSession::Http2(session) = session else {
        return None;
    };
    let mut writer = session.take_response_body_writer()?;
    writer.reserve_capacity(body.len());
    if writer.capacity() >= body.len() {
        // Sending fails only if the client has reset the stream.
        let _ = writer.send_data(body, true);
        return None;
    }
    Some(Box::pin(async move {
        while !body.is_empty() {
            let Some(Ok(room)) = poll_fn(|context| writer.poll_capacity(context)).await else {
                return false;
            };
            let piece = body.split_to(room.min(body.len()));
            if writer.send_data(piece, body.is_empty()).is_err() {
                return false;
            }
            writer.reserve_capacity(body.len());
        }
        true
    }))
}

/// Discards the body after an HTTP/1.1 reply. If the connection closed with unread input, the kernel would send a reset
/// and the client could lose the reply.
pub(super) async fn discard_h1(session: &mut Http1ServerSession) {
    let discarded = async {
        let mut seen = 0;
        loop {
            match session.read_body().await {
                Ok(Some(chunk)) if seen <= DISCARD_BYTES_MAX => seen += chunk.len(),
                Ok(_) => return,
                // The end of a malformed body is unknown.
                Err(_) => return close_and_discard_h1(session).await,
            }
        }
    };
    let _ = fast_timeout(DISCARD_H1, discarded).await;
}

/// Sends the last reply of an HTTP/1.1 connection, and closes it.
pub(crate) async fn send_last_reply_h1(session: &mut Http1ServerSession, reply: LocalReply) {
    let LocalReply {
        status,
        mut headers,
        body,
    } = reply;
    headers.insert(header::CONTENT_LENGTH, body.len().into());
    session.close_after_response();
    // The client may already have disconnected.
    if session.write_head(status, &headers).await.is_ok() {
        let _ = session.write_body(body, true).await;
    }
    close_and_discard_h1(session).await;
}

/// Closes an HTTP/1.1 connection after its last reply, and discards the client's input until the client closes its
/// side.
async fn close_and_discard_h1(session: &mut Http1ServerSession) {
    let discarded = async {
        session.shutdown().await;
        session.discard(DISCARD_BYTES_MAX as u64).await;
    };
    let _ = fast_timeout(DISCARD_H1, discarded).await;
}

async fn discard_h2(session: &mut CallerSession) {
    let began = Instant::now();
    let mut seen = 0;
    while seen <= DISCARD_BYTES_MAX {
        let earned = Duration::from_secs(seen as u64 / DISCARD_BYTES_PER_SECOND);
        let left = (DISCARD_H2 + earned).saturating_sub(began.elapsed());
        let chunk = fast_timeout(left.min(DISCARD_IDLE), session.read_body()).await;
        match chunk {
            Ok(Ok(Some(chunk))) => seen += chunk.len(),
            _ => return,
        }
    }
}
