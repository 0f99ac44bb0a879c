//! Where a client is: the other end of its connection, or what the proxies before the gateway say, as far as
//! they are trusted.

mod hops;
#[cfg(test)]
mod tests;

use crate::catalog::network::Network;
use hops::{ForwardedHop, HopListSyntax, hops_from_the_right};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::net::{IpAddr, SocketAddr};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// How clients' addresses are found, as the configuration says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ClientAddressResolver {
    pub source: AddressSource,
    /// The networks of the proxies whose headers are read.
    pub trusted: Vec<Network>,
}

/// The one place that names a client's address. No other is ever read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressSource {
    /// The other end of the connection.
    #[default]
    Socket,
    /// The PROXY protocol's header, with which each connection begins.
    ProxyProtocol,
    XForwardedFor,
    /// `Forwarded`, RFC 7239.
    Forwarded,
}

/// What a provider is told of a client's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedPolicy {
    #[default]
    Off,
    /// The list that came from a trusted proxy, and behind it whoever sent it here.
    Append,
    /// The client's address alone.
    Replace,
}

/// The client that a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownstreamClient {
    /// Never an IPv4-mapped IPv6 address.
    pub address: IpAddr,
    /// Unknown where a header names the address, and no port with it.
    pub port: Option<u16>,
    /// Who sent the request to the gateway: the client, or the proxy nearest to the gateway.
    peer: IpAddr,
    /// The header in which proxies name their clients.
    syntax: HopListSyntax,
    /// Whether the list in that header comes from a trusted proxy.
    has_trusted_list: bool,
}

impl ClientAddressResolver {
    pub fn is_trusted(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }

    /// Whether each connection must begin with a header of the PROXY protocol.
    pub fn takes_proxy_protocol(&self) -> bool {
        self.source == AddressSource::ProxyProtocol
    }

    /// The client of a request that came from `peer`: the other end of the connection, or what the PROXY
    /// protocol says that it is.
    pub fn client_of(&self, peer: SocketAddr, headers: &HeaderMap) -> DownstreamClient {
        let syntax = match self.source {
            AddressSource::Forwarded => HopListSyntax::Forwarded,
            AddressSource::Socket | AddressSource::ProxyProtocol | AddressSource::XForwardedFor => {
                HopListSyntax::XForwardedFor
            }
        };
        let reads_header = match self.source {
            AddressSource::Socket | AddressSource::ProxyProtocol => false,
            AddressSource::XForwardedFor | AddressSource::Forwarded => true,
        };
        let address = peer.ip().to_canonical();
        let has_trusted_list = reads_header && self.is_trusted(address);
        let nearest = ForwardedHop {
            address,
            port: Some(peer.port()),
        };
        let found = match has_trusted_list {
            true => self.find_client_hop(nearest, syntax, headers),
            false => nearest,
        };
        DownstreamClient {
            address: found.address,
            port: found.port,
            peer: address,
            syntax,
            has_trusted_list,
        }
    }

    /// Walks from the gateway towards the client as long as the word of whoever was met last counts: to the first
    /// hop that is not trusted, or the last before one that cannot be read.
    fn find_client_hop(
        &self,
        nearest: ForwardedHop,
        syntax: HopListSyntax,
        headers: &HeaderMap,
    ) -> ForwardedHop {
        let mut last = nearest;
        for hop in hops_from_the_right(headers, syntax) {
            match hop {
                Some(hop) if self.is_trusted(hop.address) => last = hop,
                Some(hop) => return hop,
                None => return last,
            }
        }
        last
    }
}

impl DownstreamClient {
    pub fn is_in(&self, networks: &[Network]) -> bool {
        networks
            .iter()
            .any(|network| network.contains(self.address))
    }

    /// The header that tells a provider of the client, and its value.
    pub fn forwarded(
        &self,
        policy: ForwardedPolicy,
        headers: &HeaderMap,
    ) -> Option<(HeaderName, HeaderValue)> {
        let name = self.syntax.header();
        let value = match policy {
            ForwardedPolicy::Off => return None,
            ForwardedPolicy::Append => {
                let received = self.has_trusted_list.then(|| headers.get_all(&name));
                let lines = received.into_iter().flatten().map(HeaderValue::as_bytes);
                let peer = self.syntax.element(self.peer);
                lines
                    .chain([peer.as_bytes()])
                    .collect::<Vec<_>>()
                    .join(&b", "[..])
            }
            ForwardedPolicy::Replace => self.syntax.element(self.address).into_bytes(),
        };
        Some((name, HeaderValue::from_bytes(&value).ok()?))
    }
}

impl HopListSyntax {
    fn header(self) -> HeaderName {
        match self {
            Self::XForwardedFor => X_FORWARDED_FOR,
            Self::Forwarded => http::header::FORWARDED,
        }
    }

    /// An address as an element of the list.
    fn element(self, address: IpAddr) -> String {
        match (self, address) {
            (Self::XForwardedFor, address) => address.to_string(),
            (Self::Forwarded, IpAddr::V4(address)) => format!("for={address}"),
            (Self::Forwarded, IpAddr::V6(address)) => format!("for=\"[{address}]\""),
        }
    }
}
