//! The client's address: the peer of the connection, or the address in a trusted proxy's header.

mod hops;
#[cfg(test)]
mod tests;

use crate::catalog::network::Network;
use hops::{ForwardedHop, HopListSyntax, hops_from_the_right};
use http::uri::Scheme;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::net::{IpAddr, SocketAddr};

const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// How clients' addresses are determined.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ClientAddressResolver {
    pub source: AddressSource,
    /// The networks of proxies whose headers are trusted.
    pub trusted_proxies: Vec<Network>,
}

/// The only source of a client's address; other headers are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressSource {
    /// The peer of the connection.
    #[default]
    Socket,
    /// The header of the PROXY protocol at the start of each connection.
    ProxyProtocol,
    XForwardedFor,
    /// `Forwarded`, RFC 7239.
    Forwarded,
}

/// Which header about the client's address is sent to the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedPolicy {
    #[default]
    Off,
    /// The list received from a trusted proxy, with the peer appended.
    Append,
    /// Only the client's address.
    Replace,
}

/// The client of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownstreamClient {
    /// Never an IPv4-mapped IPv6 address.
    pub address: IpAddr,
    /// `None` if the header contains an address without a port.
    pub port: Option<u16>,
    /// The peer that sent the request to the gateway: the client, or the nearest proxy.
    peer: IpAddr,
    /// The header in which proxies list the clients' addresses.
    syntax: HopListSyntax,
    /// Whether the list in that header was received from a trusted proxy.
    has_trusted_list: bool,
}

impl ClientAddressResolver {
    pub fn is_trusted(&self, address: IpAddr) -> bool {
        self.trusted_proxies
            .iter()
            .any(|network| network.contains(address))
    }

    /// Whether each connection must start with a header of the PROXY protocol.
    pub fn takes_proxy_protocol(&self) -> bool {
        self.source == AddressSource::ProxyProtocol
    }

    /// The client of a request from `peer`, which is the peer of the connection or the source address in the PROXY
    /// protocol's header.
    pub fn resolve_client(&self, peer: SocketAddr, headers: &HeaderMap) -> DownstreamClient {
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

    /// The first hop from the right that is not a trusted proxy; if a hop before it is unreadable, the last trusted
    /// one.
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

    /// The scheme that a trusted proxy names: in `X-Forwarded-Proto`, or in the last element of `Forwarded`.
    pub fn forwarded_scheme(&self, headers: &HeaderMap) -> Option<Scheme> {
        if !self.has_trusted_list {
            return None;
        }
        let named = match self.syntax {
            HopListSyntax::XForwardedFor => headers.get(X_FORWARDED_PROTO)?.to_str().ok()?,
            HopListSyntax::Forwarded => {
                let mut lines = headers.get_all(self.syntax.header()).iter();
                let last = lines.next_back()?.to_str().ok()?.rsplit(',').next()?;
                let pairs = last.split(';').filter_map(|pair| pair.split_once('='));
                let mut named = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("proto"));
                named.next()?.1
            }
        };
        match named.trim().trim_matches('"') {
            named if named.eq_ignore_ascii_case("https") => Some(Scheme::HTTPS),
            named if named.eq_ignore_ascii_case("http") => Some(Scheme::HTTP),
            _ => None,
        }
    }

    /// The name and value of the header with the client's address for the provider.
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

    /// An address as an element of the header's list.
    fn element(self, address: IpAddr) -> String {
        match (self, address) {
            (Self::XForwardedFor, address) => address.to_string(),
            (Self::Forwarded, IpAddr::V4(address)) => format!("for={address}"),
            (Self::Forwarded, IpAddr::V6(address)) => format!("for=\"[{address}]\""),
        }
    }
}
