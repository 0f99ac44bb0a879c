//! The peer of a pool of connections: an address of a provider, and how to connect to it.

use super::idle_connections::ConnectionKey;
use super::proxy_tunnel::ProxyTunnel;
use super::{H2_STREAM_WINDOW, H2_STREAMS_MAX, POOL_IDLE};
use headgate_core::catalog::channel::{Channel, HttpVersion, OriginTls};
use pingora_core::protocols::ALPN;
use pingora_core::protocols::http::v2::client::Http2Session;
use pingora_core::protocols::l4::socket::SocketAddr as PeerAddress;
use pingora_core::upstreams::peer::{HttpPeer, Peer, PeerOptions};
use pingora_core::utils::tls::{CertKey, WrappedX509, parse_x509};
use std::fmt;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// A peer of Pingora that knows the key of its pool, and whose pooled connections are compared with its address without
/// a system call.
///
/// Pingora computes the key for each lookup in its pool of HTTP/2, and asks the kernel for the address of each connection
/// that it takes, since the key is a hash of 64 bits. [`Self::is_connected`] compares the address that the connection was
/// made to, which Pingora records.
#[derive(Clone)]
pub(super) struct UpstreamPeer {
    peer: HttpPeer,
    pool_key: u64,
}

impl UpstreamPeer {
    /// The peer of a channel's connections to this address, or to its proxy at this address; `pool` separates the credentials of a channel.
    pub(super) fn new(channel: &Channel, pool: u64, address: SocketAddr) -> Self {
        new_peer(channel, pool, address).into()
    }

    /// The protocols that TLS may negotiate.
    pub(super) fn alpn(&self) -> &ALPN {
        &self.peer.options.alpn
    }

    /// The peer for a connection that must be one of HTTP/1.1.
    pub(super) fn with_http1_only(&self) -> Self {
        let mut peer = self.clone();
        peer.peer.options.alpn = ALPN::H1;
        peer
    }

    /// The key of idle HTTP/1.1 connections; `None` for an address that is not one of the Internet.
    pub(super) fn connection_key(&self) -> Option<ConnectionKey> {
        Some(ConnectionKey {
            pool: self.pool_key,
            address: *self.peer.address().as_inet()?,
        })
    }

    /// Whether the session's connection was made to this address.
    pub(super) fn is_connected(&self, session: &Http2Session) -> bool {
        session.server_addr() == Some(self.peer.address())
    }
}

impl From<HttpPeer> for UpstreamPeer {
    fn from(peer: HttpPeer) -> Self {
        let pool_key = peer.reuse_hash();
        Self { peer, pool_key }
    }
}

impl fmt::Display for UpstreamPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.peer.fmt(f)
    }
}

impl Peer for UpstreamPeer {
    fn address(&self) -> &PeerAddress {
        self.peer.address()
    }

    fn tls(&self) -> bool {
        self.peer.tls()
    }

    fn sni(&self) -> &str {
        self.peer.sni()
    }

    fn reuse_hash(&self) -> u64 {
        self.pool_key
    }

    fn get_peer_options(&self) -> Option<&PeerOptions> {
        self.peer.get_peer_options()
    }

    fn get_mut_peer_options(&mut self) -> Option<&mut PeerOptions> {
        self.peer.get_mut_peer_options()
    }

    fn get_client_cert_key(&self) -> Option<&Arc<CertKey>> {
        self.peer.get_client_cert_key()
    }

    /// The pool compares its sessions by [`UpstreamPeer::is_connected`].
    fn matches_fd<V: AsRawFd>(&self, _: V) -> bool {
        true
    }
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
    peer.options.h2_stream_window_size = Some(H2_STREAM_WINDOW);
    peer.options.h2_connection_window_size = Some(H2_STREAM_WINDOW * H2_STREAMS_MAX as u32);
    peer.options.alpn = match (origin.http, &origin.tls) {
        (HttpVersion::Http2, _) => ALPN::H2,
        (HttpVersion::Negotiated, Some(_)) => ALPN::H2H1,
        (HttpVersion::Http1, _) | (HttpVersion::Negotiated, None) => ALPN::H1,
    };
    if let Some(tls) = &origin.tls {
        trust(&mut peer, tls);
    }
    if let Some(proxy) = &origin.proxy {
        let (host, port) = (origin.host.clone(), origin.port);
        let tunnel = ProxyTunnel::at_peer(proxy.clone(), host, port);
        peer.options.custom_l4 = Some(Arc::new(tunnel));
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
