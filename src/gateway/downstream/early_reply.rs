//! A reply that is sent before the request's body is read: the body is read and discarded, so that the reply arrives.
//!
//! Most HTTP/2 clients send their whole body before they read the response, and lose a response that a
//! reset of the stream overtakes. The stream's and the connection's windows therefore stay open until the
//! body ends, and only a body without an end is reset, with NO_ERROR (RFC 9113, section 8.1).

use crate::gateway::listen::http1_reader::Http1Reader;
use bytes::Bytes;
use pingora_core::apps::ReusedHttpStream;
use pingora_core::protocols::http::ServerSession;
use pingora_http::RequestHeader;
use pingora_timeout::fast_timeout::fast_timeout;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How much of a body is read and discarded.
const DISCARD_BYTES_MAX: usize = 64 << 20;
/// How long a body is read and discarded in HTTP/1.1, where its connection is held up.
const DISCARD_H1: Duration = Duration::from_secs(2);
/// The same in HTTP/2, where other streams go on beside it; longer where the upload comes on.
const DISCARD_H2: Duration = Duration::from_secs(10);
/// What an HTTP/2 upload that comes on has to reach each second.
const DISCARD_BYTES_PER_SECOND: u64 = 128 << 10;
/// How long an HTTP/2 client may send nothing of the body meanwhile.
const DISCARD_IDLE: Duration = Duration::from_secs(2);
/// How long the window of an HTTP/2 client may stay closed to a refusal.
const UNSENT_MAX: Duration = Duration::from_secs(3);
/// How many refusals of one HTTP/2 connection may wait for its client's window; further ones are reset at once.
const BLOCKED_REPLIES_MAX: usize = 8;

/// The end of a reply's body that waits for the window of its HTTP/2 client; `false` if it broke off.
pub(super) type UnsentBody = Pin<Box<dyn Future<Output = bool> + Send>>;

/// What an exchange leaves behind.
pub enum ConnectionRemainder {
    Nothing,
    /// A connection for the next request.
    Connection(ReusedHttpStream),
    Stream(EarlyReply),
}

impl ConnectionRemainder {
    /// Ends an HTTP/2 stream, and gives a connection back. `blocked` counts for the client's connection.
    pub async fn finish(self, blocked: &BlockedReplyCount) -> Option<ReusedHttpStream> {
        match self {
            Self::Nothing => None,
            Self::Connection(connection) => Some(connection),
            Self::Stream(early_reply) => {
                early_reply.finish(blocked).await;
                None
            }
        }
    }
}

/// The refusals of one HTTP/2 connection that wait for their client's window. A client that keeps it
/// closed would hold a stream's memory for the price of a few bytes.
#[derive(Default)]
pub struct BlockedReplyCount(AtomicUsize);

impl BlockedReplyCount {
    /// `None` if as many wait already as may.
    fn enter(&self) -> Option<BlockedReplyGuard<'_>> {
        let waiting = self.0.fetch_add(1, Ordering::Relaxed);
        let entered = BlockedReplyGuard(self);
        (waiting < BLOCKED_REPLIES_MAX).then_some(entered)
    }
}

/// Counts one refusal for as long as it waits.
struct BlockedReplyGuard<'a>(&'a BlockedReplyCount);

impl Drop for BlockedReplyGuard<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The rest of an HTTP/2 stream whose response is decided. It outlives its exchange, and holds nothing
/// of the request.
pub struct EarlyReply {
    session: Box<ServerSession>,
    unsent: Option<UnsentBody>,
}

impl EarlyReply {
    pub(super) fn new(mut session: Box<ServerSession>, unsent: Option<UnsentBody>) -> Self {
        // Header fields of a request may take far more memory than they took on the wire.
        if let Ok(none) = RequestHeader::build("POST", b"/", None) {
            *session.req_header_mut() = none;
        }
        Self { session, unsent }
    }

    /// Sends what is unsent, then discards the request's body. Dropping the session resets the stream: with
    /// NO_ERROR behind a whole response, with CANCEL where the client took none.
    async fn finish(mut self, blocked: &BlockedReplyCount) {
        if let Some(unsent) = self.unsent.take() {
            let Some(_waiting) = blocked.enter() else {
                return;
            };
            if !matches!(fast_timeout(UNSENT_MAX, unsent).await, Ok(true)) {
                return;
            }
        }
        discard_h2(&mut self.session).await;
    }
}

/// Sends the body of a reply whose head was sent, as far as that needs no waiting: some clients end their
/// upload at the head of a refusal, and what is sent late meets a stream that is closed.
pub(super) fn send_body(session: &mut ServerSession, mut body: Bytes) -> Option<UnsentBody> {
    let ServerSession::H2(session) = session else {
        return None;
    };
    let mut writer = session.take_response_body_writer()?;
    writer.reserve_capacity(body.len());
    if writer.capacity() >= body.len() {
        // What fails here is a stream that the client has reset.
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

/// Discards the body behind an HTTP/1.1 reply: closing with unread input would make the kernel reset
/// the connection, and the reply be lost.
pub(super) async fn discard_h1(session: &mut ServerSession) {
    let discarded = async {
        let mut seen = 0;
        loop {
            match session.read_request_body().await {
                Ok(Some(chunk)) if seen <= DISCARD_BYTES_MAX => seen += chunk.len(),
                Ok(_) => return,
                // The end of a malformed body is not known.
                Err(_) => return close_and_discard_h1(session).await,
            }
        }
    };
    let _ = fast_timeout(DISCARD_H1, discarded).await;
}

/// Closes an HTTP/1.1 connection behind its last reply, and discards whatever the client still sends
/// until it closes its side.
pub(in crate::gateway) async fn close_and_discard_h1(session: &mut ServerSession) {
    let Some(inspection) = Http1Reader::inspection_of(session) else {
        return;
    };
    inspection.discard(DISCARD_BYTES_MAX);
    let discarded = async {
        session.shutdown().await;
        let _ = session.read_body_or_idle(true).await;
    };
    let _ = fast_timeout(DISCARD_H1, discarded).await;
}

async fn discard_h2(session: &mut ServerSession) {
    let began = Instant::now();
    let mut seen = 0;
    while seen <= DISCARD_BYTES_MAX {
        let earned = Duration::from_secs(seen as u64 / DISCARD_BYTES_PER_SECOND);
        let left = (DISCARD_H2 + earned).saturating_sub(began.elapsed());
        let chunk = fast_timeout(left.min(DISCARD_IDLE), session.read_request_body()).await;
        match chunk {
            Ok(Ok(Some(chunk))) => seen += chunk.len(),
            _ => return,
        }
    }
}
