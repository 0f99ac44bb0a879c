//! Connections through an outbound proxy: what Pingora takes for the connection to the server is a tunnel.

mod http_connect;
mod socks5;

use async_trait::async_trait;
use headgate_core::catalog::outbound_proxy::{OutboundProxy, OutboundProxyProtocol};
use pingora_core::connectors::l4::Connect;
use pingora_core::protocols::l4::socket::SocketAddr as PeerAddress;
use pingora_core::protocols::l4::stream::Stream;
use pingora_error::{Error, ErrorType};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;

/// Makes tunnels to one server.
#[derive(Debug)]
pub(super) struct ProxyTunnel {
    proxy: Arc<OutboundProxy>,
    /// The addresses of the proxy; `None` if the address of the peer is one.
    proxy_addresses: Option<Vec<SocketAddr>>,
    target: TunnelTarget,
}

/// The server at the other end.
#[derive(Clone, Debug)]
struct TunnelTarget {
    /// A name, which the proxy resolves, or an IP address.
    host: Arc<str>,
    port: u16,
}

/// Why a proxy made no tunnel.
#[derive(Debug, thiserror::Error)]
enum TunnelError {
    #[error("{0}")]
    Closed(#[from] io::Error),
    #[error("it refused: {0}")]
    Refused(String),
    #[error("it does not speak the protocol: {0}")]
    Malformed(&'static str),
}

impl ProxyTunnel {
    /// Tunnels to a server through the proxy at the address of the peer.
    pub(super) fn at_peer(proxy: Arc<OutboundProxy>, host: Arc<str>, port: u16) -> Self {
        Self {
            proxy,
            proxy_addresses: None,
            target: TunnelTarget { host, port },
        }
    }

    /// Tunnels to an address, which was checked, through the proxy at one of these addresses.
    pub(super) fn to_address(
        proxy: Arc<OutboundProxy>,
        proxy_addresses: Vec<SocketAddr>,
        address: SocketAddr,
    ) -> Self {
        Self {
            proxy,
            proxy_addresses: Some(proxy_addresses),
            target: TunnelTarget {
                host: address.ip().to_string().into(),
                port: address.port(),
            },
        }
    }

    async fn open(&self, peer: &PeerAddress) -> Result<TcpStream, Box<Error>> {
        let addresses = match (&self.proxy_addresses, peer.as_inet()) {
            (Some(addresses), _) => addresses.clone(),
            (None, Some(address)) => vec![*address],
            (None, None) => Vec::new(),
        };
        let mut stream = TcpStream::connect(&*addresses)
            .await
            .map_err(|error| self.unreachable(error))?;
        let opened = match self.proxy.protocol {
            OutboundProxyProtocol::HttpConnect => {
                http_connect::open(&mut stream, &self.proxy, &self.target).await
            }
            OutboundProxyProtocol::Socks5 => {
                socks5::open(&mut stream, &self.proxy, &self.target).await
            }
        };
        opened.map_err(|error| self.refused(&error))?;
        Ok(stream)
    }

    fn unreachable(&self, error: io::Error) -> Box<Error> {
        let kind = match error.kind() {
            io::ErrorKind::ConnectionRefused => ErrorType::ConnectRefused,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                ErrorType::ConnectNoRoute
            }
            io::ErrorKind::TimedOut => ErrorType::ConnectTimedout,
            _ => ErrorType::ConnectError,
        };
        Error::because(
            kind,
            format!("cannot connect to the proxy {}", self.proxy),
            error,
        )
    }

    fn refused(&self, error: &TunnelError) -> Box<Error> {
        let TunnelTarget { host, port } = &self.target;
        tracing::warn!(
            proxy = %self.proxy,
            host = &**host,
            port,
            %error,
            "outbound proxy made no tunnel"
        );
        let reason = format!(
            "no tunnel to {host}:{port} through the proxy {}: {error}",
            self.proxy
        );
        Error::explain(ErrorType::ConnectProxyFailure, reason)
    }
}

#[async_trait]
impl Connect for ProxyTunnel {
    async fn connect(&self, peer: &PeerAddress) -> Result<Stream, Box<Error>> {
        self.open(peer).await.map(Stream::from)
    }
}
