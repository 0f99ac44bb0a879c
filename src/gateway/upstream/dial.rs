//! Pooled and new connections; the addresses of a provider race (RFC 8305).

use super::peer::UpstreamPeer;
use super::response_bytes::ResponseFramingTracker;
use crate::gateway::intercepted_stream::InterceptedConnection;
use pingora_core::connectors::http::v2;
use pingora_core::connectors::{ConnectorOptions, TransportConnector};
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::protocols::http::v1::client::HttpSession as Http1Session;
use pingora_core::protocols::http::v2::client::Http2Session;
use pingora_core::protocols::{ALPN, Stream};
use pingora_core::upstreams::peer::Peer;
use pingora_error::Error;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// How long an address has to connect before the next one is tried in parallel (RFC 8305, section 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Pingora's connectors for HTTP/1.1 and HTTP/2, with their pools.
pub struct UpstreamConnectionPool {
    h1: TransportConnector,
    h2: v2::Connector,
}

impl UpstreamConnectionPool {
    /// Keeps up to `pool_max` idle connections of each HTTP version.
    pub fn new(pool_max: usize) -> Self {
        let options = ConnectorOptions::new(pool_max);
        Self {
            h1: TransportConnector::new(Some(options.clone())),
            h2: v2::Connector::new(Some(options)),
        }
    }

    /// An idle connection, or a free stream on an HTTP/2 connection in use.
    pub async fn pooled(&self, peer: &UpstreamPeer) -> Option<HttpSession> {
        if may_be_h2(peer) {
            match self.h2.reused_http_session(peer).await {
                Ok(Some(session)) => return verified(HttpSession::H2(session), peer),
                Ok(None) => {}
                // The failed connection is already removed from the pool.
                Err(error) => tracing::debug!(%error, "a pooled connection accepts no requests"),
            }
        }
        if peer.alpn().get_min_http_version() == 2 {
            return None;
        }
        let stream = self.h1.reused_stream(peer).await?;
        verified(http1_session(stream, peer), peer)
    }

    /// A new connection, with TLS if the peer has it.
    pub async fn dial(&self, peer: &UpstreamPeer) -> Result<HttpSession, Box<Error>> {
        if !may_be_h2(peer) {
            return Ok(http1_session(self.h1.new_stream(peer).await?, peer));
        }
        Ok(match self.h2.new_http_session(peer).await? {
            HttpSession::H1(session) => http1_session(session.into_inner(), peer),
            session => session,
        })
    }

    /// Returns a connection to the pool. An HTTP/1.1 response must be read to its end; an HTTP/2 stream may be cut
    /// short.
    pub async fn release(&self, session: HttpSession, peer: &UpstreamPeer, idle: Duration) {
        match session {
            HttpSession::H1(mut session) => {
                session.respect_keepalive();
                let reusable = session.reuse().await;
                if let Some(stream) =
                    reusable.and_then(InterceptedConnection::<ResponseFramingTracker>::into_inner)
                {
                    self.h1
                        .release_stream(stream, peer.reuse_hash(), Some(idle));
                }
            }
            HttpSession::H2(session) => self.release_h2(session, peer, idle),
            HttpSession::Custom(()) => {}
        }
    }

    /// Ends an HTTP/2 stream; its connection stays open for others.
    pub fn release_h2(&self, session: Http2Session, peer: &UpstreamPeer, idle: Duration) {
        // Pingora watches an idle connection in a task. Without a runtime, the connection is dropped.
        if Handle::try_current().is_ok() {
            self.h2.release_http_session(session, peer, Some(idle));
        }
    }
}

/// Tries candidates in order; the next one starts after `HEAD_START`, or as soon as one fails. The first success
/// wins, and the other attempts are dropped.
///
/// # Errors
/// The errors of all candidates, in order; empty only if there were no candidates.
pub async fn race<C, T, E, F>(
    candidates: impl IntoIterator<Item = C>,
    attempt: impl Fn(C) -> F,
) -> Result<T, Vec<E>>
where
    F: Future<Output = Result<T, E>>,
{
    let mut waiting = candidates.into_iter().enumerate().peekable();
    let mut running = Vec::new();
    let mut failed = Vec::new();
    loop {
        if let Some((place, candidate)) = waiting.next() {
            running.push((place, Box::pin(attempt(candidate))));
        } else if running.is_empty() {
            failed.sort_by_key(|(place, _)| *place);
            return Err(failed.into_iter().map(|(_, error)| error).collect());
        }
        let outcome = match waiting.peek() {
            Some(_) => timeout(HEAD_START, first_of(&mut running)).await.ok(),
            None => Some(first_of(&mut running).await),
        };
        match outcome {
            Some((_, Ok(won))) => return Ok(won),
            Some((place, Err(error))) => failed.push((place, error)),
            None => {}
        }
    }
}

/// Waits for the first attempt that ends, and removes it from `running`.
async fn first_of<F: Future>(running: &mut Vec<(usize, Pin<Box<F>>)>) -> (usize, F::Output) {
    poll_fn(|context| {
        for index in 0..running.len() {
            let (place, attempt) = &mut running[index];
            if let Poll::Ready(outcome) = attempt.as_mut().poll(context) {
                let place = *place;
                drop(running.swap_remove(index));
                return Poll::Ready((place, outcome));
            }
        }
        Poll::Pending
    })
    .await
}

fn http1_session(stream: Stream, peer: &UpstreamPeer) -> HttpSession {
    let stream = InterceptedConnection::boxed(stream, ResponseFramingTracker::default());
    HttpSession::H1(Http1Session::new_with_options(stream, peer))
}

/// The session, if its connection is one to this peer.
fn verified(session: HttpSession, peer: &UpstreamPeer) -> Option<HttpSession> {
    match peer.is_connected(&session) {
        true => Some(session),
        false => {
            tracing::error!(%peer, "a pooled connection is one to another address; not used");
            None
        }
    }
}

fn may_be_h2(peer: &UpstreamPeer) -> bool {
    !matches!(peer.alpn(), ALPN::H1)
}

#[cfg(test)]
mod tests {
    use super::{HEAD_START, UpstreamConnectionPool, UpstreamPeer, race};
    use pingora_core::upstreams::peer::{HttpPeer, Peer};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};
    use tokio::net::TcpListener;
    use tokio::time::sleep;

    /// A simulated attempt: its name, its duration, and whether it connects.
    type Plan = (&'static str, Duration, bool);

    const NEVER: Duration = Duration::from_secs(3600);
    const SOON: Duration = Duration::from_millis(20);

    /// Runs a race; returns its result, and the attempts in the order of their start with the start times.
    async fn run(
        plans: &[Plan],
    ) -> (
        Result<&'static str, Vec<&'static str>>,
        Vec<(&'static str, Duration)>,
    ) {
        let begun = Mutex::new(Vec::new());
        let at = Instant::now();
        let outcome = race(plans, |(name, delay, connects)| {
            begun.lock().unwrap().push((*name, at.elapsed()));
            async move {
                sleep(*delay).await;
                match connects {
                    true => Ok(*name),
                    false => Err(*name),
                }
            }
        })
        .await;
        (outcome, begun.into_inner().unwrap())
    }

    fn names(begun: &[(&'static str, Duration)]) -> Vec<&'static str> {
        begun.iter().map(|(name, _)| *name).collect()
    }

    #[tokio::test]
    async fn a_pooled_connection_to_another_address_is_not_used() {
        let listeners = [
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
        ];
        let [here, other] = listeners.each_ref().map(|listener| {
            let address = listener.local_addr().unwrap();
            UpstreamPeer::from(HttpPeer::new(address, false, String::new()))
        });
        let pool = UpstreamConnectionPool::new(4);
        for (pooled_under, is_used) in [(&here, true), (&other, false)] {
            let stream = pool.h1.new_stream(&here).await.unwrap();
            let key = pooled_under.reuse_hash();
            pool.h1.release_stream(stream, key, Some(NEVER));
            let session = pool.pooled(pooled_under).await;
            assert_eq!(session.is_some(), is_used, "{pooled_under}");
        }
    }

    #[tokio::test]
    async fn a_quick_first_address_is_the_only_attempt() {
        let (outcome, begun) =
            run(&[("a", Duration::ZERO, true), ("b", Duration::ZERO, true)]).await;
        assert_eq!(outcome, Ok("a"));
        assert_eq!(names(&begun), ["a"]);
    }

    #[tokio::test]
    async fn the_next_address_follows_a_failure_at_once() {
        let (outcome, begun) =
            run(&[("a", SOON, false), ("b", NEVER, true), ("c", SOON, true)]).await;
        assert_eq!(outcome, Ok("c"));
        assert_eq!(names(&begun), ["a", "b", "c"]);
        assert!(begun[2].1 >= begun[1].1 + HEAD_START);
    }

    #[tokio::test]
    async fn a_slow_address_runs_on_beside_the_next_and_may_win() {
        let (outcome, begun) = run(&[("a", HEAD_START * 2, true), ("b", NEVER, true)]).await;
        assert_eq!(outcome, Ok("a"));
        assert_eq!(names(&begun), ["a", "b"]);
        assert!(begun[1].1 >= HEAD_START);
    }

    #[tokio::test]
    async fn attempts_that_lose_the_race_are_dropped() {
        let running = Arc::new(());
        let won = race([NEVER, SOON], async |delay| {
            let _runs = running.clone();
            sleep(delay).await;
            Ok::<_, ()>(Arc::strong_count(&running))
        })
        .await;
        assert_eq!(won, Ok(3), "both ran");
        assert_eq!(Arc::strong_count(&running), 1);
    }

    #[tokio::test]
    async fn a_lost_race_returns_every_error_in_order() {
        let (outcome, _) = run(&[
            ("a", HEAD_START * 2, false),
            ("b", SOON, false),
            ("c", SOON, false),
        ])
        .await;
        assert_eq!(outcome, Err(vec!["a", "b", "c"]));
        assert_eq!(run(&[]).await.0, Err(vec![]));
    }
}
