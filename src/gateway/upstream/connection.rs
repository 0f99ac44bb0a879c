//! A connection to a provider: given back to its pool, or closed.

use super::dial::Dialer;
use super::{POOL_IDLE, reuse};
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_timeout::fast_timeout::fast_timeout;
use std::sync::Arc;
use std::time::Duration;

/// How long a connection may take to say that it closes.
const CLOSING: Duration = Duration::from_millis(100);

/// A connection to a provider, and the peer whose pool it goes back to. Dropped, it is closed; of HTTP/2
/// its stream is reset, and the connection serves others on.
pub struct UpstreamConnection {
    /// None only while it is given back.
    session: Option<HttpSession>,
    dialer: Arc<Dialer>,
    peer: Arc<HttpPeer>,
    /// It was idle in the pool, and may have been closed meanwhile.
    pub(super) reused: bool,
    /// Not all of the request went out: what is sent next would be taken for the rest of it.
    pub(super) sent_in_part: bool,
    /// The provider sent informational responses, which nobody asked for: more may follow.
    pub(super) is_informed: bool,
}

impl UpstreamConnection {
    pub(super) fn new(
        session: HttpSession,
        dialer: &Arc<Dialer>,
        peer: &Arc<HttpPeer>,
        reused: bool,
    ) -> Self {
        Self {
            session: Some(session),
            dialer: dialer.clone(),
            peer: peer.clone(),
            reused,
            sent_in_part: false,
            is_informed: false,
        }
    }

    pub(super) fn session(&self) -> &HttpSession {
        self.session.as_ref().expect("a connection has a session")
    }

    pub(super) fn session_mut(&mut self) -> &mut HttpSession {
        self.session.as_mut().expect("a connection has a session")
    }

    /// Whether it may carry another request: the response was read to its end and was odd in no way.
    pub(super) fn is_reusable(&mut self) -> bool {
        let is_clean = !self.sent_in_part && !self.is_informed;
        let session = self.session_mut();
        is_clean && session.response_done() && reuse::is_plain(session)
    }

    /// Gives it back to its pool.
    pub(super) async fn release(mut self) {
        let Some(mut session) = self.session.take() else {
            return;
        };
        if let HttpSession::H1(h1) = &mut session {
            h1.respect_keepalive();
        }
        self.dialer.release(session, &self.peer, POOL_IDLE).await;
    }

    /// Closes it, of HTTP/2 its stream only.
    pub(super) async fn close(mut self) {
        // A provider that does not read would have its last bytes waited for: dropping closes, too.
        let _ = fast_timeout(CLOSING, self.session_mut().shutdown()).await;
    }
}

impl Drop for UpstreamConnection {
    fn drop(&mut self) {
        if let Some(HttpSession::H2(session)) = self.session.take() {
            self.dialer.release_h2(session, &self.peer, POOL_IDLE);
        }
    }
}
