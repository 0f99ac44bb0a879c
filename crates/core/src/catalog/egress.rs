//! Egress policy for URLs that callers or providers supply: public addresses over HTTPS, plus configured exceptions.

use crate::catalog::network::Network;
use crate::catalog::outbound_proxy::OutboundProxy;
use http::Uri;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The exceptions that are allowed in addition to HTTPS to public addresses.
#[derive(Debug, Default)]
pub struct EgressPolicy {
    pub allowed: Vec<EgressException>,
    /// The proxy through which the gateway connects to an address that it has resolved and checked itself.
    pub proxy: Option<Arc<OutboundProxy>>,
}

/// An exception; it also allows plain HTTP.
#[derive(Debug, PartialEq, Eq)]
pub enum EgressException {
    /// A host name or address, on one port or on all.
    Host { host: Arc<str>, port: Option<u16> },
    /// All addresses of a network.
    Network(Network),
}

/// Scheme, host and port of a URL.
#[derive(Clone, Copy, Debug)]
pub struct EgressTarget<'u> {
    pub is_https: bool,
    pub host: &'u str,
    pub port: u16,
}

impl EgressPolicy {
    /// Whether the gateway may connect to `address`, to which the host of `place` was resolved. Metadata servers are never
    /// allowed: what they issue is for the gateway's own credentials.
    pub fn allows(&self, place: EgressTarget<'_>, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_exception = || {
            let mut allowed = self.allowed.iter();
            allowed.any(|allowed| allowed.has(place, address))
        };
        !is_metadata_server(address) && (place.is_https && is_public(address) || is_exception())
    }
}

impl EgressPolicy {
    /// Whether callers may get a URL of a provider's file, as far as the URL itself shows. What its host resolves to is not
    /// looked up: callers, not the gateway, connect to it.
    pub fn allows_url(&self, url: &str) -> bool {
        let Ok(uri) = url.parse::<Uri>() else {
            return false;
        };
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return false;
        };
        let is_https = scheme == "https";
        if !is_https && scheme != "http" || authority.as_str().contains('@') {
            return false;
        }
        let host = authority.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let target = EgressTarget {
            is_https,
            host: bare,
            port: authority
                .port_u16()
                .unwrap_or(if is_https { 443 } else { 80 }),
        };
        match bare.parse::<IpAddr>() {
            Ok(address) => self.allows(target, address),
            Err(_) => is_https && is_public_name(bare) || self.allows_name(target),
        }
    }

    fn allows_name(&self, target: EgressTarget<'_>) -> bool {
        self.allowed.iter().any(|allowed| allowed.has_name(target))
    }
}

/// Whether a host name can be one of the public DNS: names without a dot and those of the machine are none, and neither is what
/// some parsers read as an IPv4 address: a last label that begins with a digit, such as `0x1`, or escapes.
fn is_public_name(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_local = ["localhost", "local", "internal"]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(last));
    let is_number = last.starts_with(|first: char| first.is_ascii_digit());
    host.contains('.') && !is_local && !is_number && !host.contains('%')
}

impl EgressException {
    fn has(&self, place: EgressTarget<'_>, address: IpAddr) -> bool {
        match self {
            Self::Host { .. } => self.has_name(place),
            Self::Network(network) => network.contains(address),
        }
    }

    fn has_name(&self, place: EgressTarget<'_>) -> bool {
        match self {
            Self::Host { host, port } => {
                place.host.eq_ignore_ascii_case(host) && port.is_none_or(|port| port == place.port)
            }
            Self::Network(_) => false,
        }
    }
}

/// Whether an address is that of a cloud's metadata server, or of an agent that issues credentials to containers: of AWS, Azure,
/// Google and others (169.254.169.254, fd00:ec2::254, fd20:ce::254), of ECS and EKS, of Oracle, and of Alibaba.
fn is_metadata_server(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(
            address.octets(),
            [169, 254, 169, 254]
                | [169, 254, 170, 2 | 23]
                | [192, 0, 0, 192]
                | [100, 100, 100, 200]
        ),
        IpAddr::V6(address) => matches!(
            address.segments(),
            [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254 | 0x23] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254]
        ),
    }
}

/// Whether an address is globally routable unicast, by IANA's special-purpose registries (RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        [0 | 10 | 127 | 224..=255, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [192, 168, ..]
            | [198, 18..=19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
    )
}

/// Global unicast is 2000::/3 so far; excluded are tunnels to IPv4 addresses, and documentation prefixes.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x2002, ..] => false,
        [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTTPS: EgressTarget<'static> = EgressTarget {
        is_https: true,
        host: "images.example",
        port: 443,
    };

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_url_of_a_file_is_https_at_a_public_host() {
        let egress = EgressPolicy {
            allowed: vec![EgressException::Host {
                host: "files.internal".into(),
                port: Some(8080),
            }],
            proxy: None,
        };
        for url in [
            "https://files.example/a.mp4?x=1",
            "https://8.8.8.8/a",
            "https://files.example:8443/",
            "http://files.internal:8080/a",
        ] {
            assert!(egress.allows_url(url), "{url}");
        }
        for url in [
            "http://files.example/a",
            "https://169.254.169.254/latest",
            "https://[::1]/a",
            "https://2130706433/a",
            "https://127.1/a",
            "https://127.0.0.0x1/a",
            "https://0x7f.0.0.0x1./a",
            "https://127.0.0.%31/a",
            "https://127%2e0%2e0%2ea/a",
            "https://localhost/a",
            "https://metadata.google.internal/a",
            "https://files/a",
            "https://user@files.example/a",
            "http://files.internal/a",
            "gs://bucket/a",
            "//files.example/a",
            "https:files.example",
            "",
        ] {
            assert!(!egress.allows_url(url), "{url}");
        }
    }

    #[test]
    fn only_https_to_public_addresses_is_permitted() {
        let egress = EgressPolicy::default();
        for public in [
            "8.8.8.8",
            "192.0.1.1",
            "172.32.0.1",
            "2606:4700::1111",
            "2a00::1",
        ] {
            assert!(egress.allows(HTTPS, ip(public)), "{public}");
            let plain = EgressTarget {
                is_https: false,
                ..HTTPS
            };
            assert!(!egress.allows(plain, ip(public)), "{public}");
        }
        for inside in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "fc00::1",
            "fe80::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
        ] {
            assert!(!egress.allows(HTTPS, ip(inside)), "{inside}");
        }
    }

    #[test]
    fn an_exception_permits_only_the_host_or_network_it_names() {
        let host = |host: &str, port| EgressException::Host {
            host: host.into(),
            port,
        };
        let network = |address: &str, bits: u8| {
            EgressException::Network(Network::parse(&format!("{address}/{bits}")).unwrap())
        };
        let place = |host, port| EgressTarget {
            is_https: false,
            host,
            port,
        };
        for (allowed, there, address, is_open) in [
            (
                host("media.internal", None),
                place("MEDIA.internal", 80),
                "10.0.0.1",
                true,
            ),
            (
                host("media.internal", None),
                place("other.internal", 80),
                "10.0.0.1",
                false,
            ),
            (
                host("127.0.0.1", Some(9)),
                place("127.0.0.1", 9),
                "127.0.0.1",
                true,
            ),
            (
                host("127.0.0.1", Some(9)),
                place("127.0.0.1", 8),
                "127.0.0.1",
                false,
            ),
            (network("10.1.0.0", 16), place("x", 80), "10.1.255.1", true),
            (network("10.1.0.0", 16), place("x", 80), "10.2.0.1", false),
            (
                network("10.1.0.0", 16),
                place("x", 80),
                "::ffff:10.1.0.1",
                true,
            ),
            (network("0.0.0.0", 0), place("x", 80), "10.2.0.1", true),
            (network("0.0.0.0", 0), place("x", 80), "::1", false),
            (network("fd00::", 8), place("x", 80), "fd12::1", true),
            (network("fd00::", 8), place("x", 80), "fc12::1", false),
            (network("::1", 128), place("x", 80), "::1", true),
        ] {
            let reported = format!("{allowed:?} {there:?} {address}");
            let egress = EgressPolicy {
                allowed: vec![allowed],
                proxy: None,
            };
            assert_eq!(egress.allows(there, ip(address)), is_open, "{reported}");
        }
    }

    #[test]
    fn metadata_servers_are_allowed_by_no_exception() {
        let networks = ["0.0.0.0/0", "::/0", "169.254.0.0/16", "fd00::/8"];
        let networks = networks.map(|network| Network::parse(network).unwrap());
        let hosts = ["169.254.169.254", "metadata.internal"];
        let hosts = hosts.map(|host| EgressException::Host {
            host: host.into(),
            port: None,
        });
        let networks = networks.map(EgressException::Network);
        let egress = EgressPolicy {
            allowed: networks.into_iter().chain(hosts).collect(),
            proxy: None,
        };
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "169.254.170.23",
            "100.100.100.200",
            "192.0.0.192",
            "::ffff:169.254.169.254",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
        ] {
            for host in [address, "metadata.internal"] {
                let place = EgressTarget { host, ..HTTPS };
                assert!(!egress.allows(place, ip(address)), "{host} {address}");
            }
        }
        assert!(!egress.allows_url("http://169.254.169.254/latest/meta-data/"));
        assert!(egress.allows(HTTPS, ip("169.254.169.253")));
    }
}
