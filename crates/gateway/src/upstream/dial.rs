//! Pooled and new connections; the addresses of a provider race (RFC 8305).

use super::http1::Http1Session;
use super::idle_connections::IdleConnections;
use super::peer::UpstreamPeer;
use super::session::UpstreamSession;
#[cfg(feature = "simulation")]
use crate::simulated_network;
use pingora_core::connectors::http::v2;
use pingora_core::connectors::{ConnectorOptions, TransportConnector};
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::protocols::http::v2::client::Http2Session;
use pingora_core::protocols::{ALPN, Stream};
#[cfg(feature = "simulation")]
use pingora_core::upstreams::peer::Peer;
use pingora_error::Error;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, OnceLock};
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// How long an address has to connect before the next one is tried in parallel (RFC 8305, section 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Makes connections. Each connector of Pingora reads the certificate authorities of the system, which takes 7 ms and a
/// third of a megabyte, so that all pools share one.
static CONNECTOR: LazyLock<TransportConnector> = LazyLock::new(|| {
    // Its own pool stays empty.
    TransportConnector::new(Some(ConnectorOptions::new(1)))
});

/// Connections to providers: new ones by Pingora's connectors, and pools of idle ones.
pub struct UpstreamConnectionPool {
    idle: Arc<IdleConnections>,
    /// Pingora's connector and pool for HTTP/2, made before the first connection to a provider that may speak it.
    h2: OnceLock<v2::Connector>,
    connections_max: usize,
}

impl UpstreamConnectionPool {
    /// Keeps up to `pool_max` idle connections of each HTTP version.
    pub fn new(pool_max: usize) -> Self {
        // Unusable certificate authorities end the start, not the first request.
        LazyLock::force(&CONNECTOR);
        Self {
            idle: IdleConnections::new(pool_max),
            h2: OnceLock::new(),
            connections_max: pool_max,
        }
    }

    /// Makes the connector for HTTP/2, so that no request waits for it.
    pub fn prepare_http2(&self) {
        self.h2();
    }

    /// An idle connection, or a free stream on an HTTP/2 connection in use.
    pub async fn pooled(&self, peer: &UpstreamPeer) -> Option<UpstreamSession> {
        if may_be_h2(peer)
            && let Some(h2) = self.h2.get()
        {
            match h2.reused_http_session(peer).await {
                Ok(Some(session)) if peer.is_connected(&session) => {
                    return Some(UpstreamSession::Http2(Box::new(session)));
                }
                Ok(Some(_)) => {
                    tracing::error!(%peer, "a pooled connection is one to another address; not used");
                }
                Ok(None) => {}
                // The failed connection is already removed from the pool.
                Err(error) => tracing::debug!(%error, "a pooled connection accepts no requests"),
            }
        }
        if peer.alpn().get_min_http_version() == 2 {
            return None;
        }
        let stream = self.idle.take(&peer.connection_key()?)?;
        Some(UpstreamSession::Http1(Http1Session::new(stream)))
    }

    /// A new connection, with TLS if the peer has it.
    pub async fn dial(&self, peer: &UpstreamPeer) -> Result<UpstreamSession, Box<Error>> {
        let stream = match may_be_h2(peer) {
            false => connect(peer).await?,
            true => match self.h2().new_http_session(peer).await? {
                HttpSession::H2(session) => return Ok(UpstreamSession::Http2(Box::new(session))),
                HttpSession::H1(session) => session.into_inner(),
                HttpSession::Custom(()) => unreachable!("no connector makes other sessions"),
            },
        };
        Ok(UpstreamSession::Http1(Http1Session::new(stream)))
    }

    /// A new connection of HTTP/1.1, with TLS if the peer has it.
    pub async fn dial_http1(&self, peer: &UpstreamPeer) -> Result<UpstreamSession, Box<Error>> {
        let stream = connect(&peer.with_http1_only()).await?;
        Ok(UpstreamSession::Http1(Http1Session::new(stream)))
    }

    /// Returns a connection to the pool, for `idle` at most. An HTTP/1.1 connection must be reusable; an HTTP/2 stream may
    /// be cut short.
    pub fn release(&self, session: UpstreamSession, peer: &UpstreamPeer, idle: Duration) {
        match session {
            UpstreamSession::Http1(session) => {
                if let Some(key) = peer.connection_key() {
                    self.idle.put(key, session.into_stream(), idle);
                }
            }
            UpstreamSession::Http2(session) => self.release_h2(*session, peer, idle),
        }
    }

    /// Ends an HTTP/2 stream; its connection stays open for others.
    pub fn release_h2(&self, session: Http2Session, peer: &UpstreamPeer, idle: Duration) {
        // Pingora watches an idle connection in a task. Without a runtime, the connection is dropped.
        if Handle::try_current().is_ok() {
            self.h2().release_http_session(session, peer, Some(idle));
        }
    }

    fn h2(&self) -> &v2::Connector {
        self.h2.get_or_init(|| {
            let options = ConnectorOptions::new(self.connections_max);
            v2::Connector::new(Some(options))
        })
    }
}

/// Makes a connection, with TLS if the peer has it.
async fn connect(peer: &UpstreamPeer) -> Result<Stream, Box<Error>> {
    #[cfg(feature = "simulation")]
    if let Some(address) = peer.address().as_inet()
        && let Some(simulated) = Box::pin(simulated_network::connect(*address)).await
    {
        return simulated;
    }
    CONNECTOR.new_stream(peer).await
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
            Some(_) => timeout(HEAD_START, first_finished(&mut running)).await.ok(),
            None => Some(first_finished(&mut running).await),
        };
        match outcome {
            Some((_, Ok(won))) => return Ok(won),
            Some((place, Err(error))) => failed.push((place, error)),
            None => {}
        }
    }
}

/// Waits for the first attempt that ends, and removes it from `running`.
async fn first_finished<F: Future>(running: &mut Vec<(usize, Pin<Box<F>>)>) -> (usize, F::Output) {
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

fn may_be_h2(peer: &UpstreamPeer) -> bool {
    !matches!(peer.alpn(), ALPN::H1)
}

#[cfg(test)]
mod tests {
    use super::{HEAD_START, race};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};
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
