//! A connection to a provider, which returns to its pool or is closed.

use super::POOL_IDLE;
use super::dial::UpstreamConnectionPool;
use super::peer::UpstreamPeer;
use super::session::UpstreamSession;
use crate::timers::fast_timeout;
use bytes::BytesMut;
use pingora_core::protocols::Stream;
use std::sync::Arc;
use std::time::Duration;

/// Maximum time for a graceful shutdown.
const CLOSING: Duration = Duration::from_millis(100);
/// An idle connection is given up this long before the provider closes it: a request that crosses the close on its way
/// would be lost.
const KEEP_ALIVE_MARGIN: Duration = Duration::from_secs(1);

/// A connection to a provider, with the peer whose pool it returns to. Dropping it closes an HTTP/1.1 connection; on
/// HTTP/2 it resets the stream, and the connection stays open for others.
pub struct UpstreamConnection {
    /// `None` only while the connection returns to the pool.
    session: Option<UpstreamSession>,
    dialer: Arc<UpstreamConnectionPool>,
    peer: Arc<UpstreamPeer>,
    /// The connection was idle in the pool, and the provider may have closed it.
    pub(super) reused: bool,
    /// The request was sent only in part: the provider would read the next request as the rest of this one.
    pub(super) sent_in_part: bool,
    /// The provider sent informational responses without being asked, and may send more.
    pub(super) is_informed: bool,
}

impl UpstreamConnection {
    pub(super) fn new(
        session: UpstreamSession,
        dialer: &Arc<UpstreamConnectionPool>,
        peer: &Arc<UpstreamPeer>,
        reused: bool,
    ) -> Box<Self> {
        // Boxed, since it is large and moves with the response.
        Box::new(Self {
            session: Some(session),
            dialer: dialer.clone(),
            peer: peer.clone(),
            reused,
            sent_in_part: false,
            is_informed: false,
        })
    }

    pub(super) fn session(&self) -> &UpstreamSession {
        self.session.as_ref().expect("a connection has a session")
    }

    pub(super) fn session_mut(&mut self) -> &mut UpstreamSession {
        self.session.as_mut().expect("a connection has a session")
    }

    /// Whether the connection may carry another request: the response was read to its end, and its framing is
    /// unambiguous.
    pub(super) fn is_reusable(&self) -> bool {
        let is_clean = !self.sent_in_part && !self.is_informed;
        is_clean && self.session().is_reusable()
    }

    /// Returns the connection to its pool, for less time than the provider keeps it open.
    pub(super) fn release(mut self) {
        let Some(session) = self.session.take() else {
            return;
        };
        let keep_alive = session.keep_alive().unwrap_or(Duration::MAX);
        let idle = POOL_IDLE.min(keep_alive.saturating_sub(KEEP_ALIVE_MARGIN));
        // A connection that the provider closes at once is closed here.
        if !idle.is_zero() {
            self.dialer.release(session, &self.peer, idle);
        }
    }

    /// The stream and what was received after the last head; `None` over HTTP/2.
    pub(super) fn into_tunnel(mut self) -> Option<(Stream, BytesMut)> {
        match self.session.take() {
            Some(UpstreamSession::Http1(session)) => Some(session.into_tunnel()),
            Some(UpstreamSession::Http2(_)) | None => None,
        }
    }

    /// Closes the connection, or only the stream on HTTP/2.
    pub(super) async fn close(mut self: Box<Self>) {
        // `shutdown` waits for a provider that does not read; after the timeout, dropping the session closes the
        // connection.
        let _ = fast_timeout(CLOSING, self.session_mut().shutdown()).await;
    }
}

impl Drop for UpstreamConnection {
    fn drop(&mut self) {
        if let Some(UpstreamSession::Http2(session)) = self.session.take() {
            self.dialer.release_h2(*session, &self.peer, POOL_IDLE);
        }
    }
}
