//! The provider's side: addresses, peers and the pool of connections, one pool per channel.

use super::fault_from;
use crate::catalog::channel::{Channel, Credential, HttpVersion, OriginTls};
use crate::channel::addresses::Addresses;
use crate::protocol::fault::{Fault, FaultKind};
use pingora_core::connectors::ConnectorOptions;
use pingora_core::connectors::http::Connector;
use pingora_core::protocols::ALPN;
use pingora_core::protocols::http::client::HttpSession;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_core::utils::tls::{CertKey, WrappedX509, parse_x509};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// Idle connections kept for all channels together.
const POOL_CONNECTIONS_MAX: usize = 1024;
/// How long an idle connection is kept.
const POOL_IDLE: Duration = Duration::from_secs(60);
/// Streams on one HTTP/2 connection.
const H2_STREAMS_MAX: usize = 100;

/// Connects to providers and keeps their idle connections.
pub struct Upstream {
    connector: Connector,
    addresses: Addresses,
    peers: RwLock<HashMap<PeerKey, Arc<HttpPeer>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PeerKey {
    /// One for each channel and credential.
    pool: u64,
    address: SocketAddr,
}

/// A connection to a provider, and the peer whose pool it goes back to.
pub struct Connection {
    pub session: HttpSession,
    pub peer: Arc<HttpPeer>,
    /// It was idle in the pool, and may have been closed meanwhile.
    pub reused: bool,
}

impl Upstream {
    pub fn new() -> Self {
        Self {
            connector: Connector::new(Some(ConnectorOptions::new(POOL_CONNECTIONS_MAX))),
            addresses: Addresses::default(),
            peers: RwLock::default(),
        }
    }

    /// A connection to `channel`, from the pool or new.
    ///
    /// # Errors
    /// [`FaultKind::Connect`]: the name does not resolve, or nobody answers there.
    pub async fn connect(
        &self,
        channel: &Channel,
        credential: Option<&Credential>,
    ) -> Result<Connection, Fault> {
        let peer = self.peer(channel, credential).await?;
        let (session, reused) = self
            .connector
            .get_http_session(&*peer)
            .await
            .map_err(|error| unreachable(fault_from::upstream(error)))?;
        // Pingora speaks HTTP/1.1 where a provider negotiates nothing.
        if channel.origin.http == HttpVersion::Http2 && !matches!(session, HttpSession::H2(_)) {
            return Err(no_connection("the provider does not negotiate HTTP/2"));
        }
        Ok(Connection {
            session,
            peer,
            reused,
        })
    }

    /// Gives up a connection whose answer is not wanted any more: of HTTP/2 its stream only.
    pub async fn discard(&self, connection: Connection) {
        let Connection {
            mut session, peer, ..
        } = connection;
        session.shutdown().await;
        if let HttpSession::H2(_) = &session {
            self.connector
                .release_http_session(session, &*peer, Some(POOL_IDLE))
                .await;
        }
    }

    /// Gives a connection back if its answer was read to its end, and up if not.
    pub async fn give_back(&self, mut connection: Connection) {
        match connection.session.response_done() {
            true => self.release(connection).await,
            false => self.discard(connection).await,
        }
    }

    /// Gives a connection back whose answer was read to its end.
    pub async fn release(&self, connection: Connection) {
        let Connection {
            mut session, peer, ..
        } = connection;
        if let HttpSession::H1(h1) = &mut session {
            h1.respect_keepalive();
        }
        self.connector
            .release_http_session(session, &*peer, Some(POOL_IDLE))
            .await;
    }

    async fn peer(
        &self,
        channel: &Channel,
        credential: Option<&Credential>,
    ) -> Result<Arc<HttpPeer>, Fault> {
        let address = self
            .addresses
            .of(&channel.origin.host, channel.origin.port)
            .await
            .map_err(|error| {
                no_connection(format!("`{}` does not resolve", channel.origin.host)).source(error)
            })?;
        let pool = credential.map_or(channel.fingerprint, |credential| credential.fingerprint);
        let key = PeerKey { pool, address };
        let known = self
            .peers
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .cloned();
        if let Some(peer) = known {
            return Ok(peer);
        }
        let peer = Arc::new(new_peer(channel, pool, address));
        self.peers
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, peer.clone());
        Ok(peer)
    }
}

impl Default for Upstream {
    fn default() -> Self {
        Self::new()
    }
}

/// Whatever broke before a byte of the request was written: the provider has nothing.
fn unreachable(mut fault: Fault) -> Fault {
    if fault.kind == FaultKind::Upstream {
        fault.kind = FaultKind::Connect;
    }
    fault
}

fn no_connection(detail: impl Into<String>) -> Fault {
    let message = "the provider could not be reached; try again";
    Fault::new(FaultKind::Connect, message).detail(detail)
}

fn new_peer(channel: &Channel, pool: u64, address: SocketAddr) -> HttpPeer {
    let origin = &channel.origin;
    let server_name = origin
        .tls
        .as_ref()
        .map(|tls| tls.server_name.clone())
        .unwrap_or_default();
    let mut peer = HttpPeer::new(address, origin.tls.is_some(), server_name);
    peer.group_key = pool;
    peer.options.idle_timeout = Some(POOL_IDLE);
    peer.options.max_h2_streams = H2_STREAMS_MAX;
    peer.options.alpn = match (origin.http, &origin.tls) {
        (HttpVersion::Http2, _) => ALPN::H2,
        (HttpVersion::Negotiated, Some(_)) => ALPN::H2H1,
        (HttpVersion::Http1, _) | (HttpVersion::Negotiated, None) => ALPN::H1,
    };
    if let Some(tls) = &origin.tls {
        trust(&mut peer, tls);
    }
    peer
}

fn trust(peer: &mut HttpPeer, tls: &OriginTls) {
    if let Some(authorities) = &tls.authorities {
        let authorities: Vec<WrappedX509> = authorities
            .iter()
            .map(|der| WrappedX509::new(der.clone(), parse_x509))
            .collect();
        peer.options.ca = Some(authorities.into());
    }
    if let Some(identity) = &tls.identity {
        let pair = CertKey::new(identity.chain.clone(), identity.key.clone());
        peer.client_cert_key = Some(Arc::new(pair));
    }
}
